"""The device was slowed down during profiling.

## What it checks
No sample of the profiling interval carries the event bit of a thermal slowdown or a power brake,
and their counters did not grow from the last reading before it to the first one after. Hardware
slowdown alone may flash once. In a fixed-frequency test the software power cap counts as well; at a
fixed power it is what holds the limit.

## Why it matters
A device that protects itself runs at another clock than its power limit would give, and comes back
at a moment of its own.

## How to fix
Improve the cooling or the supply. In a fixed-frequency test choose a lower clock.

## Clause
M08 (a locked clock must be sustained), M10 (fixed power).

## Example
Passes: software power cap in every sample of a fixed-power test.
Fails: one sample with hardware thermal slowdown.
"""

from collections.abc import Iterator

import numpy as np

from kit.bundle.reader import Bundle
from kit.checker.rule import Finding, Severity, Unproven, rule
from kit.checker.runs import MeasuredRun, judge_runs, only_on_gpu
from kit.clock_events import BARE_SLOWDOWN, POWER_CAP, SLOWDOWNS, Slowdown
from kit.ruleset import Ruleset
from kit.timeline import around, within
from kit.trace import CLOCKS, POWER


@rule("GK405", "slowdown-in-window", clauses=("M08", "M10"), since="2026.1")
def check(bundle: Bundle, rules: Ruleset) -> Iterator[Finding]:
    """Look for event bits and counters that grew."""
    only_on_gpu(bundle, "a GPU's clock event reasons")
    held_clock = bundle.plan.test_type.name == "fixed_frequency"
    kinds = (*SLOWDOWNS, POWER_CAP) if held_clock else SLOWDOWNS

    def judge(run: MeasuredRun) -> Iterator[Finding]:
        interval = run.profiling_interval()
        yield from _counters(run, interval, kinds)
        clocks = run.table(CLOCKS.file)
        if "event_reasons" not in clocks:
            raise Unproven(f"{CLOCKS.file} lacks event_reasons")
        reasons = within(clocks, *interval)["event_reasons"]
        place = run.at("column event_reasons in profiling", CLOCKS.file)
        seen = int(np.bitwise_or.reduce(reasons))
        for kind in kinds:
            if seen & kind.mask:
                samples = int(np.count_nonzero(reasons & kind.mask))
                yield Finding(place, f"{kind.name} in {samples} samples", f"no {kind.name}")
        named = sum(kind.mask for kind in SLOWDOWNS)
        bare = int(np.count_nonzero((reasons & BARE_SLOWDOWN.mask != 0) & (reasons & named == 0)))
        if bare:
            found = f"{BARE_SLOWDOWN.name} in {bare} samples"
            severity: Severity = "fail" if bare > rules.bare_slowdown_samples else "warn"
            yield Finding(place, found, f"no {BARE_SLOWDOWN.name}", severity)

    yield from judge_runs(bundle, judge)


def _counters(
    run: MeasuredRun, interval: tuple[int, int], kinds: tuple[Slowdown, ...]
) -> Iterator[Finding]:
    power = around(run.table(POWER.file), *interval)
    for kind in kinds:
        if kind.counter is not None and kind.counter in power and len(power):
            values = power[kind.counter]
            grown_ns = int(values[-1] - values[0])
            if grown_ns:
                place = run.at(f"column {kind.counter} over profiling", POWER.file)
                yield Finding(place, f"grew by {grown_ns} ns", f"no {kind.name}")
