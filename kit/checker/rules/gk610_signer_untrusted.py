"""The bundle is not signed by its submitter, as far as the auditor's allowed signers tell.

## What it checks
`signatures/vendor.sshsig` is a sound SSH signature over `tagmanifest-sha256.txt` in the namespace
`gemm-kit-bundle-v1`, by a key that the auditor's `--allowed-signers` file lists for the submitter
named in the plan, neither revoked nor out of date. A signature that is wrong always fails. One that
is missing, or by a key that the file does not list, warns; with `--require-signer` it fails.

## Why it matters
The digest says that the bytes are the sealed ones, not whose they are: anybody can edit a bundle
and seal it again, and nobody but the holder of the key can sign it again.

## How to fix
The submitter signs with `gemm-kit seal BUNDLE --key FILE` and gives the auditor the line that it
prints, by a way on which it cannot be exchanged. Sign after the last change: sealing anew
invalidates the signature.

## Clause
M26: a result is attributable and reproducible, so it must be clear who vouches for it.

## Example
Passes: `acme ssh-ed25519 AAAA...` in the auditor's file, that key's signature, submitter `acme`.
Fails: the same signature in a bundle whose submitter is `bolt`.
"""

from collections.abc import Iterator

from kit.bundle.layout import SIGNATURE
from kit.bundle.reader import Bundle
from kit.checker.rule import Finding, NotApplicable, rule
from kit.ruleset import Ruleset


@rule("GK610", "signer-untrusted", clauses=("M26",), since="2026.1")
def check(bundle: Bundle, _rules: Ruleset) -> Iterator[Finding]:
    """Turn the signature's state into an outcome."""
    signature, signers = bundle.signature, bundle.auditor.signers
    if signature is None or signers is None:
        raise NotApplicable("the auditor named no allowed signers")
    if signature.state == "trusted":
        return
    grave = signature.state == "invalid" or signers.required
    key = "" if signature.key is None else f" ({signature.key})"
    yield Finding(
        SIGNATURE,
        f"{signature.state.replace('_', ' ')}: {signature.detail}{key}",
        f"a signature by a key that the auditor lists for {signature.signer}",
        "fail" if grave else "warn",
    )
