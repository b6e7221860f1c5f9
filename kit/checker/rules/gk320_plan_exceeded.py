"""The run is not the one that its plan asks for.

## What it checks
On a GPU, the profiling launches are the plan's minimum, or what its seconds of profiling and the
edition's margin come to by the host's estimate of the period over the warm-up if that is more,
rounded up to whole calls in every window; within a call in each. The idle phase lasts as long as
the plan says.

## Why it matters
The kit derives both from the plan. A run that did more was measured by another plan: the one in the
bundle was exchanged afterwards, perhaps for laxer minima that other runs of the bundle need.

## How to fix
Hand over the bundle with the plan that it was measured by.

## Clause
M22: the count of profiling launches. M23: the idle state between problems.

## Example
Passes: 4,000 launches, as the plan's minimum; 30,720 for 5 s of 200 µs each.
Fails: 4,000 launches of 3.1 ms by a plan of one launch and 5 s; or an idle phase of 1.4 s where the
plan says 1.5.
"""

import math
from collections.abc import Iterator

from kit.bundle import layout
from kit.bundle.reader import Bundle
from kit.checker.rule import Finding, rule
from kit.checker.runs import MeasuredRun, judge_runs, only_on_gpu
from kit.ruleset import Ruleset
from kit.timeline import host_period_ns, mean_period_ns
from kit.trace import WINDOWS


@rule("GK320", "plan-exceeded", clauses=("M22", "M23"), since="2026.1")
def check(bundle: Bundle, rules: Ruleset) -> Iterator[Finding]:
    """Compare launches and idle time with what the plan makes of them."""
    only_on_gpu(bundle, "a steady period, by which the plan's seconds become launches")
    plan, windows = bundle.plan.phases, bundle.plan.timing.windows

    def judge(run: MeasuredRun) -> Iterator[Finding]:
        phases = run.document.phases
        seconds = rules.profiling_margin * plan.profiling_min_s
        estimated_ns = host_period_ns(run.table(WINDOWS.file))
        period_ns = estimated_ns or mean_period_ns(run.profiling_windows())
        wanted = max(plan.profiling_min_launches, seconds * 1e9 / period_ns)
        rounding = windows * run.document.executable.gemms_per_call
        planned = math.ceil(wanted / rounding) * rounding
        allowed = rules.planned_launches_difference * planned + rounding
        if abs(phases.profiling_launches - planned) > allowed:
            required = f"{planned} within {allowed:.0f}, by {layout.PLAN} and the warm-up"
            place = run.at("phases.profiling_launches")
            yield Finding(place, str(phases.profiling_launches), required)
        idle_s = (phases.idle_end_ns - phases.idle_start_ns) * 1e-9
        if not -rules.idle_short_of_plan_s <= idle_s - plan.idle_s <= rules.idle_beyond_plan_s:
            required = f"{plan.idle_s:g} s, as {layout.PLAN}"
            yield Finding(run.at("phases.idle_end_ns"), f"{idle_s:.3f} s idle", required)

    yield from judge_runs(bundle, judge)
