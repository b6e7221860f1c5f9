"""The bundle was not made for the auditor's challenge.

## What it checks
The challenge that the auditor gives to `check` is the one in the plan.

## Why it matters
The challenge feeds the seeds of every operand and every sampled output, so a bundle that holds it
was not made before it was handed out.

## How to fix
Measure again with `submission.challenge=` and the auditor's nonce.

## Clause
M26: a result is reproducible at the auditor's request.

## Example
Passes: `--challenge 00112233445566778899aabbccddeeff`, and the same text in `plan.json`.
Fails: null in `plan.json`.
"""

from collections.abc import Iterator

from kit.bundle.layout import PLAN
from kit.bundle.reader import Bundle
from kit.checker.rule import Finding, NotApplicable, rule
from kit.ruleset import Ruleset


@rule("GK605", "challenge-differs", clauses=("M26",), since="2026.1")
def check(bundle: Bundle, _rules: Ruleset) -> Iterator[Finding]:
    """Compare both challenges."""
    required = bundle.auditor.challenge
    if required is None:
        raise NotApplicable("the auditor gave no challenge")
    found = bundle.plan.submission.challenge
    if found != required:
        yield Finding(f"{PLAN}: submission.challenge", found or "null", required)
