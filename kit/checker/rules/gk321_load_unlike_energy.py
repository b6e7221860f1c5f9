"""The energy that the load took is that of another time.

## What it checks
Where the registers of the GPU are known: the power at rest is in the idle phase, within the
edition's fraction, what the energy counter shows there, and no more than its part of the default
limit. The time from the first launch to the cool-down is, within the edition's seconds, that
between two steps of the energy counter under load, and at either end of it what the counter grew by
beyond the device at rest, over what the load draws there beyond it. At rest that is the mean of
`power_instant_mw` over a second, under load a line through the steps of two seconds. Beside CUDA
events so is the time that all windows take together with the host slope at their mean period. The
less a load draws over the device at rest, the more seconds are allowed.
Without these columns, without a host slope beside CUDA events, where the counter steps too seldom
or was read at a period that beats with the register's own step, and where the load draws hardly
more than the device at rest, or the device much more behind a weak load than before it, this is
unproven.

## Why it matters
Windows that were shortened leave time over, which has to lie somewhere. Marks can be moved; the
counter has gone on. Were a device said to draw at rest what it draws under load, nothing would tell
where the load ends.

## How to fix
Measure again; nothing but a changed file does this.

## Clause
M11 (durations), M14 (power during execution), M23 (the idle state before and after).

## Example
Passes: energy for 13.47 s of load, 13.43 s between the marks, of them 13.42 s of windows and slope.
Fails: the same energy, and marks that were moved together by 0.3 s.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kit.bundle.reader import Bundle
from kit.checker.rule import Finding, Unproven, rule
from kit.checker.runs import MeasuredRun, each, judge_runs, only_on_gpu
from kit.gpu_registers import registers_of
from kit.ruleset import Ruleset
from kit.stability import level
from kit.timeline import device_span_ns
from kit.trace import ENERGY, POWER, WINDOWS, Table, rows_within

_FEWEST_UNDER_LOAD = 4
_OFTEN, _DRIFT = 0.65, 0.01
"""Parts of a register's step: up to that every step is seen; so far others may miss whole steps."""
_FEWEST_IN_LINE, _MOST_IN_LINE = 3, 64
Rows = NDArray[np.intp]
Energies = NDArray[np.float64]


@rule("GK321", "load-unlike-energy", clauses=("M11", "M14", "M23"), since="2026.1")
def check(bundle: Bundle, rules: Ruleset) -> Iterator[Finding]:
    """Compare the load's length by its marks with that by its energy."""
    only_on_gpu(bundle, "the energy of a GPU")

    def judge(run: MeasuredRun) -> Iterator[Finding]:
        registers = registers_of(run.device)
        if registers is None:
            return
        for file, column in ((ENERGY.file, "energy_mj"), (POWER.file, "power_instant_mw")):
            if column not in run.table(file):
                raise Unproven(f"{file} lacks {column}, which tells how long the load lasted")
        period_ms = run.sampling_periods_ns.get(ENERGY.file, 0) * 1e-6
        if _beats(period_ms, registers.average_power_step_ms):
            raise Unproven(f"{ENERGY.file} was read every {period_ms:g} ms, which beats with the "
                           f"register's {registers.average_power_step_ms} ms")  # fmt: skip
        counter = _steps(run.table(ENERGY.file))
        yield from each(_rest(run, counter, rules), _length(run, counter, rules))

    yield from judge_runs(bundle, judge)


def _beats(period_ms: float, step_ms: int) -> bool:
    """Whether readings drift through the register's steps, so that two seconds hold one too many.

    At 190 or 210 ms of 100 a simulated line was 5 % off; at whole steps, or at several readings
    each, none was.
    """
    whole = max(1, round(period_ms / step_ms)) * step_ms
    return period_ms > _OFTEN * step_ms and abs(period_ms - whole) > _DRIFT * step_ms


