"""The readings do not behave as the registers of this GPU do.

## What it checks
On products whose registers are known: the average power steps as often as its register does, over
warm-up and profiling, where it was sampled often enough to show that; every graphics clock lies
whole steps below the device's maximum; graphics and SM clock, which are one domain there, are
equal; a clock that the power cap holds moves where operands are uniform, and the memory's is at its
maximum while profiling.
On every GPU, no counter of nanoseconds grows faster than time itself, but for the little that it
lags behind and catches up.

## Why it matters
A series that was scaled, smoothed, squeezed in time or made up looks right on average. Its register
gives it away.

## How to fix
Measure again; nothing but a changed file does this. If the memory clock is locked, release it
(`nvidia-smi -rmc`): no kind of test asks for that.

## Clause
M12 and M14: clock and power are monitored, not assumed.

## Example
Passes: a power average that changes every 100.8 ms, clocks of 1440, 1455 and 1470 MHz.
Fails: one that changes every 90 ms; clocks of 1411 MHz; 1410 MHz in every sample under the cap.
"""

from collections.abc import Iterator

import numpy as np

from kit.bundle.reader import Bundle
from kit.checker.rule import Finding, Unproven, rule
from kit.checker.runs import MeasuredRun, each, judge_runs, only_on_gpu
from kit.clock_events import POWER_CAP
from kit.gpu_registers import Registers, registers_of
from kit.ruleset import Ruleset
from kit.timeline import share_with, window_edges, within
from kit.trace import CLOCKS, POWER, POWER_COUNTERS_NS, WINDOWS


@rule("GK412", "registers-unlike-device", clauses=("M12", "M14"), since="2026.1")
def check(bundle: Bundle, rules: Ruleset) -> Iterator[Finding]:
    """Compare every run's series with its device's registers."""
    only_on_gpu(bundle, "a GPU's registers")
    kind = bundle.plan.test_type

    def judge(run: MeasuredRun) -> Iterator[Finding]:
        questions = [_counters(run, rules)]
        registers = registers_of(run.device)
        if registers is not None:
            questions += [_grid(run, registers, rules), _domains(run, rules)]
            questions += [_cadence(run, registers, rules), _memory(run, rules)]
            if kind.name == "fixed_power" and kind.fill == "uniform":
                questions.append(_capped(run, rules))
        yield from each(*questions)

    yield from judge_runs(bundle, judge)


def _counters(run: MeasuredRun, rules: Ruleset) -> Iterator[Finding]:
    power = run.table(POWER.file)
    for name in POWER_COUNTERS_NS:
        if name not in power:
            continue
        most_ns = rules.counter_ahead_s * 1e9
        if power[name].max() - power[name].min() <= most_ns:
            continue  # nor did it jump by more
        ahead_ns = power[name] - power["t_ns"]
        jump_ns = ahead_ns - np.minimum.accumulate(ahead_ns)
        if jump_ns.max() > most_ns:
            row = int(np.argmax(jump_ns))
            found = f"{jump_ns[row] * 1e-9:.3f} s more than time had passed"
            required = f"at most {rules.counter_ahead_s:g} s"
            yield Finding(run.at(f"row {row + 1}: {name}", POWER.file), found, required)


def _grid(run: MeasuredRun, registers: Registers, rules: Ruleset) -> Iterator[Finding]:
    clocks, maximum = run.table(CLOCKS.file), run.maximum_graphics_mhz
    if maximum is None or "graphics_mhz" not in clocks:
        return
    values = clocks["graphics_mhz"]
    off = (maximum - values) % registers.graphics_clock_step_mhz != 0
    if np.count_nonzero(off) / len(off) > rules.clock_off_steps:
        found = f"{values[off][0]} MHz and {int(off.sum()) - 1} more samples"
        required = f"whole steps of {registers.graphics_clock_step_mhz} MHz below {maximum} MHz"
        yield Finding(run.at("column graphics_mhz", CLOCKS.file), found, required)


