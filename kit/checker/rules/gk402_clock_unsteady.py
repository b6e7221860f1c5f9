"""Clock or power moved during profiling.

## What it checks
Over the profiling interval the average power holds its level, and so does the graphics clock's
moving mean over one second: first and second half agree, and so do the extremes, within the
edition's fractions. It is the same function that ends a warm-up. Over less than ten seconds halves
may lie further apart, as their noise does not average out.

## Why it matters
A mean over a clock that still falls is a figure of neither clock.

## How to fix
Warm up longer, and keep neighbours and cooling steady. Single clock samples may swing: they are not
judged.

## Clause
M15: clocks are stable during the profiling iterations.

## Example
Passes: one-second means of 1461 to 1470 MHz.
Fails: a drop of 6 % in the middle.
"""

from collections.abc import Iterator

from kit.bundle.reader import Bundle
from kit.checker.rule import Finding, Unproven, methodology_severity, rule
from kit.checker.runs import MeasuredRun, judge_runs, only_on_gpu
from kit.ruleset import Ruleset
from kit.stability import clock_halves_limit, clock_is_steady, power_is_steady, settling
from kit.trace import CLOCKS, POWER


@rule("GK402", "clock-unsteady", clauses=("M15",), since="2026.1")
def check(bundle: Bundle, rules: Ruleset) -> Iterator[Finding]:
    """Measure how much power and clock move."""
    only_on_gpu(bundle, "a steady GPC clock")
    severity = methodology_severity(bundle)

    def judge(run: MeasuredRun) -> Iterator[Finding]:
        tables = run.evidence.tables
        interval = run.profiling_interval()
        found = settling(tables.get(CLOCKS.file), tables.get(POWER.file), *interval, rules)
        if found.clock and not clock_is_steady(found.clock, rules):
            required = (
                f"halves within {clock_halves_limit(found.clock, rules):.1%}, "
                f"moving mean within {rules.clock_mean_range:.1%}"
            )
            place = run.at("column graphics_mhz in profiling", CLOCKS.file)
            yield Finding(place, found.clock.mean_text, required, severity)
        if found.power and not power_is_steady(found.power, rules):
            required = (
                f"halves within {rules.power_halves_difference:.1%}, "
                f"all within {rules.power_spread:.1%}"
            )
            place = run.at("column power_average_mw in profiling", POWER.file)
            yield Finding(place, found.power.spread_text, required, severity)
        if found.clock is None or found.power is None:
            raise Unproven("too few samples of graphics clock and average power")

    yield from judge_runs(bundle, judge)
