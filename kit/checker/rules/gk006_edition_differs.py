"""The claims were derived under another edition than the plan's.

## What it checks
`edition` of `results.json` is that of `plan.json`.

## Why it matters
Editions differ in thresholds and formulas. A figure counts only under the edition it was made for.

## How to fix
Measure again with a kit that knows the edition that the plan names.

## Clause
M26: results are consistent with each other because one edition defines them.

## Example
Passes: `2026.1` in both.
Fails: plan `2026.1`, results `2025.2`.
"""

from collections.abc import Iterator

from kit.bundle.layout import PLAN, RESULTS
from kit.bundle.reader import Bundle
from kit.checker.rule import Finding, rule
from kit.ruleset import Ruleset


@rule("GK006", "edition-differs", clauses=("M26",), since="2026.1")
def check(bundle: Bundle, _rules: Ruleset) -> Iterator[Finding]:
    """Compare the two editions."""
    found, required = bundle.claims.edition, bundle.plan.edition
    if found != required:
        yield Finding(f"{RESULTS}: edition", found, f"{required}, as {PLAN}")
