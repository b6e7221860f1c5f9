"""The environment changed while the bundle was being measured.

## What it checks
The digest that every run took of its own environment is that of `environment.json` without its
devices.

## Why it matters
Runs of one bundle are replicates of one thing. An upgraded driver or another setting between them
makes them results of different systems.

## How to fix
Keep software and settings as they are until the run has ended; measure again.

## Clause
M26: replicates are comparable because firmware and software stayed the same.

## Example
Passes: the same digest in every `run.json`.
Fails: another digest in run 3, before which jaxlib was upgraded.
"""

from collections.abc import Iterator

from kit.bundle.layout import ENVIRONMENT, RUN
from kit.bundle.reader import Bundle
from kit.checker.rule import Finding, rule
from kit.evidence import environment_digest
from kit.ruleset import Ruleset


@rule("GK103", "environment-changed", clauses=("M26",), since="2026.1")
def check(bundle: Bundle, _rules: Ruleset) -> Iterator[Finding]:
    """Recompute the digest and compare."""
    required = environment_digest(bundle.environment)
    for case in bundle.cases.values():
        for run in case.runs:
            found = run.document.environment_sha256
            if found != required:
                place = f"{run.path}/{RUN}: environment_sha256"
                yield Finding(place, found, f"{required}, the digest of {ENVIRONMENT}")
