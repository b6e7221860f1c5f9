"""The command line: one module of this package is one command, imported only when it is asked for.

A command module's first line is its summary in `gemm-kit --help`. It offers `command`, a click
command whose function returns the exit code; `run`, whose arguments are Hydra's, offers `main`.
Commands raise; only this module turns an exception into a line on stderr and an exit code.
"""

import errno
import os
import sys
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

import kit
from kit.cli._signals import interrupt_on_termination
from kit.cli._telling import tell
from kit.errors import KitError, UsageError

INTERNAL_ERROR = 4
INTERRUPTED = 130
OUTPUT_CLOSED = 141
_LONGEST_LINE = 2000
_FULL = frozenset((errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO))
"""What writing to a disk ends with when the disk, and not the kit, is at fault."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; returns the exit code that the command's documentation promises."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    if sys.stderr is None:  # closed: Python would print to stdout instead
        sys.stderr = Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115 - for good
    interrupt_on_termination()
    try:
        code = _dispatch(arguments)
        sys.stdout.flush()
    except (Exception, KeyboardInterrupt) as error:  # noqa: BLE001 - the last line of defence
        return report(error)
    return code


def _drop_output() -> None:
    """Python would write what is left, and complain once more, while it shuts down."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def report(error: BaseException) -> int:
    """Say on stderr in one line what ended a command, unless its reader left; its exit code."""
    if isinstance(error, BrokenPipeError):
        _drop_output()  # whoever read it went away
        return OUTPUT_CLOSED
    if isinstance(error, OSError) and error.filename is None and error.errno in _FULL:
        _drop_output()
        problem = f"standard output cannot be written: {error.strerror}"
        error = UsageError(problem, hint="make room, or send it elsewhere")
    if isinstance(error, KeyboardInterrupt):
        code, line = INTERRUPTED, "interrupted"
    elif isinstance(error, KitError):
        code, line = error.exit_code, f"error: {error}"
    else:
        code = INTERNAL_ERROR
        line = f"internal error: {type(error).__name__}: {error} (GEMM_KIT_DEBUG=1 shows where)"
    if os.environ.get("GEMM_KIT_DEBUG") == "1":
        import traceback

        traceback.print_exception(error)
    from kit.checker.printable import printable

    tell(f"gemm-kit: {printable(line, _LONGEST_LINE)}")
    return code


def _dispatch(arguments: list[str]) -> int:
    if sys.stdout is None:
        raise UsageError("standard output is closed", hint="open it, or send it to /dev/null")
    if not arguments:
        raise UsageError("which command?", hint=f"one of {', '.join(_commands())}")
    word, *rest = arguments
    if word in ("-h", "--help"):
        print(_help())
        return 0
    if word == "--version":
        print(f"gemm-kit {kit.__version__}")
        return 0
    if word not in _commands():
        from kit.nearest import did_you_mean

        raise UsageError(f"{word!r} is no command", hint=did_you_mean(word, _commands()))
    module = import_module(f"{__name__}.{word}")
    if hasattr(module, "main"):
        code: int = module.main(rest)
        return code
    return run_command(module.command, word, rest)


def run_command(command: Any, word: str, arguments: list[str]) -> int:
    """Run a click command without letting it print errors or exit; returns its exit code.

    Raises:
        UsageError: an option or argument is wrong.
    """
    import click

    # Not `command.main`, which answers Ctrl-C with an empty line of its own.
    names = {"help_option_names": ["-h", "--help"]}
    try:
        with command.make_context(f"gemm-kit {word}", arguments, **names) as context:
            code = command.invoke(context)
    except click.exceptions.Exit as ended:  # --help
        return ended.exit_code
    except click.ClickException as error:
        message = error.format_message().removesuffix(".")
        raise UsageError(message, hint=f"see gemm-kit {word} --help") from None
    return code if isinstance(code, int) else 0


def _commands() -> dict[str, Path]:
    files = sorted(Path(__file__).parent.glob("[a-z]*.py"))
    return {file.stem: file for file in files}


def _help() -> str:
    lines = ["Usage: gemm-kit COMMAND ...", "", kit.__doc__ or "", "", "Commands:"]
    for name, file in _commands().items():
        with file.open(encoding="utf-8") as text:
            summary = text.readline().strip().strip('"')
        lines.append(f"  {name:8} {summary}")
    return "\n".join([*lines, "", "`gemm-kit COMMAND --help` tells more, `--version` the version."])
