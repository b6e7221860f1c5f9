"""Sign a bundle as its submitter, or a verdict as its auditor, by SSH.

A bundle's signature is `signatures/vendor.sshsig`, beside the sealed content, whose bytes and
digest stay as they are. A verdict's is FILE.sig.
"""

from pathlib import Path

import click

from kit.cli._telling import tell
from kit.errors import BundleError, MeasurementError, UsageError

_AUDITOR = "AUDITOR"
"""Stands for a name that a verdict does not hold."""
_EXIT_CODES = """\b
Exit codes: 0 signed, 2 wrong usage or key, or output that cannot be written,
3 refused (malformed, unsafe, changed after it was sealed), 4 internal error,
5 there is no ssh-keygen."""


@click.command(epilog=_EXIT_CODES)
@click.argument("path", metavar="BUNDLE|VERDICT", type=click.Path(path_type=Path))
@click.option(
    "--key",
    metavar="FILE",
    type=click.Path(path_type=Path),
    required=True,
    help="Private SSH key, or a public one whose private half an agent or a security key holds.",
)
@click.option("--force", is_flag=True, help="Replace a signature that is already there.")
def command(path: Path, key: Path, force: bool) -> int:
    """Sign BUNDLE, or the VERDICT that `gemm-kit check --format json` wrote, with ssh-keygen."""
    from kit.signature import BUNDLE_NAMESPACE, VERDICT_NAMESPACE
    from kit.ssh_keygen import public_key, sign

    if path.is_dir():
        namespace = BUNDLE_NAMESPACE
        signer, data, place = _bundle(path)
    else:
        namespace = VERDICT_NAMESPACE
        signer, data, place = _verdict(path)
    if place.exists() and not force:
        raise UsageError(f"{place} exists", hint="--force signs anew")
    signature = sign(data, key, namespace)
    _write(place, signature)
    print(f'{signer} namespaces="{namespace}" {public_key(signature)}')
    tell(f"gemm-kit: wrote {place}")
    named = "put your name for AUDITOR, and " if signer == _AUDITOR else ""
    tell(f"gemm-kit: {named}hand the line above to whoever verifies, by a way that you both trust")
    return 0


def _bundle(path: Path) -> tuple[str, bytes, Path]:
    """Who signs, what, and where to put it: the submitter, the file that is the identity."""
    from kit.bundle.layout import SIGNATURE
    from kit.bundle.reader import read_container
    from kit.checker.signed import IDENTITY, naming, submitter_of

    with naming(path):
        container = read_container(path)
        if container.faults:
            fault = container.faults[0]
            problem = f"{fault.path}: {fault.kind} since the bundle was sealed"
            raise BundleError(problem, hint="not signed")
        return submitter_of(container), container.files[IDENTITY], path / SIGNATURE


def _verdict(path: Path) -> tuple[str, bytes, Path]:
    from kit.checker.verdict_file import read_verdict_file

    verdict = read_verdict_file(path)
    return _AUDITOR, verdict.data, verdict.signature_path


def _write(place: Path, signature: bytes) -> None:
    from kit.bundle.durable import replace, writable

    try:
        with writable(place.parent):
            place.parent.mkdir(exist_ok=True)
        replace(place, signature)
    except MeasurementError as error:
        raise UsageError(error.problem, hint=error.hint) from None
