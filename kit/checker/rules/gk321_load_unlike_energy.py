"""The energy that the load took is that of another time.

## What it checks
Where the registers of the GPU are known and the load draws clearly more than the device at rest:
what the energy counter grew by beyond the device at rest, over what the load draws beyond it, is
the time from the first launch to the cool-down, within the edition's seconds. Each power is the
slope of a straight line through the counter's steps; at rest it is the mean of that in the idle
phase and that after the load. Without `energy_mj`, or where it steps too seldom, this is unproven.

## Why it matters
Windows that were shortened leave time over, which has to lie somewhere. Marks can be moved; the
counter has gone on.

## How to fix
Measure again; nothing but a changed file does this.

## Clause
M11 (durations), M14 (power during execution), M23 (the idle state before and after).

## Example
Passes: energy for 13.47 s of load, 13.43 s between the marks.
Fails: the same energy, and marks that were moved together by 0.3 s.
"""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from kit.bundle.reader import Bundle
from kit.checker.rule import Finding, Unproven, rule
from kit.checker.runs import MeasuredRun, judge_runs, only_on_gpu
from kit.gpu_registers import registers_of
from kit.ruleset import Ruleset
from kit.trace import ENERGY, Table

_FEWEST_STEPS = 2


@rule("GK321", "load-unlike-energy", clauses=("M11", "M14", "M23"), since="2026.1")
def check(bundle: Bundle, rules: Ruleset) -> Iterator[Finding]:
    """Compare the load's length by its marks with that by its energy."""
    only_on_gpu(bundle, "the energy of a GPU")

    def judge(run: MeasuredRun) -> Iterator[Finding]:
        if registers_of(run.device) is None:
            return
        energy = run.table(ENERGY.file)
        if "energy_mj" not in energy:
            raise Unproven(f"{ENERGY.file} lacks energy_mj, which tells how long the load lasted")
        yield from _length(run, _steps(energy), rules)

    yield from judge_runs(bundle, judge)


def _length(run: MeasuredRun, counter: Table, rules: Ruleset) -> Iterator[Finding]:
    phases, start = run.document.phases, run.document.timing.start
    end_ns, at_ns = phases.cool_down_start_ns, counter["t_ns"]
    rises_ns, tail_ns = (round(s * 1e9) for s in (rules.load_rises_s, rules.load_tail_s))
    # A second at rest each: not up to the first launch, where marks that were moved may have let
    # load in, nor on to where outputs are sampled.
    rest_ns = round(rules.minimum_idle_s * 1e9)
    idle_ns, fallen_ns = phases.idle_start_ns, end_ns + round(rules.load_falls_s * 1e9)
    before = np.flatnonzero((at_ns >= idle_ns) & (at_ns < idle_ns + rest_ns))
    under = np.flatnonzero((at_ns >= start.after_ns + rises_ns) & (at_ns < end_ns - tail_ns))
    after = np.flatnonzero((at_ns >= fallen_ns) & (at_ns < fallen_ns + rest_ns))
    if min(map(len, (before, under, after))) < _FEWEST_STEPS:
        raise Unproven(f"{ENERGY.file} steps too seldom to tell how long the load lasted")
    rest_w = (_watts(counter, before) + _watts(counter, after)) / 2
    load_w = _watts(counter, under)
    if load_w < (1 + rules.power_edge_share) * rest_w:
        return
    first, last = before[-1], after[-1]
    spent_j = (counter["energy_mj"][last] - counter["energy_mj"][first]) * 1e-3
    rested_j = rest_w * (at_ns[last] - at_ns[first]) * 1e-9
    found_s = (spent_j - rested_j) / (load_w - rest_w)
    wanted_s = (end_ns - start.after_ns) * 1e-9
    if abs(found_s - wanted_s) > rules.load_length_s:
        required = f"{wanted_s:.3f} s, as by its marks, within {rules.load_length_s:g} s"
        place = run.at("column energy_mj", ENERGY.file)
        yield Finding(place, f"energy for {found_s:.3f} s of load", required)


def _steps(energy: Table) -> Table:
    """The rows in which the counter shows another value than in the row before."""
    changed = np.diff(energy["energy_mj"]) != 0
    return energy.rows(np.append(False, changed))


def _watts(counter: Table, rows: NDArray[np.intp]) -> float:
    """Mean power, by a straight line: the register skips a step now and then."""
    seconds = (counter["t_ns"][rows] - counter["t_ns"][rows[0]]) * 1e-9
    return float(np.polyfit(seconds, counter["energy_mj"][rows] * 1e-3, 1)[0])