def _length(run: MeasuredRun, counter: Table, rules: Ruleset) -> Iterator[Finding]:
    phases, start_ns = run.document.phases, run.document.timing.start.after_ns
    end_ns, rest_ns = phases.cool_down_start_ns, _ns(rules.minimum_idle_s)
    # A second at rest each: not up to the first launch, where marks that were moved may have let
    # load in.
    before = phases.idle_start_ns, min(phases.idle_end_ns, phases.idle_start_ns + rest_ns)
    after = end_ns + _ns(rules.load_falls_s), end_ns + _ns(rules.load_falls_s) + rest_ns
    under = _within(counter, start_ns + _ns(rules.load_rises_s), end_ns - _ns(rules.load_tail_s))
    last, first = _within(counter, *before)[-1:], _within(counter, *after)[:1]
    power = run.table(POWER.file)
    rest_mw, later_mw = level(power, *before).power_mw, level(power, *after).power_mw
    if rest_mw is None or later_mw is None:
        raise Unproven("no power sample in the idle phase or behind the load")
    if len(under) < _FEWEST_UNDER_LOAD or not len(last) or not len(first):
        raise Unproven(f"{ENERGY.file} steps too seldom to tell how long the load lasted")
    early, late = (
        _line(counter, _near(counter, rows, rules.load_near_s)) for rows in (under, under[::-1])
    )
    over_rest = min(early.slope_mw, late.slope_mw) / max(1.0, min(rest_mw, later_mw)) - 1
    if over_rest < rules.load_energy_share:
        raise Unproven("the device draws little more under the load than at rest")
    if over_rest < rules.load_share and later_mw > (1 + rules.rest_later_more) * rest_mw:
        raise Unproven("the device draws more behind the load than before it")
    rest_over_load = max(early.rest_over_load(rest_mw), late.rest_over_load(later_mw))
    most = 1 / rules.load_energy_share
    if rest_over_load > most and over_rest < rules.load_share:
        raise Unproven("the device draws as much on one side of the load as under it")
    rises_s = -early.load_s(counter, last[0], rest_mw)
    falls_s = late.load_s(counter, first[0], later_mw)
    found_s = rises_s + (late.t_ns - early.t_ns) * 1e-9 + falls_s
    allowed_s = rules.load_length_s + rules.load_rest_difference * min(rest_over_load, most)
    marked_s = (end_ns - start_ns) * 1e-9
    if abs(found_s - marked_s) > allowed_s:
        yield _unlike(run, found_s, f"{marked_s:.3f} s, as by its marks, within {allowed_s:.2f} s")
    elif run.document.timing.method == "cuda_events":
        # By the device's own timer.
        worked_ns = device_span_ns(run.table(WINDOWS.file)) + run.slope_ns(rules.slope_spans)
        worked_s = worked_ns * 1e-9
        allowed_s += rules.anchor_skew * worked_s
        if abs(found_s - worked_s) > allowed_s:
            required = f"{worked_s:.3f} s, as by windows and slope, within {allowed_s:.2f} s"
            yield _unlike(run, found_s, required)


def _rest(run: MeasuredRun, counter: Table, rules: Ruleset) -> Iterator[Finding]:
    """A device that is said to draw at rest what it draws under load hides where the load ends."""
    phases, power = run.document.phases, run.table(POWER.file)
    idle = phases.idle_start_ns, phases.idle_end_ns
    rest_mw, rows = level(power, *idle).power_mw, _within(counter, *idle)
    if rest_mw is None or len(rows) < _FEWEST_IN_LINE:
        raise Unproven(f"{ENERGY.file} steps too seldom to tell the power at rest")
    place = run.at("column power_instant_mw in the idle phase", POWER.file)
    beyond_mw = _line(counter, rows, _told_mj(power, counter)).slope_mw
    if abs(beyond_mw) > rules.rest_energy_difference * rest_mw:
        counted_mw = rest_mw + beyond_mw
        required = (
            f"{counted_mw:.0f} mW within {rules.rest_energy_difference:.0%}, by {ENERGY.file}"
        )
        yield Finding(place, f"{rest_mw:.0f} mW", required)
    limit_mw = run.document.limits_before.power_default_mw
    if limit_mw and rest_mw > rules.rest_limit_share * limit_mw:
        required = f"at most {rules.rest_limit_share:.0%} of the {limit_mw} mW that it may draw"
        yield Finding(place, f"{rest_mw:.0f} mW at rest", required)


