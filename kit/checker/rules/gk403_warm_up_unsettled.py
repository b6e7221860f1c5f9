"""Profiling began before power and clock had settled.

## What it checks
A run ended its warm-up because it had settled, not because time was up. The warm-up lasted the
edition's least number of seconds on the device, and over the two seconds before profiling power and
clock were steady, within somewhat wider limits than those that end a warm-up. At a fixed frequency
every clock sample of these two seconds also shows the requested clock.

## Why it matters
The first seconds flatter: 4096³ in bf16 shows 781 TFLOP/s in a half-second burst of an H200 and 677
once it has settled.

## How to fix
Raise `phases.warm_up_max_s`, and look for what keeps the power from settling.

## Clause
M15: clocks are settled before the profiling iterations. M19: warm up until power draw stabilises;
clocks were seen to oscillate for about 3 s.

## Example
Passes: 31.8 s of warm-up with the last two seconds flat.
Fails: 0.5 s of warm-up; or 1470 MHz a second before profiling where 1500 MHz were requested.
"""

from collections.abc import Iterator

from kit.bundle.reader import Bundle
from kit.checker.rule import Finding, Unproven, methodology_severity, rule
from kit.checker.runs import MeasuredRun, judge_runs, only_on_gpu
from kit.ruleset import Ruleset
from kit.stability import SETTLE_NS, is_settled, settling
from kit.timeline import device_span_ns, rows_of_phase
from kit.trace import CLOCKS, POWER, WARM_UP, WINDOWS


@rule("GK403", "warm-up-unsettled", clauses=("M15", "M19"), since="2026.1")
def check(bundle: Bundle, rules: Ruleset) -> Iterator[Finding]:
    """Judge the warm-up's end again."""
    only_on_gpu(bundle, "power and clock settling on a GPU")
    clock_mhz = bundle.plan.test_type.clock_mhz
    severity = methodology_severity(bundle)

    def judge(run: MeasuredRun) -> Iterator[Finding]:
        stop = run.document.phases.warm_up_stop
        if stop != "settled":
            yield Finding(run.at("phases.warm_up_stop"), stop, "settled", severity)
        windows = run.table(WINDOWS.file)
        seconds = device_span_ns(rows_of_phase(windows, WARM_UP)) * 1e-9
        if seconds < rules.minimum_warm_up_s:
            place = run.at("warm-up rows", WINDOWS.file)
            required = f"at least {rules.minimum_warm_up_s:g} s"
            yield Finding(place, f"{seconds:.3f} s", required, severity)
        start_ns, _ = run.profiling_interval()
        tables = run.evidence.tables
        before = (start_ns - SETTLE_NS, start_ns)
        found = settling(
            tables.get(CLOCKS.file), tables.get(POWER.file), *before, rules, clock_mhz=clock_mhz
        )
        if found.clock is None or found.power is None:
            raise Unproven("too few samples of graphics clock and average power before profiling")
        if not is_settled(found, rules, rules.settled_slack):
            moved = f"clock {found.clock.mean_text}; power {found.power.spread_text}"
            if found.held is not None:
                moved += f"; {found.held.lowest_mhz} to {found.held.highest_mhz} MHz"
            place = run.at(f"{before[0]} to {start_ns} ns", POWER.file)
            yield Finding(place, moved, "steady for two seconds before profiling", severity)

    yield from judge_runs(bundle, judge)
