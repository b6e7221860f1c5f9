"""A verdict in a file, which its auditor may sign: `gemm-kit check --format json > FILE`.

The signature lies beside it, where `ssh-keygen -Y sign` would put it: `FILE.sig`.
"""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

from kit.allowed_signers import MAXIMUM_SIGNATURE_BYTES, verify
from kit.bundle.schema import validate
from kit.errors import BundleError, UsageError
from kit.signature import VERDICT_NAMESPACE, Signature, Signers

MAXIMUM_BYTES = 256 * 2**20
"""A round of some thousand bundles with every finding that a verdict may hold."""


@dataclass(frozen=True, slots=True)
class VerdictFile:
    """A document of `schemas/verdict.schema.json`, and the bytes that it was read from."""

    path: Path
    data: bytes
    document: dict[str, Any]

    @property
    def signature_path(self) -> Path:
        """Where its signature lies, if there is one."""
        return self.path.with_name(f"{self.path.name}.sig")

    def judged(self, digest: str) -> dict[str, Any] | None:
        """The entry about the bundle with this digest, None if it was not judged."""
        entries = (entry for entry in self.document["bundles"] if entry["digest"] == digest)
        return next(entries, None)


def read_verdict_file(path: Path) -> VerdictFile:
    """Read a verdict.

    Raises:
        UsageError: the file cannot be read.
        BundleError: it is not a verdict.
    """
    data = _bounded(path, MAXIMUM_BYTES)
    try:
        document: Any = json.loads(
            data.decode("ascii"), parse_constant=_refuse, object_pairs_hook=_object
        )
    except (ValueError, RecursionError, MemoryError):
        raise BundleError(
            f"{path}: not a verdict: not JSON in ASCII",
            hint="gemm-kit check --format json writes it",
        ) from None
    validate("verdict", document, str(path))
    return VerdictFile(path, data, document)


def verdict_signature(verdict: VerdictFile, signer: str, signers: Signers) -> Signature:
    """What the signature beside the file is worth, required of `signer`.

    Raises:
        UsageError: the signature cannot be read.
        UndecidableError: there is no ssh-keygen, or it did not come to an end.
    """
    path = verdict.signature_path
    if not path.exists():
        return Signature("unsigned", signer, None, f"there is no {path.name}")
    signature = _bounded(path, MAXIMUM_SIGNATURE_BYTES)
    return verify(verdict.data, signature, VERDICT_NAMESPACE, signer, signers)


def _bounded(path: Path, maximum: int) -> bytes:
    """At most one byte more than `maximum`: whoever gets it refuses it."""
    try:
        with path.open("rb") as file:
            return file.read(maximum + 1)
    except OSError as error:
        raise UsageError(f"{path}: cannot be read: {error.strerror}") from None


def _refuse(constant: str) -> NoReturn:
    raise ValueError(constant)


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """One meaning for every reader: no key twice."""
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError(found)
    return found
