"""Launches do not go round the buffer sets in order.

## What it checks
The windows number their launches without a gap from 0, and hold whole calls. A `single` call is one
GEMM; an `unrolled` call covers a share of the sets that divides them, so that launch i uses set i
modulo their number. Over the profiling windows no set was used more than once oftener than another.

## Why it matters
Only a full round between two uses of a set drives its operands out of the cache.

## How to fix
Measure again; the kit's launch counter runs on from warm-up into profiling.

## Clause
M25: rotate circularly, changing the buffers after each iteration.

## Example
Passes: windows that begin at launch 0, 100, 200 and so on.
Fails: the second window begins at launch 101.
"""

from collections.abc import Iterator

import numpy as np

from kit.bundle.reader import Bundle
from kit.checker.rule import Finding, rule
from kit.checker.runs import MeasuredRun, judge_runs
from kit.rotation import uses_per_set
from kit.ruleset import Ruleset
from kit.trace import WINDOWS


@rule("GK308", "rotation-order-broken", clauses=("M25",), since="2026.1")
def check(bundle: Bundle, _rules: Ruleset) -> Iterator[Finding]:
    """Follow the launch numbers through the windows."""

    def judge(run: MeasuredRun) -> Iterator[Finding]:
        yield from _calls(run)
        windows = run.table(WINDOWS.file)
        first, launches = windows["first_launch"], windows["launches"]
        expected = np.cumsum(launches) - launches
        if (first != expected).any():
            row = int(np.argmax(first != expected))
            place = run.at(f"row {row + 1}: first_launch", WINDOWS.file)
            yield Finding(place, str(first[row]), f"{expected[row]}, right after the window before")
        gemms = run.document.executable.gemms_per_call
        if gemms > 0 and (launches % gemms).any():
            row = int(np.argmax(launches % gemms != 0))
            place = run.at(f"row {row + 1}: launches", WINDOWS.file)
            yield Finding(place, str(launches[row]), f"whole calls of {gemms}")
        profiling = run.profiling_windows()
        sets = run.document.rotation.sets
        least, most = uses_per_set(profiling["first_launch"], profiling["launches"], sets)
        if most - least > 1:
            place = run.at("profiling rows", WINDOWS.file)
            yield Finding(
                place, f"sets used {least} to {most} times", "every set as often, or once more"
            )

    yield from judge_runs(bundle, judge)


def _calls(run: MeasuredRun) -> Iterator[Finding]:
    mode, sets = run.document.dispatch.mode, run.document.rotation.sets
    gemms = run.document.executable.gemms_per_call
    place = run.at("executable.gemms_per_call")
    if mode == "single" and gemms != 1:
        yield Finding(place, str(gemms), "1 for dispatch mode single")
    if mode == "unrolled" and (gemms < 1 or sets % gemms):
        yield Finding(place, str(gemms), f"a divisor of {sets} sets")
    if mode == "device_loop" and (gemms < 1 or gemms % sets):
        yield Finding(place, str(gemms), f"a multiple of {sets} sets")
