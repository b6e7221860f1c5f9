"""A verdict in a file, which its auditor may sign: `gemm-kit check --format json > FILE`.

The signature lies beside it, where `ssh-keygen -Y sign` would put it: `FILE.sig`.
"""

import json
import os
import stat
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

from kit.allowed_signers import MAXIMUM_SIGNATURE_BYTES, verify
from kit.bundle.schema import validate
from kit.errors import BundleError, UsageError
from kit.signature import VERDICT_NAMESPACE, Signature, Signers

MAXIMUM_BYTES = 24 * 2**20
"""Fifteen hundred times what a committed bundle takes; one whose every rule has 200 findings of 220
characters takes 4.6 MiB."""
MAXIMUM_MARKS = 2**20
"""Commas and opening brackets: those of 1,500 committed bundles. Values of two bytes each would
take thirty times their size in memory; within both limits reading takes at most 450 MB."""

_SAFE = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY


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
        BundleError: it is not a verdict, too large, or no regular file.
    """
    data = _bounded(path, MAXIMUM_BYTES)
    _refuse_large(path, data)
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
        BundleError: it is no regular file.
        UndecidableError: there is no ssh-keygen, or it did not come to an end.
    """
    path = verdict.signature_path
    if not path.exists():
        return Signature("unsigned", signer, None, f"there is no {path.name}")
    signature = _bounded(path, MAXIMUM_SIGNATURE_BYTES)
    return verify(verdict.data, signature, VERDICT_NAMESPACE, signer, signers)


def _bounded(path: Path, maximum: int) -> bytes:
    """At most one byte more than `maximum`: whoever gets it refuses it.

    The file, or what a link leads to, is a stranger's: a pipe would be waited for, a device acts.
    """
    try:
        _refuse_unsafe(path, path.stat())  # opening a device can act on it
        with os.fdopen(os.open(path, _SAFE), "rb") as file:
            _refuse_unsafe(path, os.fstat(file.fileno()))
            return file.read(maximum + 1)
    except OSError as error:
        raise UsageError(f"{path}: cannot be read: {error.strerror}") from None


def _refuse_unsafe(path: Path, facts: os.stat_result) -> None:
    if not stat.S_ISREG(facts.st_mode):
        raise BundleError(f"{path}: is not a regular file", hint="name a plain copy")


def _refuse_large(path: Path, data: bytes) -> None:
    """Refuse what is larger, or would be in memory, than any verdict that is signed."""
    fewer = "check fewer bundles at a time"
    if len(data) > MAXIMUM_BYTES:
        raise BundleError(f"{path}: more than {MAXIMUM_BYTES} bytes long", hint=fewer)
    marks = sum(map(data.count, (b",", b"[", b"{")))
    if marks > MAXIMUM_MARKS:
        problem = f"{marks} commas and opening brackets; {MAXIMUM_MARKS} are allowed"
        raise BundleError(f"{path}: holds {problem}", hint=fewer)


def _refuse(constant: str) -> NoReturn:
    raise ValueError(constant)


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """One meaning for every reader: no key twice."""
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError(found)
    return found
