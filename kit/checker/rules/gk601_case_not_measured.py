"""A planned case has no measured run.

## What it checks
Every case of the plan has at least one run with the outcome `measured`, and the bundle at least one
such case. No run was interrupted by the operator: what is left then is part of a measurement.

## Why it matters
A suite is comparable only as a whole. Cases that ran out of memory or time belong to the result.

## How to fix
See the outcome's reason. In the open division the case may stay unmeasured, in view of everybody,
but a measurement that was cut short must be run again.

## Clause
M26: results are consistent across devices when all of them measure the same cases.

## Example
Passes: three runs, one of them `timed_out`.
Fails: three runs, all of them `out_of_memory`.
"""

from collections.abc import Iterator

from kit.bundle.layout import CASES, case_file
from kit.bundle.reader import Bundle
from kit.checker.rule import Finding, methodology_severity, rule
from kit.ruleset import Ruleset


@rule("GK601", "case-not-measured", clauses=("M26",), since="2026.1")
def check(bundle: Bundle, _rules: Ruleset) -> Iterator[Finding]:
    """Look for a measured run of each case."""
    severity = methodology_severity(bundle)
    unmeasured = 0
    for planned in bundle.plan.cases:
        case = bundle.cases.get(planned.id)
        outcomes = () if case is None else case.record.runs
        cut_short = [run for run in outcomes if run.status == "interrupted"]
        if cut_short:
            found = f"{len(cut_short)} of {len(outcomes)} runs interrupted"
            yield Finding(case_file(planned.id), found, "a measurement that was not cut short")
            continue
        if any(run.status == "measured" for run in outcomes):
            continue
        unmeasured += 1
        reasons = dict.fromkeys(f"{run.status}: {run.reason}" for run in outcomes)
        found = "; ".join(reasons) or "no attempt"
        yield Finding(case_file(planned.id), found, "at least one measured run", severity)
    if unmeasured == len(bundle.plan.cases):
        yield Finding(CASES, "no case was measured", "at least one")
