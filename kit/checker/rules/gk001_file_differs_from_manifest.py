"""A file is not what the sealed manifests say.

## What it checks
Every file has the SHA-256 that its manifest lists, every listed file is there, and no payload file
is unlisted. `tagmanifest-sha256.txt` guards the three other tag files, `manifest-sha256.txt` the
payload; the digest of the former is the bundle's identity.

## Why it matters
A bundle is sealed when the run ends. Whatever changed later was not measured.

## How to fix
Hand over the bundle as the run wrote it. Editing one breaks it for good; measure again instead.

## Clause
M26: results are reproducible only from the bytes that were sealed.

## Example
Passes: `sha256sum --strict -c manifest-sha256.txt` is silent and no other file lies under `data/`.
Fails: one digit of `data/derived/results.json` was edited.
"""

from collections.abc import Iterator

from kit.bundle.reader import Bundle
from kit.checker.integrity import integrity_findings
from kit.checker.rule import Finding, rule
from kit.ruleset import Ruleset


@rule("GK001", "file-differs-from-manifest", clauses=("M26",), since="2026.1")
def check(bundle: Bundle, _rules: Ruleset) -> Iterator[Finding]:
    """Name every file that differs."""
    yield from integrity_findings(bundle.container)
