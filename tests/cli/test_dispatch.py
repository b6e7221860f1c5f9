import subprocess
import sys

import pytest

from kit.cli import _commands, main, report
from kit.errors import BundleError, KitError, MeasurementError, UndecidableError, UsageError


def test_help_lists_every_command_with_its_summary(gemm_kit):
    done = gemm_kit("--help")
    assert done.returncode == 0
    assert "\n  run      Measure what a configuration or a frozen plan asks for" in done.stdout
    assert "\n  plan     Show what `run` would measure" in done.stdout
    assert done.stderr == ""


@pytest.mark.parametrize("command", sorted(_commands()))
def test_every_command_knows_both_words_for_help(capsys, command):
    assert main([command, "-h"]) == 0
    short = capsys.readouterr().out
    assert main([command, "--help"]) == 0
    assert short == capsys.readouterr().out
    assert short.startswith(f"Usage: gemm-kit {command}")


def test_help_imports_no_command_and_no_library(start):
    listing = "import sys; from kit.cli import main; main(['--help']); print(*sys.modules)"
    loaded = set(start("-c", listing).stdout.split())
    assert "kit.cli" in loaded
    assert not loaded & {"click", "numpy", "jsonschema", "hydra", "kit.cli.run", "kit.plan"}


def test_version(capsys):
    assert main(["--version"]) == 0
    assert capsys.readouterr().out.startswith("gemm-kit 0.")


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (["rnu"], "gemm-kit: error: 'rnu' is no command (did you mean run?)\n"),
        (["_faults"], "gemm-kit: error: '_faults' is no command"),
        (["../run"], "gemm-kit: error: '../run' is no command"),
        (["\x1b[31m"], "gemm-kit: error: '\\x1b[31m' is no command"),
        ([], "gemm-kit: error: which command? (one of "),
        (["plan", "--jsn"], "gemm-kit: error: No such option '--jsn'"),
    ],
)
def test_wrong_use_is_one_line_and_exit_2(arguments, line, capsys):
    assert main(arguments) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.startswith(line)
    assert printed.err.count("\n") == 1


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (UsageError("a"), 2),
        (BundleError("a"), 3),
        (KitError("a"), 4),
        (UndecidableError("a"), 5),
        (MeasurementError("a"), 6),
        (RuntimeError("a"), 4),
        (KeyboardInterrupt(), 130),
    ],
)
def test_every_kind_of_end_has_its_exit_code(error, code):
    assert report(error) == code


def test_error_line_says_problem_and_remedy(capsys):
    report(MeasurementError("no GPU", hint="choose backend=cpu"))
    assert capsys.readouterr().err == "gemm-kit: error: no GPU (choose backend=cpu)\n"


def test_internal_error_names_its_type_without_a_traceback(capsys):
    report(ZeroDivisionError("division\nby zero"))
    line = capsys.readouterr().err
    assert line.startswith("gemm-kit: internal error: ZeroDivisionError: division\\x0aby zero")
    assert line.count("\n") == 1


def test_debugging_shows_where(unmeasured):
    done = unmeasured("run", "seed=4", environment={"GEMM_KIT_DEBUG": "1"})
    assert done.returncode == 4
    assert 'raise RuntimeError("a bug' in done.stderr or "in measure" in done.stderr
    assert "Traceback" in done.stderr


def test_foreign_text_cannot_steer_a_terminal(capsys):
    assert main(["a\x1b]0;title\x07\n\u202egnp.exe\u2028"]) == 2
    line = capsys.readouterr().err
    assert line.count("\n") == 1
    assert line.isascii()


def test_no_error_line_is_endless(capsys):
    report(UsageError("x" * 10**6))
    assert len(capsys.readouterr().err) < 3000


def test_a_reader_that_goes_away_is_no_fault():
    script = "import sys; from kit.cli import main; sys.exit(main(['plan', 'suite=square']))"
    with subprocess.Popen(
        [sys.executable, "-c", script], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        process.stdout.close()
        complaint = process.stderr.read()
    assert process.returncode == 141
    assert complaint == b""
