"""Profiling was too short to be stable.

## What it checks
Profiling has the edition's least number of launches and windows. A fixed-power test on a GPU also
lasts the edition's least number of seconds.

## Why it matters
A thousand launches of 4096³ take 0.2 s on an H200: one update of its power register, whose average
looks back over a whole second.

## How to fix
Raise `phases.profiling_min_launches`, `phases.profiling_min_s` or `timing.windows`.

## Clause
M22: more than 1000 profiling iterations at about 4096³, more for smaller problems.

## Example
Passes: 4000 launches in 40 windows over 12.8 s.
Fails: 1000 launches of 4096³ over 0.2 s in a fixed-power test.
"""

from collections.abc import Iterator

from kit.bundle.reader import Bundle
from kit.checker.rule import Finding, methodology_severity, rule
from kit.checker.runs import MeasuredRun, judge_runs
from kit.ruleset import Ruleset
from kit.timeline import device_span_ns, launches_of
from kit.trace import WINDOWS


@rule("GK310", "too-few-launches", clauses=("M22",), since="2026.1")
def check(bundle: Bundle, rules: Ruleset) -> Iterator[Finding]:
    """Count launches, windows and seconds."""
    severity = methodology_severity(bundle)
    averages_power = (
        bundle.plan.test_type.name == "fixed_power" and bundle.plan.backend.platform == "cuda"
    )

    def judge(run: MeasuredRun) -> Iterator[Finding]:
        profiling = run.profiling_windows()
        launches = launches_of(profiling)
        seconds = device_span_ns(profiling) * 1e-9
        place = run.at("profiling rows", WINDOWS.file)
        if launches < rules.minimum_profiling_launches:
            required = f"at least {rules.minimum_profiling_launches}"
            yield Finding(place, f"{launches} launches", required, severity)
        if len(profiling) < rules.minimum_windows:
            required = f"at least {rules.minimum_windows}"
            yield Finding(place, f"{len(profiling)} windows", required, severity)
        if averages_power and seconds < rules.minimum_profiling_s:
            required = f"at least {rules.minimum_profiling_s:g} s for a fixed-power test"
            yield Finding(place, f"{seconds:.3f} s", required, severity)

    yield from judge_runs(bundle, judge)
