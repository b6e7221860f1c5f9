"""The plan names a suite and holds only some of its cases.

## What it checks
A plan whose overrides name one of the kit's suites, and change none of its cases, holds every case
of it. Others are not judged. What is missing is a warning in both divisions: a suite may be shared
out among several GPUs or bundles, and nothing in one bundle tells a case that was left to another
from one whose figure did not please.

## Why it matters
A table of a suite is read as all of it. What was left out is easily overlooked.

## How to fix
Hand over the bundles that hold the other cases along with this one, or plan the whole suite: a case
that the device does not support is in a bundle by its status.

## Clause
M26: results are reproducible, which a choice among them is not.

## Example
Passes: `suite=square` and seven cases, from 256 to 16384.
Fails: `suite=square` without 8192 (a warning).
"""

from collections.abc import Iterator

from kit.bundle.layout import PLAN
from kit.bundle.reader import Bundle
from kit.checker.rule import Finding, NotApplicable, rule
from kit.ruleset import Ruleset
from kit.suites import left_out, suite_of, suites


@rule("GK614", "suite-incomplete", clauses=("M26",), since="2026.1")
def check(bundle: Bundle, _rules: Ruleset) -> Iterator[Finding]:
    """Look every case of the named suite up in the plan."""
    suite = suite_of(bundle.plan.overrides)
    if suite is None or suite not in suites():
        raise NotApplicable("the plan's overrides name no suite of several cases, or change its")
    missing = left_out(bundle.plan, suite)
    if missing:
        required = f"all {len(suites()[suite])} cases of suite {suite}"
        yield Finding(f"{PLAN}: cases", f"none of {', '.join(missing)}", required, "warn")
