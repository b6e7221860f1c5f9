"""Clock, power and the reasons for the clock contradict each other.

## What it checks
Over profiling, the share of samples that carry the bit of the power cap is the growth of its
counter. In a fixed-power test with uniform operands, on products whose registers are known, a
device that its cap holds in nearly every sample draws nearly the enforced limit, and so does one
whose clock is below the maximum in most samples, whatever the bits say. A clock below the maximum
has a reason in the event bits, of those that lower the clock of a device under load. Without one
it fails where power is at the limit; elsewhere, if no bit is set and the clock stands still, it
departs from the methodology, as somebody holds the clock.

## Why it matters
Zeros switch few bits: an H200 at its cap multiplies them at 425 to 448 W of 700 W, and 20 % faster.
Cleared bits hide a slowdown; power that was scaled down flatters the energy.

## How to fix
Fill uniformly. If the clock is locked, release it (`nvidia-smi -rgc`) or call the test
`fixed_frequency`.

## Clause
M10 (fixed power: DVFS at a given limit), M14 (frequency and power during execution), M20 (uniform
fill).

## Example
Passes: the power cap in every sample, its counter growing as fast as time, 691 W of 700 W.
Fails: the power cap in every sample at 448 W of 700 W, or the bit of an idle device in some.
"""

from collections.abc import Iterator

import numpy as np

from kit.bundle.reader import Bundle
from kit.checker.rule import Finding, Severity, methodology_severity, rule
from kit.checker.runs import MeasuredRun, judge_runs, only_on_gpu
from kit.clock_events import EXPLAINING, POWER_CAP
from kit.gpu_registers import registers_of
from kit.metrics import time_mean
from kit.ruleset import Ruleset
from kit.timeline import around, share_with, within
from kit.trace import CLOCKS, POWER, Table

_CAP_COUNTER = "sw_power_cap_ns"


@rule("GK411", "power-state-contradicted", clauses=("M10", "M14", "M20"), since="2026.1")
def check(bundle: Bundle, rules: Ruleset) -> Iterator[Finding]:
    """Compare bits, counter, power and clock of every run."""
    only_on_gpu(bundle, "why a GPU's clock is what it is")
    kind = bundle.plan.test_type
    severity = methodology_severity(bundle)

    def judge(run: MeasuredRun) -> Iterator[Finding]:
        interval = run.profiling_interval()
        clocks, power = run.table(CLOCKS.file), run.table(POWER.file)
        inside = within(clocks, *interval)
        if "event_reasons" not in inside or not len(inside):
            return
        held = share_with(inside, POWER_CAP.mask)
        yield from _counter(run, held, interval, rules)
        limit_mw = run.document.limits_before.power_enforced_mw
        drawn_mw = time_mean(power, "power_average_mw", *interval)
        registers = registers_of(run.device)
        if kind.name != "fixed_power" or kind.fill != "uniform" or registers is None:
            return
        if not limit_mw or drawn_mw is None:
            return
        share = registers.capped_power_share
        if share is not None and drawn_mw < share * limit_mw:
            yield from _undrawn(run, inside, held, (drawn_mw, share, limit_mw), rules)
        at_limit = drawn_mw >= rules.at_power_limit * limit_mw
        yield from _unexplained(run, interval, rules, "fail" if at_limit else severity)

    yield from judge_runs(bundle, judge)


def _undrawn(
    run: MeasuredRun, inside: Table, held: float, power: tuple[float, float, int], rules: Ruleset
) -> Iterator[Finding]:
    """Whoever draws so little is held by no cap, and has no other reason to be slow."""
    drawn_mw, share, limit_mw = power
    what = f"with {POWER_CAP.name} in {held:.0%} of the samples"
    if held < rules.power_cap_held:
        maximum = run.maximum_graphics_mhz
        if maximum is None or "graphics_mhz" not in inside:
            return
        mhz = inside["graphics_mhz"]
        low = float(np.mean(mhz < (1 - rules.clock_below_maximum) * maximum))
        bits = float(np.mean(inside["event_reasons"] != 0))
        moves = float(np.mean(np.diff(mhz) != 0)) if len(mhz) > 1 else 0.0
        is_held = bits <= rules.unexplained_clock and moves < rules.clock_changes_least
        if low < rules.clock_low_share or is_held:
            return
        what = f"and a clock below {maximum} MHz in {low:.0%} of the samples"
    place = run.at("mean power_average_mw in profiling", POWER.file)
    required = f"at least {share:.0%} of the {limit_mw} mW that hold the clock down"
    yield Finding(place, f"{drawn_mw:.0f} mW {what}", required)


def _counter(
    run: MeasuredRun, held: float, interval: tuple[int, int], rules: Ruleset
) -> Iterator[Finding]:
    power = around(run.table(POWER.file), *interval)
    if _CAP_COUNTER not in power or len(power) < 2:
        return
    seconds = int(power["t_ns"][-1] - power["t_ns"][0]) * 1e-9
    grown = int(power[_CAP_COUNTER][-1] - power[_CAP_COUNTER][0]) * 1e-9
    allowed = rules.power_cap_difference * seconds + rules.counter_ahead_s / 2
    if abs(grown - held * seconds) > allowed:
        place = run.at(f"column {_CAP_COUNTER} over profiling", POWER.file)
        found = f"grew by {grown:.3f} s in {seconds:.3f} s"
        required = f"{held:.0%} of it, the samples with {POWER_CAP.name} in {CLOCKS.file}"
        yield Finding(place, found, required)


def _unexplained(
    run: MeasuredRun, interval: tuple[int, int], rules: Ruleset, severity: Severity
) -> Iterator[Finding]:
    inside = within(run.table(CLOCKS.file), *interval)
    maximum = run.maximum_graphics_mhz
    if maximum is None or "graphics_mhz" not in inside:
        return
    low = inside["graphics_mhz"] < (1 - rules.clock_below_maximum) * maximum
    unexplained = low & (inside["event_reasons"] & EXPLAINING == 0)
    share = np.count_nonzero(unexplained) / max(1, len(inside))
    if share > rules.unexplained_clock:
        place = run.at("columns graphics_mhz and event_reasons in profiling", CLOCKS.file)
        lowest = int(inside["graphics_mhz"].min())
        found = f"{share:.0%} of the samples below {maximum} MHz, down to {lowest}, with no reason"
        yield Finding(place, found, "a reason in event_reasons, or the maximum clock", severity)
