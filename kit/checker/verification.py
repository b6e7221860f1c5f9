"""Is this bundle, or this verdict, what the one who had to sign it signed?

Who vouches for the bytes, not whether they tell the truth: that is what the rules judge.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from kit.bundle.container import Container
from kit.bundle.reader import read_container
from kit.checker.signed import bundle_signature, naming, submitter_of
from kit.checker.verdict import Judgement, Waiver
from kit.checker.verdict_file import read_verdict_file, verdict_signature
from kit.records import from_json
from kit.signature import Signature, Signers

MAXIMUM_PROBLEMS = 10


@dataclass(frozen=True, slots=True)
class Verification:
    """What was found. Verified is only what has no `problems`.

    `digest` is the bundle's, null for a verdict that was not held against a bundle; `judgement` is
    what a verdict says, on that bundle where one was given, null for a bundle; `waivers` are the
    failures that it accepts there. A verdict may be verified and say that a bundle is not
    compliant.
    """

    subject: Literal["bundle", "verdict"]
    name: str
    digest: str | None
    signature: Signature
    judgement: Judgement | None
    problems: tuple[str, ...]
    waivers: tuple[Waiver, ...] = ()

    @property
    def exit_code(self) -> int:
        """0 for what is verified, unless it is a verdict that does not call a bundle compliant."""
        return int(bool(self.problems) or self.judgement not in (None, "compliant"))


def verify_bundle(path: Path, signers: Signers) -> Verification:
    """Hold a bundle against its seal, and its seal against its submitter's signature.

    Raises:
        BundleError: not a bundle, or unsafe to read.
        UndecidableError: there is no ssh-keygen, or it did not come to an end.
    """
    with naming(path):
        container = read_container(path)
        submitter = submitter_of(container)
    signature = bundle_signature(container, submitter, signers)
    problems = (*_distrust(signature), *_changes(container))
    return Verification("bundle", str(path), container.digest, signature, None, problems)


def verify_verdict(
    path: Path, signer: str, signers: Signers, bundle: Path | None = None
) -> Verification:
    """Hold a verdict against its auditor's signature and, where given, a bundle against both.

    Raises:
        UsageError: the file or its signature cannot be read.
        BundleError: not a verdict, not a bundle, or unsafe to read.
        UndecidableError: there is no ssh-keygen, or it did not come to an end.
    """
    verdict = read_verdict_file(path)
    signature = verdict_signature(verdict, signer, signers)
    problems = list(_distrust(signature))
    judgement: Judgement | None = verdict.document["verdict"]
    digest = None
    entries = verdict.document["bundles"]
    if bundle is not None:
        with naming(bundle):
            container = read_container(bundle)
        digest = container.digest
        problems += _changes(container)
        entry = verdict.judged(digest)
        judgement = None if entry is None else entry["verdict"]
        entries = [] if entry is None else [entry]
        if entry is None:
            problems.append(f"this verdict is not about the bundle {digest}")
    waivers = tuple(from_json(Waiver, given) for entry in entries for given in entry["waivers"])
    return Verification(
        "verdict", str(path), digest, signature, judgement, tuple(problems), waivers
    )


def _distrust(signature: Signature) -> tuple[str, ...]:
    if signature.state == "trusted":
        return ()
    return (f"{signature.state.replace('_', ' ')}: {signature.detail}",)


def _changes(container: Container) -> tuple[str, ...]:
    faults = container.faults
    shown = [f"{fault.path}: {fault.kind} since it was sealed" for fault in faults]
    if len(shown) > MAXIMUM_PROBLEMS:
        left = len(shown) - MAXIMUM_PROBLEMS
        shown = [*shown[:MAXIMUM_PROBLEMS], f"{left} more files changed"]
    return tuple(shown)
