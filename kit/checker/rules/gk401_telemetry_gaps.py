"""Telemetry does not cover the profiling windows.

## What it checks
The plan samples clocks and power at least as often as the edition asks for. They were sampled
throughout profiling: from its begin to its end no stretch without a sample is longer than the
edition's number of sampling periods, or of seconds if that is more. There are nearly as many
samples as the period makes and no more, as far apart as it says, and enough of the clock. The
energy counter's samples keep its period too, and none are added. Graphics clock, memory clock,
event reasons, power and GPU temperature are all there.

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
from kit.checker.runs import MeasuredRun, each, judge_runs, only_on_gpu
from kit.plan import Telemetry
from kit.ruleset import Ruleset
from kit.timeline import largest_gap_ns, within
from kit.trace import CLOCKS, ENERGY, POWER

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
    yield from _planned(planned, rules)

    def judge(run: MeasuredRun) -> Iterator[Finding]:
        questions = [
            _sampled(run, CLOCKS.file, planned.clock_period_ms, rules),
            _sampled(run, POWER.file, planned.power_period_ms, rules),
            _enough(run, rules),
        ]
        # What a counter grew by is not lost in a gap.
        if ENERGY.file in run.sampling_periods_ns and ENERGY.file in run.evidence.tables:
            questions.append(_schedule(run, ENERGY.file, rules))
        yield from each(*questions)
        for file, columns in _REQUIRED:
            if not any(column in run.table(file) for column in columns):
                raise Unproven(f"{file} lacks {' and '.join(columns)}")

    yield from judge_runs(bundle, judge)


def _sampled(run: MeasuredRun, file: str, planned_ms: int, rules: Ruleset) -> Iterator[Finding]:
    planned_ns = planned_ms * 1_000_000
    period_ns, most_ns = _period_ns(run, file), rules.longest_period_times_plan * planned_ns
    if planned_ns <= period_ns <= most_ns:
        yield from _schedule(run, file, rules)
        yield from _covered(run, file, rules)
    else:
        required = f"{planned_ns} to {most_ns} ns, by the plan"
        yield Finding(run.at(f"telemetry.health.{file}"), f"{period_ns} ns", required)


def _enough(run: MeasuredRun, rules: Ruleset) -> Iterator[Finding]:
    samples = len(within(run.table(CLOCKS.file), *run.profiling_interval()))
    if samples < rules.minimum_clock_samples:
        place = run.at("rows inside profiling", CLOCKS.file)
        yield Finding(place, str(samples), f"at least {rules.minimum_clock_samples}")


def _schedule(run: MeasuredRun, file: str, rules: Ruleset) -> Iterator[Finding]:
    """The sampler sleeps from one multiple of its period to the next, by the same clock."""
    period_ns = _period_ns(run, file)
    start_ns, end_ns = run.profiling_interval()
    rows = within(run.table(file), start_ns, end_ns)
    most = (end_ns - start_ns) // period_ns + 2
    if len(rows) > most:
        required = f"at most {most}, one every {period_ns} ns"
        yield Finding(run.at("rows inside profiling", file), str(len(rows)), required)
    if len(rows) < 2:
        return
    middle_ns = float(np.median(np.diff(rows["t_ns"])))
    if abs(middle_ns - period_ns) > rules.sampling_difference * period_ns:
        required = f"{period_ns} ns within {rules.sampling_difference:.1%}"
        found = f"{middle_ns:.0f} ns from one to the next"
        yield Finding(run.at("column t_ns", file), found, required)


def _covered(run: MeasuredRun, file: str, rules: Ruleset) -> Iterator[Finding]:
    """There is no stretch without a sample, and nearly as many as the period makes."""
    table, period_ns = run.table(file), _period_ns(run, file)
    start_ns, end_ns = run.profiling_interval()
    gap_ns, at_ns = largest_gap_ns(table, start_ns, end_ns)
    longest_ns = max(rules.largest_gap_periods * period_ns, round(rules.largest_gap_s * 1e9))
    if gap_ns > longest_ns:
        place = run.at(f"column t_ns from {at_ns}", file)
        yield Finding(place, f"{gap_ns} ns without a sample", f"at most {longest_ns} ns")
    wanted, held = (end_ns - start_ns) / period_ns, len(within(table, start_ns, end_ns))
    if held < rules.samples_least * wanted - 1:
        required = f"{wanted:.0f}, one every {period_ns} ns, or nearly as many"
        yield Finding(run.at("rows inside profiling", file), str(held), required)


def _period_ns(run: MeasuredRun, file: str) -> int:
    """How often the table was sampled.

    Raises:
        Unproven: it does not say.
    """
    if file not in run.sampling_periods_ns:
        raise Unproven(f"the sampling period of {file} is missing")
    return run.sampling_periods_ns[file]


def _planned(planned: Telemetry, rules: Ruleset) -> Iterator[Finding]:
    for name, longest_ms in (
        ("clock_period_ms", rules.longest_clock_period_ms),
        ("power_period_ms", rules.longest_power_period_ms),
    ):
        period_ms = getattr(planned, name)
        if period_ms > longest_ms:
            yield Finding(f"{PLAN}: telemetry.{name}", str(period_ms), f"at most {longest_ms}")