def _told_mj(power: Table, counter: Table) -> Energies:
    """What the power register alone would have counted at each of the counter's steps."""
    t_ns, drawn_mw = power["t_ns"], power["power_instant_mw"]
    spent_mj = np.append(0, np.cumsum(drawn_mw[:-1] * np.diff(t_ns))) * 1e-9
    return np.interp(counter["t_ns"], t_ns, spent_mj)


def _unlike(run: MeasuredRun, found_s: float, required: str) -> Finding:
    place = run.at("column energy_mj", ENERGY.file)
    return Finding(place, f"energy for {found_s:.3f} s of load", required)


def _steps(energy: Table) -> Table:
    """The rows in which the counter shows another value than in the row before."""
    changed = np.diff(energy["energy_mj"]) != 0
    return energy.rows(np.append(False, changed))


def _within(counter: Table, start_ns: int, end_ns: int) -> Rows:
    return np.arange(len(counter))[rows_within(counter, start_ns, end_ns)]


def _near(counter: Table, under: Rows, seconds: float) -> Rows:
    """The first of these steps, or the last ones in the order of `under`, over so many seconds."""
    away_ns = np.abs(counter["t_ns"][under] - counter["t_ns"][under[0]])
    close = under[away_ns <= _ns(seconds)]
    return close if len(close) >= _FEWEST_IN_LINE else under[:_FEWEST_IN_LINE]


@dataclass(frozen=True, slots=True)
class _Line:
    """The counter under load: what it would show at the step `t_ns`, and the mean power there."""

    t_ns: int
    energy_mj: float
    slope_mw: float

    def rest_over_load(self, rest_mw: float) -> float:
        """The power at rest over what the load draws beyond it; infinite where that is nothing."""
        beyond_mw = self.slope_mw - rest_mw
        return rest_mw / beyond_mw if beyond_mw > 0 else math.inf

    def load_s(self, counter: Table, step: int, rest_mw: float) -> float:
        """How long the load lasts from here to that step, at rest; negative if that lies behind."""
        spent_mj = float(counter["energy_mj"][step]) - self.energy_mj
        seconds = (int(counter["t_ns"][step]) - self.t_ns) * 1e-9
        return (spent_mj - rest_mw * seconds) / max(1.0, self.slope_mw - rest_mw)


def _line(counter: Table, rows: Rows, told_mj: Energies | None = None) -> _Line:
    """The line through the steps by the medians of Theil and Sen, from the first of them on.

    Through what they show beyond `told_mj`, where that is given.

    The register skips a step now and then, or is ahead: by 90 ms of load for two steps of 0.2 s in
    one of 92 H200 tests, which no line by least squares survives.
    """
    rows = rows[:: math.ceil(len(rows) / _MOST_IN_LINE)]  # each is held against every other one
    t_ns = int(counter["t_ns"][rows[0]])
    seconds = (counter["t_ns"][rows] - t_ns) * 1e-9
    energy_mj = counter["energy_mj"][rows].astype(np.float64)
    if told_mj is not None:
        energy_mj -= told_mj[rows]
    one, other = np.triu_indices(len(rows), 1)
    slopes_mw = (energy_mj[other] - energy_mj[one]) / (seconds[other] - seconds[one])
    slope_mw = float(np.median(slopes_mw))
    return _Line(t_ns, float(np.median(energy_mj - slope_mw * seconds)), slope_mw)


def _ns(seconds: float) -> int:
    return round(seconds * 1e9)
