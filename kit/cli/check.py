"""Judge bundles, or whole trees of them, from their own evidence alone."""

import os
import re
import sys
from contextlib import nullcontext, suppress
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

import click

from kit.cli._files import is_stream, write_file
from kit.cli._signers import chosen_signers, signer_options
from kit.cli._telling import tell
from kit.errors import KitError, UnwritableError, UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from contextlib import AbstractContextManager

    from kit.checker.index import Index
    from kit.checker.process import Process
    from kit.checker.tree import Candidate
    from kit.checker.verdict import Verdict, Waiver
    from kit.checker.worker import Request

_EXIT_CODES = """\b
Exit codes: 0 compliant, 1 not compliant, 2 wrong usage (a PATH that does not exist:
nothing is judged), or standard output, --csv or --index could not be written,
3 refused (malformed or unsafe), 4 internal error, 5 cannot decide, 130 interrupted.
Of many bundles the worst one counts, in the order 4, 3, 1, 5, 0."""


@click.command(epilog=_EXIT_CODES)
@click.argument("paths", metavar="PATH...", nargs=-1, required=True, type=click.Path())
@click.option(
    "--format",
    "form",
    type=click.Choice(["text", "json", "sarif", "junit", "github"]),
    default="text",
    show_default=True,
    help="Text for people; JSON (schemas/verdict.schema.json), SARIF 2.1.0 or JUnit XML as one "
    "document; annotations for GitHub Actions.",
)
@click.option(
    "--csv",
    "table",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="Also write a table, one line a case, by MLPerf's column names.",
)
@click.option(
    "--jobs",
    metavar="N",
    type=click.IntRange(min=1),
    help="Bundles judged at a time [default: one for each processor].",
)
@click.option(
    "--index",
    "remembered",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="Remember verdicts in this file, and do not judge again what has not changed. Every byte "
    "is read again all the same.",
)
@click.option(
    "--challenge", metavar="HEX", help="The nonce that the submitter was given to feed the seeds."
)
@click.option("--deep", is_flag=True, help="Recompute every operand buffer too; takes minutes.")
@click.option(
    "--waivers",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help='Failures that you accept: {"waivers": [{"code": "GK602", "bundle": "<digest>", '
    '"reason": "..."}]}; the verdict shows them.',
)
@signer_options(required=False)
@click.option(
    "--require-signer",
    is_flag=True,
    help="Fail a bundle that no allowed signer signed in its submitter's name.",
)
@click.option("--verbose", is_flag=True, help="All findings, and why rules were not applicable.")
def command(  # noqa: PLR0913, PLR0917 - one parameter for each option
    paths: tuple[str, ...],
    form: str,
    table: Path | None,
    jobs: int | None,
    remembered: Path | None,
    challenge: str | None,
    deep: bool,
    waivers: Path | None,
    allowed_signers: Path | None,
    revoked_keys: Path | None,
    at: datetime | None,
    require_signer: bool,
    verbose: bool,
) -> int:
    """Judge each bundle at or below PATH. Nothing in a bundle is run, followed or fetched.

    Several bundles are a round: they are also held against each other.
    """
    from kit.checker.process import started

    # The worker imports what it needs while this process does.
    worker = click.get_current_context().with_resource(started())
    from kit.checker.output.formats import FORMATS
    from kit.checker.output.judged import judged
    from kit.checker.round import compare
    from kit.checker.tree import find_bundles
    from kit.checker.verdict import EXIT_CODES, worst
    from kit.checker.waivers import read_waivers
    from kit.checker.worker import Request

    _write_anything()
    if not all(paths):
        raise UsageError("an empty PATH", hint="name a bundle or a folder of bundles")
    wanted = _challenge(challenge)
    accepted = read_waivers(waivers) if waivers is not None else ()
    signers = chosen_signers(allowed_signers, revoked_keys, at, required=require_signer)
    candidates = find_bundles(tuple(map(Path, paths)))
    _outside(candidates, {"--csv": table, "--index": remembered})
    processes = min(len(candidates), jobs or os.cpu_count() or 1)
    request = Request("", "", wanted, deep, accepted, None, signers)
    found, fault = _judge(candidates, request, processes, remembered, worker)
    verdicts = compare(found, accepted)
    for line in _unused(accepted, {waiver for verdict in verdicts for waiver in verdict.waivers}):
        tell(f"gemm-kit check: {line}")
    faults = [fault, "" if table is None else _write_table(table, verdicts)]
    entries = [
        judged(verdict, candidate.path)
        for verdict, candidate in zip(verdicts, candidates, strict=True)
    ]
    for line in FORMATS[form](entries, verbose=verbose):
        print(line)
    if any(faults):
        sys.stdout.flush()  # the verdict first
        hint = "free some space or choose another place; the verdict stands"
        raise UsageError("; ".join(filter(None, faults)), hint=hint)
    return EXIT_CODES[worst(verdict.judgement for verdict in verdicts)]


