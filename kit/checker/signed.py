"""Did the submitter sign this bundle? Asked of the bytes that were read, not of the disk again."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from kit.allowed_signers import verify
from kit.bundle.container import Container
from kit.bundle.documents import parse_document
from kit.bundle.layout import PLAN, SIGNATURE
from kit.errors import BundleError
from kit.plan import RunPlan
from kit.signature import BUNDLE_NAMESPACE, Signature, Signers

IDENTITY = "tagmanifest-sha256.txt"
"""What is signed: its SHA-256 is the bundle's digest, and it covers every sealed byte."""


@contextmanager
def naming(path: Path) -> Iterator[None]:
    """Put the bundle's path before what a `BundleError` inside says: a command may name several."""
    try:
        yield
    except BundleError as error:
        raise BundleError(f"{path}: {error.problem}", hint=error.hint) from None


def bundle_signature(container: Container, submitter: str, signers: Signers) -> Signature:
    """What the signature beside the sealed content is worth.

    Raises:
        UndecidableError: there is no ssh-keygen, or it did not come to an end.
    """
    signature = container.files.get(SIGNATURE)
    if signature is None:
        return Signature("unsigned", submitter, None, f"there is no {SIGNATURE}")
    return verify(container.files[IDENTITY], signature, BUNDLE_NAMESPACE, submitter, signers)


def submitter_of(container: Container) -> str:
    """Whose signature a bundle needs: the submitter that its plan names.

    Raises:
        BundleError: the plan is missing or has not the documented form.
    """
    if PLAN not in container.files:
        raise BundleError(f"{PLAN}: is missing")
    return parse_document(RunPlan, container.files[PLAN], PLAN).submission.submitter