def _domains(run: MeasuredRun, rules: Ruleset) -> Iterator[Finding]:
    clocks = run.table(CLOCKS.file)
    if "graphics_mhz" not in clocks or "sm_mhz" not in clocks:
        return
    equal = np.count_nonzero(clocks["graphics_mhz"] == clocks["sm_mhz"]) / len(clocks)
    if equal < rules.clock_domains_equal:
        found = f"graphics_mhz in {equal:.1%} of the samples"
        required = f"at least {rules.clock_domains_equal:.0%}: they are one domain"
        yield Finding(run.at("column sm_mhz", CLOCKS.file), found, required)


def _capped(run: MeasuredRun, rules: Ruleset) -> Iterator[Finding]:
    inside = within(run.table(CLOCKS.file), *run.profiling_interval())
    if "graphics_mhz" not in inside or "event_reasons" not in inside:
        return
    values = inside["graphics_mhz"]
    if len(values) < rules.minimum_clock_samples:
        return
    held = share_with(inside, POWER_CAP.mask)
    changes = np.count_nonzero(values[1:] != values[:-1]) / (len(values) - 1)
    if held >= rules.power_cap_held and changes < rules.clock_changes_least:
        found = f"{changes:.1%} of the samples differ from the one before, at {values[0]} MHz"
        required = f"at least {rules.clock_changes_least:.0%}: {POWER_CAP.name} moves the clock"
        yield Finding(run.at("column graphics_mhz in profiling", CLOCKS.file), found, required)


def _memory(run: MeasuredRun, rules: Ruleset) -> Iterator[Finding]:
    inside = within(run.table(CLOCKS.file), *run.profiling_interval())
    maximum = run.device.maximum_memory_mhz if run.device else None
    if maximum is None or "memory_mhz" not in inside or not len(inside):
        return
    low = inside["memory_mhz"] < (1 - rules.memory_clock_below) * maximum
    if np.count_nonzero(low) / len(low) > rules.clock_off_steps:
        found = f"{inside['memory_mhz'][low][0]} MHz and {int(low.sum()) - 1} more samples"
        required = f"{maximum} MHz, the maximum, at which this memory runs under load"
        yield Finding(run.at("column memory_mhz in profiling", CLOCKS.file), found, required)


def _cadence(run: MeasuredRun, registers: Registers, rules: Ruleset) -> Iterator[Finding]:
    power = run.table(POWER.file)
    if "power_average_mw" not in power:
        return
    step_ms = registers.average_power_step_ms
    period_ms = run.sampling_periods_ns.get(POWER.file, 0) * 1e-6
    if period_ms > rules.power_step_sampling * step_ms:
        return  # the sampler of a busy host reads less often, and GK401 bounds how seldom
    edges = window_edges(run.document.timing, run.table(WINDOWS.file))
    load = within(power, int(edges[0]), int(edges[-1]))
    lasted_ms = float(edges[-1] - edges[0]) * 1e-6
    needed_ms = 2 * rules.minimum_power_steps * step_ms
    if lasted_ms < needed_ms:
        raise Unproven(f"less than {needed_ms} ms of load")
    place = run.at("column power_average_mw under load", POWER.file)
    drawn_mw = load["power_average_mw"]
    changes = np.flatnonzero(drawn_mw[1:] != drawn_mw[:-1])
    if len(changes) < rules.minimum_power_steps:
        found = f"{len(changes)} steps in {lasted_ms:.0f} ms"
        yield Finding(place, found, f"one every {step_ms} ms")
        return
    t_ns = load["t_ns"][changes]
    mean_ms = float(t_ns[-1] - t_ns[0]) * 1e-6 / (len(changes) - 1)
    blur_ms = period_ms / (len(changes) - 1)
    low_ms = step_ms * (1 - rules.power_step_early) - blur_ms
    high_ms = step_ms * (1 + rules.power_step_late) + blur_ms
    if not low_ms <= mean_ms <= high_ms:
        required = f"every {low_ms:.1f} to {high_ms:.1f} ms"
        yield Finding(place, f"a step every {mean_ms:.1f} ms", required)
