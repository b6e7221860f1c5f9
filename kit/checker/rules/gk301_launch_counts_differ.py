"""The windows do not hold the launches that the run says it made.

## What it checks
Warm-up and profiling are both there, warm-up before profiling. The launches of the windows of each
phase add up to the run's own count, which is at least the plan's minimum. Profiling has exactly
the plan's number of windows, all of equally many launches; what the edition asks of both is GK310.

## Why it matters
Mean period and FLOP/s are the windows' time over their launches. Windows that were left out, or
launches that were never made, change both.

## How to fix
Measure again; the kit counts what it launches.

## Clause
M01: warm-up and profiling iterations are set separately, in two loops.

## Example
Passes: 40 windows of 100 launches, and `profiling_launches` 4000.
Fails: one of these windows is missing from `windows.csv`, also where `profiling_launches` says so.
"""

from collections.abc import Iterator

from kit.bundle import layout
from kit.bundle.reader import Bundle
from kit.checker.rule import Finding, rule
from kit.checker.runs import MeasuredRun, judge_runs
from kit.ruleset import Ruleset
from kit.timeline import launches_of, rows_of_phase
from kit.trace import PROFILING, WARM_UP, WINDOWS


@rule("GK301", "launch-counts-differ", clauses=("M01",), since="2026.1")
def check(bundle: Bundle, _rules: Ruleset) -> Iterator[Finding]:
    """Count the launches of both phases."""
    plan = bundle.plan.phases

    def judge(run: MeasuredRun) -> Iterator[Finding]:
        windows, marks = run.table(WINDOWS.file), run.document.phases
        phase = windows["phase"]
        if (phase[1:] < phase[:-1]).any():
            place = run.at("column phase", WINDOWS.file)
            yield Finding(
                place, "a warm-up window after a profiling one", "warm-up, then profiling"
            )
        for name, number, said, minimum in (
            ("warm_up", WARM_UP, marks.warm_up_launches, plan.warm_up_min_launches),
            ("profiling", PROFILING, marks.profiling_launches, plan.profiling_min_launches),
        ):
            counted = launches_of(rows_of_phase(windows, number))
            place = run.at(f"phases.{name}_launches")
            if counted != said:
                yield Finding(place, str(said), f"{counted}, the launches of the {name} windows")
            if said < max(1, minimum):
                required = f"at least {max(1, minimum)}, as {layout.PLAN}"
                yield Finding(place, str(said), required)
        profiling = rows_of_phase(windows, PROFILING)["launches"]
        place = run.at("profiling rows", WINDOWS.file)
        if len(profiling) != bundle.plan.timing.windows:
            required = f"{bundle.plan.timing.windows}, as {layout.PLAN}"
            yield Finding(place, str(len(profiling)), required)
        if len(profiling) and profiling.min() != profiling.max():
            found = f"{profiling.min()} to {profiling.max()} launches"
            yield Finding(place, found, "equally many in every window")

    yield from judge_runs(bundle, judge)
