"""The clock of a fixed-frequency test was not held.

## What it checks
Every graphics clock sample of the profiling interval lies within one clock step of the requested
clock, and there are enough samples to say so.

## Why it matters
A locked clock is a request; power and thermal control overrule it silently. Without samples that
show the clock, the label `fixed_frequency` is refused.

## How to fix
Choose a lower clock, lock it before the run, and fill with zeros.

## Clause
M07 (two kinds of test), M08 (the chosen clock must be sustained).

## Example
Passes: 1200 MHz requested, 1200 MHz in all 638 samples.
Fails: one sample of 1170 MHz.
"""

from collections.abc import Iterator

import numpy as np

from kit.bundle import layout
from kit.bundle.reader import Bundle
from kit.checker.rule import Finding, NotApplicable, rule
from kit.checker.runs import MeasuredRun, judge_runs
from kit.ruleset import Ruleset
from kit.timeline import within
from kit.trace import CLOCKS


@rule("GK408", "frequency-not-held", clauses=("M07", "M08"), since="2026.1")
def check(bundle: Bundle, rules: Ruleset) -> Iterator[Finding]:
    """Compare every clock sample with the requested clock."""
    if bundle.plan.test_type.name != "fixed_frequency":
        raise NotApplicable("the test is not at a fixed frequency")
    wanted = bundle.plan.test_type.clock_mhz
    if wanted is None:
        place = f"{layout.PLAN}: test_type.clock_mhz"
        yield Finding(place, "null", "the clock that a fixed-frequency test holds")
        return

    def judge(run: MeasuredRun) -> Iterator[Finding]:
        clocks = run.evidence.tables.get(CLOCKS.file)
        place = run.at("column graphics_mhz in profiling", CLOCKS.file)
        samples = np.empty(0, np.int64)
        if clocks is not None and "graphics_mhz" in clocks:
            samples = within(clocks, *run.profiling_interval())["graphics_mhz"]
        if len(samples) < rules.minimum_clock_samples:
            required = f"at least {rules.minimum_clock_samples}, or no fixed_frequency"
            yield Finding(place, f"{len(samples)} samples", required)
        off = samples[np.abs(samples - wanted) > rules.clock_step_mhz]
        if len(off):
            found = f"{off.min()} to {off.max()} MHz in {len(off)} of {len(samples)} samples"
            yield Finding(place, found, f"{wanted} MHz within {rules.clock_step_mhz} MHz")

    yield from judge_runs(bundle, judge)
