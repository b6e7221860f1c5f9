"""The load does not lie where the run says it did.

## What it checks
The first launch follows the idle phase within the edition's part of a second. Beside CUDA events
the device did nothing between the last drained moment and the start of the cool-down but the host
slope: exactly so many launches as last a second at the windows' mean period, in the edition's
number of spans. Where the registers of the GPU are known and the load draws clearly more than the
device at rest, before or after it, its power rises just after the first launch and falls just as
the cool-down starts; without `power_instant_mw` that is unproven. Where the power cap holds it in
nearly every sample, no event bits say so just before the load or well after it.

## Why it matters
Windows that were shortened leave time over: in front of the first launch, in front of the
cool-down, or as power that stays up in it.

## How to fix
Measure again; nothing but a changed file does this.

## Clause
M11 (durations), M14 (power during execution), M23 (cool-down after it).

## Example
Passes: 1.003 s of slope launches, 4.013 s from the last window to the cool-down in four spans.
Fails: the same slope and 4.9 s; or 500 W half a second after the cool-down began, or the power cap
a second after it.
"""

from collections.abc import Iterator

import numpy as np

from kit.bundle.reader import Bundle
from kit.checker.rule import Finding, Unproven, rule
from kit.checker.runs import MeasuredRun, each, judge_runs, only_on_gpu
from kit.clock_events import POWER_CAP
from kit.gpu_registers import registers_of
from kit.rotation import calls_for
from kit.ruleset import Ruleset
from kit.stability import IDLE_NS, level
from kit.timeline import (
    mean_period_ns,
    share_with,
    within,
)
from kit.trace import CLOCKS, POWER, place_of


@rule("GK318", "load-misplaced", clauses=("M11", "M14", "M23"), since="2026.1")
def check(bundle: Bundle, rules: Ruleset) -> Iterator[Finding]:
    """Account for the time before and after the load, and find its edges in the power."""
    only_on_gpu(bundle, "the edges of a load in a GPU's power")

    def judge(run: MeasuredRun) -> Iterator[Finding]:
        questions = [_start(run, rules)]
        if run.document.timing.method == "cuda_events":
            questions.append(_slope(run, rules))
        if registers_of(run.device) is not None:
            questions += [_cap(run, rules), _edges(run, rules)]
        yield from each(*questions)

    yield from judge_runs(bundle, judge)


def _start(run: MeasuredRun, rules: Ruleset) -> Iterator[Finding]:
    waited_ns = run.document.timing.start.before_ns - run.document.phases.idle_end_ns
    if waited_ns > rules.idle_to_start_s * 1e9:
        found = f"{waited_ns * 1e-9:.3f} s after the idle phase"
        required = f"at most {rules.idle_to_start_s:g} s after it"
        yield Finding(run.at("timing.start"), found, required)


def _slope(run: MeasuredRun, rules: Ruleset) -> Iterator[Finding]:
    slope = run.host_slope()
    period_ns = mean_period_ns(run.profiling_windows())
    per_call = run.document.executable.gemms_per_call
    wanted = calls_for(rules.slope_s * 1e9 / period_ns, per_call) * per_call
    if slope.launches != wanted:
        required = f"{wanted}: {rules.slope_s:g} s by the windows"
        place = run.at("timing.controls.host_slope")
        yield Finding(place, f"{slope.launches} launches", required)
    phases, timing = run.document.phases, run.document.timing
    call_ns = per_call * period_ns
    gap_ns = phases.cool_down_start_ns - timing.end.after_ns
    spans_ns = run.slope_ns(rules.slope_spans)
    allowed_ns = rules.slope_gap_difference * spans_ns + rules.slope_gap_s * 1e9 + call_ns
    if abs(gap_ns - spans_ns) > allowed_ns:
        found = f"{gap_ns * 1e-9:.3f} s after timing.end"
        required = f"{spans_ns * 1e-9:.3f} s: {rules.slope_spans} spans of the slope"
        yield Finding(run.at("phases.cool_down_start_ns"), found, required)


def _edges(run: MeasuredRun, rules: Ruleset) -> Iterator[Finding]:
    registers = registers_of(run.device)
    power = run.table(POWER.file)
    if registers is None:
        return
    if "power_instant_mw" not in power:
        raise Unproven(f"{POWER.file} lacks power_instant_mw, which shows the load's edges")
    phases = run.document.phases
    before = level(power, phases.idle_start_ns, phases.idle_end_ns).power_mw
    after_mw = level(power, phases.cool_down_end_ns - IDLE_NS, phases.cool_down_end_ns).power_mw
    idle = min((found for found in (before, after_mw) if found is not None), default=None)
    load = level(power, *run.profiling_interval()).power_mw
    if idle is None or load is None or load < (1 + rules.power_edge_share) * idle:
        return
    first = place_of(power, phases.idle_start_ns)
    high = first + np.flatnonzero(power["power_instant_mw"][first:] >= (idle + load) / 2)
    if not len(high):
        return
    step_ns = registers.average_power_step_ms * 1_000_000
    slack_ns = round(rules.power_edge_s * 1e9)
    later_ns = max(step_ns, run.sampling_periods_ns.get(POWER.file, 0))
    early_ns, late_ns = -later_ns - slack_ns, step_ns + later_ns + slack_ns
    for what, mark, mark_ns, row in (
        ("rises", "timing.start", run.document.timing.start.after_ns, high[0]),
        ("falls", "phases.cool_down_start_ns", phases.cool_down_start_ns, high[-1]),
    ):
        offset_ns = int(power["t_ns"][row]) - mark_ns
        if not early_ns <= offset_ns <= late_ns:
            found = f"power {what} {offset_ns * 1e-6:.0f} ms after {mark}"
            required = f"{early_ns * 1e-6:.0f} to {late_ns * 1e-6:.0f} ms after it"
            yield Finding(run.at("column power_instant_mw", POWER.file), found, required)


def _cap(run: MeasuredRun, rules: Ruleset) -> Iterator[Finding]:
    clocks = run.table(CLOCKS.file)
    if "event_reasons" not in clocks:
        return

    held = share_with(within(clocks, *run.profiling_interval()), POWER_CAP.mask)
    if held < rules.power_cap_held:
        return
    first_ns, phases = run.document.timing.start.before_ns, run.document.phases
    outlasts_ns = round(rules.cap_bit_after_s * 1e9)
    # The pilot's load, which ends where the idle phase begins, may have been at the cap too.
    before_ns = max(
        first_ns - round(rules.cap_bit_before_s * 1e9), phases.idle_start_ns + outlasts_ns
    )
    after_ns = phases.cool_down_start_ns + outlasts_ns
    for what, start_ns, end_ns in (
        ("before the first launch", before_ns, first_ns),
        (f"{rules.cap_bit_after_s:g} s into the cool-down", after_ns, phases.cool_down_end_ns),
    ):
        found = share_with(within(clocks, start_ns, end_ns), POWER_CAP.mask)
        if found > rules.cap_bit_stray:
            place = run.at(f"column event_reasons from {start_ns} to {end_ns} ns", CLOCKS.file)
            shown = f"{POWER_CAP.name} in {found:.0%} of the samples {what}"
            yield Finding(place, shown, "none: the device was at rest")
