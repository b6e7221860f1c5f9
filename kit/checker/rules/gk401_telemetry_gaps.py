"""Telemetry does not cover the profiling windows.

## What it checks
The plan samples clocks and power at least as often as the edition asks for. They were sampled
throughout profiling: from its begin to its end no stretch without a sample is longer than the
edition's number of sampling periods, or of seconds if that is more. There are nearly as many
samples as the period makes, as far apart as it says, and enough of the clock. Graphics clock,
memory clock, event reasons, power and GPU temperature are all there.

## Why it matters
Averages over half of the windows can be those of the better half. A period of seconds is a gap that
was planned.

## How to fix
Keep the sampler's process from starving: leave it a core of its own.

## Clause
M12 (GPC frequency), M14 (frequency, power and temperature during execution).

## Example
Passes: 638 clock samples, 20 ms apart, over 12.8 s.
Fails: a second without samples in the middle; or every other sample of those 638.
"""

from collections.abc import Iterator

import numpy as np

from kit.bundle.layout import PLAN
from kit.bundle.reader import Bundle
from kit.checker.rule import Finding, Unproven, rule
from kit.checker.runs import MeasuredRun, judge_runs, only_on_gpu
from kit.plan import Telemetry
from kit.ruleset import Ruleset
from kit.timeline import largest_gap_ns, within
from kit.trace import CLOCKS, POWER, Table

_REQUIRED = (
    (CLOCKS.file, ("graphics_mhz",)),
    (CLOCKS.file, ("memory_mhz",)),
    (CLOCKS.file, ("event_reasons",)),
    (POWER.file, ("power_average_mw", "power_instant_mw")),
    (POWER.file, ("gpu_c",)),
)


@rule("GK401", "telemetry-gaps", clauses=("M12", "M14"), since="2026.1")
def check(bundle: Bundle, rules: Ruleset) -> Iterator[Finding]:
    """Look for gaps in the samples of every profiling interval."""
    only_on_gpu(bundle, "GPC clock, power and temperature of a GPU")
    planned = bundle.plan.telemetry
    planned_ms = {CLOCKS.file: planned.clock_period_ms, POWER.file: planned.power_period_ms}
    yield from _planned(planned, rules)

    def judge(run: MeasuredRun) -> Iterator[Finding]:
        start_ns, end_ns = run.profiling_interval()
        periods = run.sampling_periods_ns
        for file in (CLOCKS.file, POWER.file):
            table = run.table(file)
            if file not in periods:
                raise Unproven(f"the sampling period of {file} is missing")
            planned_ns = planned_ms[file] * 1_000_000
            most_ns = rules.longest_period_times_plan * planned_ns
            if not planned_ns <= periods[file] <= most_ns:
                required = f"{planned_ns} to {most_ns} ns, by the plan"
                yield Finding(run.at(f"telemetry.health.{file}"), f"{periods[file]} ns", required)
                continue
            gap_ns, at_ns = largest_gap_ns(table, start_ns, end_ns)
            longest_ns = max(
                rules.largest_gap_periods * periods[file], round(rules.largest_gap_s * 1e9)
            )
            if gap_ns > longest_ns:
                place = run.at(f"column t_ns from {at_ns}", file)
                required = f"at most {longest_ns} ns"
                yield Finding(place, f"{gap_ns} ns without a sample", required)
            inside = within(table, start_ns, end_ns)
            yield from _spacing(run, file, inside, rules)
            wanted, held = (end_ns - start_ns) / periods[file], len(inside)
            if held < rules.samples_least * wanted - 1:
                required = f"{wanted:.0f}, one every {periods[file]} ns, or nearly as many"
                yield Finding(run.at("rows inside profiling", file), str(held), required)
        samples = len(within(run.table(CLOCKS.file), start_ns, end_ns))
        if samples < rules.minimum_clock_samples:
            place = run.at("rows inside profiling", CLOCKS.file)
            yield Finding(place, str(samples), f"at least {rules.minimum_clock_samples}")
        for file, columns in _REQUIRED:
            if not any(column in run.table(file) for column in columns):
                raise Unproven(f"{file} lacks {' and '.join(columns)}")

    yield from judge_runs(bundle, judge)


def _spacing(run: MeasuredRun, file: str, rows: Table, rules: Ruleset) -> Iterator[Finding]:
    """The sampler sleeps from one multiple of its period to the next, by the same clock."""
    if len(rows) < 2:
        return
    middle_ns, period_ns = float(np.median(np.diff(rows["t_ns"]))), run.sampling_periods_ns[file]
    if abs(middle_ns - period_ns) > rules.sampling_difference * period_ns:
        required = f"{period_ns} ns within {rules.sampling_difference:.1%}"
        yield Finding(
            run.at("column t_ns", file), f"{middle_ns:.0f} ns from one to the next", required
        )


def _planned(planned: Telemetry, rules: Ruleset) -> Iterator[Finding]:
    for name, longest_ms in (
        ("clock_period_ms", rules.longest_clock_period_ms),
        ("power_period_ms", rules.longest_power_period_ms),
    ):
        period_ms = getattr(planned, name)
        if period_ms > longest_ms:
            yield Finding(f"{PLAN}: telemetry.{name}", str(period_ms), f"at most {longest_ms}")
