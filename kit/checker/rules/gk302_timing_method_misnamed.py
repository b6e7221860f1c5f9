"""The timing method is not what it is called.

## What it checks
Every run used the plan's timing method. CUDA events are never named on a CPU. On a GPU the host's
clock is a departure from the methodology, because every window then carries the host's wake-up; so
is `external_profiler`, which drains the device for a tool that slows launches down.

## Why it matters
The method says what a window's duration includes. A host clock under the name of events hides
launch gaps and wake-ups.

## How to fix
Choose `timing=cuda_events` on a GPU, `timing=host_clock` on a CPU.

## Clause
M02: the loops are separated by events on the device.

## Example
Passes: `cuda_events` on platform `cuda`.
Fails: `cuda_events` on platform `cpu`.
"""

from collections.abc import Iterator

from kit.bundle import layout
from kit.bundle.reader import Bundle
from kit.checker.rule import Finding, methodology_severity, rule
from kit.checker.runs import MeasuredRun, judge_runs
from kit.ruleset import Ruleset


@rule("GK302", "timing-method-misnamed", clauses=("M02",), since="2026.1")
def check(bundle: Bundle, _rules: Ruleset) -> Iterator[Finding]:
    """Compare method, plan and platform."""
    planned, platform = bundle.plan.timing.method, bundle.plan.backend.platform

    def judge(run: MeasuredRun) -> Iterator[Finding]:
        found, place = run.document.timing.method, run.at("timing.method")
        if found != planned:
            yield Finding(place, found, f"{planned}, as {layout.PLAN}")
        if found != "host_clock" and platform == "cpu":
            yield Finding(place, f"{found} on a CPU", "host_clock: a CPU has no CUDA events")
        if found != "cuda_events" and platform == "cuda":
            severity = methodology_severity(bundle)
            yield Finding(place, f"{found} on a GPU", "cuda_events", severity)

    yield from judge_runs(bundle, judge)