def _judge(
    candidates: "Sequence[Candidate]",
    request: "Request",
    jobs: int,
    remembered: Path | None,
    worker: "Process",
) -> "tuple[list[Verdict], str]":
    """One verdict for each candidate, and why the index could not be written, "" if it could.

    What the index knows is not worked out again.
    """
    from kit.checker.pool import judge_all
    from kit.checker.printable import printable

    found, fault = [], ""
    with _index(remembered, request) as index:
        for verdict in judge_all(
            candidates, challenge=request.challenge, deep=request.deep, waivers=request.waivers,
            signers=request.signers, jobs=jobs, index=None if index is None else index.key,
            first=worker,
        ):  # fmt: skip
            found.append(verdict)
            _progress(len(found), len(candidates))
            if index is not None:
                index.add(verdict)
        if index is not None:
            tell(f"{index.known} of {len(found)} verdicts from {printable(index.key.path)}")
            fault = f"--index {remembered}: cannot be written: {index.fault}" if index.fault else ""
    if len(found) != len(candidates):
        raise KitError(f"{len(candidates)} bundles gave {len(found)} verdicts")
    return found, fault


def _index(remembered: Path | None, request: "Request") -> "AbstractContextManager[Index | None]":
    if remembered is None:
        return nullcontext()
    from kit.checker.index import opened

    return opened(remembered, request)


def _progress(done: int, of: int) -> None:
    """How far a round has come, on one line of a terminal: its verdicts wait for the last one."""
    if of > 1 and sys.stderr.isatty():
        end = "" if done < of else "\r\x1b[K"
        tell(f"{done} of {of} bundles", "\r", end)


def _challenge(text: str | None) -> str | None:
    if text is not None and not re.fullmatch(r"(?:[0-9a-f]{2}){8,64}", text.lower()):
        hint = "an even number of hexadecimal digits, 16 to 128"
        raise UsageError(f"--challenge {text!r} is not a nonce", hint=hint)
    return None if text is None else text.lower()


def _write_anything() -> None:
    """Where the terminal's encoding lacks a character, write its escape rather than fail."""
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="backslashreplace")


def _outside(candidates: "Sequence[Candidate]", files: dict[str, Path | None]) -> None:
    """Nothing is ever written into a bundle, and nothing is judged before it can be written."""
    from kit.bundle.durable import real, require_outside_bundles

    bundles = {real(candidate.path) for candidate in candidates if not candidate.problem}
    for option, file in files.items():
        if file is None:
            continue
        shown = f"{option} {file}"
        if file.name == "-" or (option == "--index" and is_stream(file)):
            raise UsageError(f"{shown} is no file", hint="name a file in a folder of yours")
        if is_stream(file):
            continue
        folders = real(file).parents
        if not bundles.isdisjoint(folders):
            raise UsageError(f"{shown} would lie in a bundle", hint="choose another folder")
        require_outside_bundles(file)
        if file.is_dir() or not folders[0].is_dir() or not os.access(folders[0], os.W_OK):
            raise UsageError(
                f"{shown} cannot be written", hint="choose a file in a folder of yours"
            )


def _unused(accepted: "Sequence[Waiver]", used: "set[Waiver]") -> list[str]:
    return [
        f"unused waiver of {waiver.code} for {waiver.bundle}"
        for waiver in accepted
        if waiver not in used
    ]


def _write_table(path: Path, verdicts: "Sequence[Verdict]") -> str:
    """Write the whole table; returns why it could not be written, "" if it could."""
    from kit.checker.output.summary_csv import summary_csv

    try:
        with suppress(BrokenPipeError):
            write_file(path, summary_csv(verdicts).encode())
    except UnwritableError as error:
        return f"--csv {error.problem}"
    except OSError as error:
        return f"--csv {path}: cannot be written: {error.strerror}"
    return ""
