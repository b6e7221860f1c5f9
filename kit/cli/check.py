"""Judge bundles, or whole trees of them, from their own evidence, offline and without a GPU."""

import os
import re
import sys
from datetime import datetime
from pathlib import Path

import click

from kit.cli._signers import chosen_signers, signer_options
from kit.errors import UsageError

_EXIT_CODES = """\b
Exit codes: 0 compliant, 1 not compliant, 2 wrong usage, 3 refused (malformed or
unsafe), 4 internal error, 5 cannot decide. Of many bundles the worst one counts,
in the order 4, 3, 1, 5, 0."""


@click.command(epilog=_EXIT_CODES)
@click.argument("paths", metavar="PATH...", nargs=-1, required=True, type=click.Path())
@click.option(
    "--format",
    "form",
    type=click.Choice(["text", "json"]),
    default="text",
    show_default=True,
    help="Text for people, or one JSON document (schemas/verdict.schema.json).",
)
@click.option(
    "--jobs",
    metavar="N",
    type=click.IntRange(min=1),
    help="Bundles judged at a time [default: one for each processor].",
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
    jobs: int | None,
    challenge: str | None,
    deep: bool,
    waivers: Path | None,
    allowed_signers: Path | None,
    revoked_keys: Path | None,
    at: datetime | None,
    require_signer: bool,
    verbose: bool,
) -> int:
    """Judge each bundle at or below PATH. Nothing in a bundle is run, followed or fetched."""
    from kit.checker.pool import judge_all
    from kit.checker.report import json_report, text_report, text_summary
    from kit.checker.tree import find_bundles
    from kit.checker.verdict import EXIT_CODES, worst
    from kit.checker.waivers import read_waivers

    _write_anything()
    if not all(paths):
        raise UsageError("an empty PATH", hint="name a bundle or a folder of bundles")
    wanted = _challenge(challenge)
    accepted = read_waivers(waivers) if waivers is not None else ()
    signers = chosen_signers(allowed_signers, revoked_keys, at, required=require_signer)
    candidates = find_bundles(tuple(map(Path, paths)))
    processes = min(len(candidates), jobs or os.cpu_count() or 1)
    verdicts = []
    for verdict in judge_all(
        candidates,
        challenge=wanted,
        deep=deep,
        waivers=accepted,
        signers=signers,
        jobs=processes,
    ):
        verdicts.append(verdict)
        if form == "text":
            print(*text_report(verdict, verbose=verbose), "", sep="\n", flush=True)
    used = {waiver for verdict in verdicts for waiver in verdict.waivers}
    for waiver in accepted:
        if waiver not in used:
            unused = f"unused waiver of {waiver.code} for {waiver.bundle}"
            print(f"gemm-kit check: {unused}", file=sys.stderr)
    print(json_report(verdicts) if form == "json" else "\n".join(text_summary(verdicts)))
    return EXIT_CODES[worst(verdict.judgement for verdict in verdicts)]


def _challenge(text: str | None) -> str | None:
    if text is not None and not re.fullmatch(r"(?:[0-9a-f]{2}){8,64}", text.lower()):
        raise UsageError(
            f"--challenge {text!r} is not a nonce", hint="16 to 128 hexadecimal digits"
        )
    return None if text is None else text.lower()


def _write_anything() -> None:
    """Where the terminal's encoding lacks a character, write its escape rather than fail."""
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="backslashreplace")
