"""A closed submission was not set up to give the evidence of that division.

## What it checks
In the closed division the plan's platform is `cuda`, its timing method `cuda_events` and its
telemetry source `nvml`.

## Why it matters
The closed division compares GPUs under the whole methodology. Host clocks and silent telemetry
cannot show that it was followed.

## How to fix
Measure with `backend=cuda timing=cuda_events telemetry=nvml`, or submit to the open division.

## Clause
M07: a fixed-power or fixed-frequency test is one only with the evidence of its clocks and power.

## Example
Passes: a CPU host in the open division.
Fails: the same host in the closed division.
"""

from collections.abc import Iterator

from kit.bundle.layout import PLAN
from kit.bundle.reader import Bundle
from kit.checker.rule import Finding, NotApplicable, rule
from kit.ruleset import Ruleset


@rule("GK603", "division-evidence-missing", clauses=("M07",), since="2026.1")
def check(bundle: Bundle, _rules: Ruleset) -> Iterator[Finding]:
    """Compare the plan with what the division asks for."""
    plan = bundle.plan
    if plan.submission.division != "closed":
        raise NotApplicable("the open division takes any platform, timing and telemetry")
    choices = (
        ("backend.platform", plan.backend.platform, "cuda"),
        ("timing.method", plan.timing.method, "cuda_events"),
        ("telemetry.source", plan.telemetry.source, "nvml"),
    )
    for name, found, required in choices:
        if found != required:
            yield Finding(f"{PLAN}: {name}", found, f"{required} in the closed division")
