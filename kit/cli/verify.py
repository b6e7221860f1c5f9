"""Tell whether a bundle or verdict was signed by whom you trust.

This answers who vouches for these bytes. Whether the measurement stands is for `gemm-kit check`.
"""

from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

import click

from kit.cli._signers import read_signers, signer_options
from kit.errors import UsageError

if TYPE_CHECKING:
    from kit.checker.verification import Verification

_EXIT_CODES = """\b
Exit codes: 0 verified; 1 not: unsigned, unknown key, invalid signature, changed
content, or the verdict is another than compliant; 2 wrong usage, or output that
cannot be written; 3 refused (malformed or unsafe); 4 internal error; 5 cannot
decide: there is no ssh-keygen."""


@click.command(epilog=_EXIT_CODES)
@click.argument("path", metavar="BUNDLE|VERDICT", type=click.Path(path_type=Path))
@signer_options(required=True)
@click.option("--signer", metavar="NAME", help="For a VERDICT: the auditor who must have signed.")
@click.option(
    "--bundle",
    metavar="BUNDLE",
    type=click.Path(path_type=Path),
    help="For a VERDICT: it must be about this bundle, byte for byte.",
)
@click.option(
    "--format",
    "form",
    type=click.Choice(["text", "json"]),
    default="text",
    show_default=True,
    help="Text for people, or one JSON document (schemas/verification.schema.json).",
)
def command(  # noqa: PLR0913, PLR0917 - one parameter for each option
    path: Path,
    allowed_signers: Path,
    revoked_keys: Path | None,
    at: datetime | None,
    signer: str | None,
    bundle: Path | None,
    form: str,
) -> int:
    """Verify BUNDLE's signature by its submitter, or VERDICT's by its auditor (--signer)."""
    from kit.checker.printable import printable_json
    from kit.checker.verification import verify_bundle, verify_verdict
    from kit.records import to_json

    if not path.exists():
        raise UsageError(f"{path} does not exist", hint="name a bundle or a signed verdict")
    if bundle is not None and not bundle.exists():
        raise UsageError(f"--bundle {bundle} does not exist", hint="name the verdict's bundle")
    if path.is_dir() and (signer is not None or bundle is not None):
        raise UsageError("--signer and --bundle are for a verdict", hint=f"{path} is a folder")
    if not path.is_dir() and signer is None:
        raise UsageError("whose verdict must it be?", hint="--signer NAME, as the file lists them")
    signers = read_signers(allowed_signers, revoked_keys, at, required=True)
    if signer is None:
        found = verify_bundle(path, signers)
    else:
        found = verify_verdict(path, signer, signers, bundle)
    if form == "json":
        print(printable_json(to_json(found)))
    else:
        print(*_text(found), sep="\n")
    return found.exit_code


def _text(found: "Verification") -> Iterator[str]:
    from kit.checker.output.report import signature_text
    from kit.checker.printable import printable

    yield f"{found.subject:<12}  {printable(found.name, 400)}"
    if found.digest is not None:
        yield f"  digest      {found.digest}"
    yield f"  signer      {printable(found.signature.signer)}"
    yield f"  signature   {signature_text(found.signature)}"
    judgement = None if found.judgement is None else found.judgement.replace("_", " ")
    if judgement is not None:
        yield f"  verdict     {judgement}"
    for waiver in found.waivers:
        yield f"  waived      {waiver.code} for {waiver.bundle}: {printable(waiver.reason, 400)}"
    for problem in found.problems:
        yield f"NOT VERIFIED: {printable(problem, 400)}"
    if not found.problems:
        says = f", who calls it {judgement}" if judgement is not None else ""
        codes = sorted({waiver.code for waiver in found.waivers})
        says += f" and waives {', '.join(codes)}" if codes else ""
        yield f"VERIFIED: unchanged and signed by {printable(found.signature.signer)}{says}"
