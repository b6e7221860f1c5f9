"""One GEMM took another number of clock cycles while profiling than just before.

## What it checks
Mean period times mean graphics clock is the cycles of one GEMM. Those of the profiling windows are
those of the warm-up after its first second, within the edition's fraction. A kernel that waits for
memory keeps its time instead of its cycles, so whatever lies between both laws is allowed; but a
clock that rose explains no more than the edition's part of a shorter period: what heats up gets no
faster than a capped clock wanders. The first second, in which the device wakes up, takes no more
than either law and the edition's part allow, and none of its windows more than the edition's
multiple of the mean period. Where the host limits the launches (GK305) the difference is a warning.

## Why it matters
The same program on the same operands needs the same cycles, whatever power and heat do to the
clock. Windows that were shortened in profiling, or lengthened in the warm-up to make up for it, do
not.

## How to fix
Measure again; nothing but a changed file, or a host that limits the launches, does this.

## Clause
M11 (durations), M12 (the GPC frequency that belongs to them).

## Example
Passes: 4,688,000 cycles in the warm-up, 4,679,000 in profiling.
Fails: profiling windows at 0.9 of their time, the rest of it added to the warm-up, or to its first
window.
"""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from kit.bundle.reader import Bundle
from kit.checker.rule import Finding, Severity, Unproven, rule
from kit.checker.runs import MeasuredRun, judge_runs, only_on_gpu
from kit.metrics import time_mean
from kit.ruleset import Ruleset
from kit.timeline import mean_period_ns, profiling_lead_ns, window_edges
from kit.trace import CLOCKS, PROFILING, WARM_UP, WINDOWS


@rule("GK317", "cycles-differ", clauses=("M11", "M12"), since="2026.1")
def check(bundle: Bundle, rules: Ruleset) -> Iterator[Finding]:
    """Compare the cycles of warm-up and profiling."""
    only_on_gpu(bundle, "cycles of a sampled GPC clock")

    def judge(run: MeasuredRun) -> Iterator[Finding]:
        run.profiling_windows()
        windows = run.table(WINDOWS.file)
        edges = window_edges(run.document.timing, windows)
        settled = edges[:-1] >= edges[0] + round(rules.cycles_after_s * 1e9)
        yield from _first_second(run, ~settled & (windows["phase"] == WARM_UP), rules)
        warm = _stretch(run, (windows["phase"] == WARM_UP) & settled, rules)
        profiling = _stretch(run, windows["phase"] == PROFILING, rules)
        slower = profiling[0] / warm[0]
        # By cycles the period moves against the clock, by memory it stays.
        clock = warm[1] / profiling[1]
        low, high = max(min(1.0, clock), 1 - rules.cycles_rise), max(1.0, clock)
        slack = rules.cycles_difference + rules.cycles_gap_ns / warm[0]
        if not low * (1 - slack) <= slower <= high * (1 + slack):
            cycles = (profiling[0] * profiling[1] / 1000, warm[0] * warm[1] / 1000)
            yield Finding(
                run.at("mean period of the profiling rows", WINDOWS.file),
                f"{profiling[0]:.6g} ns at {profiling[1]:.0f} MHz, {cycles[0]:.6g} cycles",
                f"near {warm[0]:.6g} ns at {warm[1]:.0f} MHz, {cycles[1]:.6g} cycles, as before",
                _severity(run, rules),
            )

    yield from judge_runs(bundle, judge)


def _first_second(run: MeasuredRun, rows: NDArray[np.bool_], rules: Ruleset) -> Iterator[Finding]:
    """Time that was taken off later windows must not lie where the device wakes up."""
    windows = run.table(WINDOWS.file)
    early = windows.rows(rows)
    if not len(early):
        return
    profiling_ns = mean_period_ns(run.profiling_windows())
    periods_ns = early["duration_ns"] / early["launches"]
    most_ns = rules.early_window * profiling_ns + rules.cycles_gap_ns
    row = int(np.argmax(periods_ns))
    if periods_ns[row] > most_ns:
        required = f"at most {most_ns:.6g} ns, {rules.early_window:g} times the profiling period"
        place = run.at(f"row {int(np.flatnonzero(rows)[row]) + 1}", WINDOWS.file)
        found = f"{periods_ns[row]:.6g} ns per launch"
        yield Finding(place, found, required, _severity(run, rules))
    edges, clocks = window_edges(run.document.timing, windows), run.table(CLOCKS.file)
    end_ns = int(edges[np.flatnonzero(rows)[-1] + 1])
    first_mhz = time_mean(clocks, "graphics_mhz", int(edges[0]), end_ns)
    later_mhz = time_mean(clocks, "graphics_mhz", *run.profiling_interval())
    if not first_mhz or not later_mhz:
        return
    early_ns = mean_period_ns(early)
    by_clock = max(1.0, later_mhz / first_mhz)
    most_ns = profiling_ns * by_clock * (1 + rules.early_difference) + rules.cycles_gap_ns
    if early_ns > most_ns:
        place = run.at("mean period of the first second", WINDOWS.file)
        found = f"{early_ns:.6g} ns at {first_mhz:.0f} MHz"
        required = f"at most {most_ns:.6g} ns, by {profiling_ns:.6g} ns at {later_mhz:.0f} MHz"
        yield Finding(place, found, required, _severity(run, rules))


def _stretch(run: MeasuredRun, rows: NDArray[np.bool_], rules: Ruleset) -> tuple[float, float]:
    """Mean period in ns and mean clock in MHz over a stretch of windows.

    Raises:
        Unproven: it is too short, or the clock was not sampled in it.
    """
    windows = run.table(WINDOWS.file)
    places = np.flatnonzero(rows)
    edges = window_edges(run.document.timing, windows)
    least_ns = round(rules.cycles_stretch_s * 1e9)
    if not len(places) or edges[places[-1] + 1] - edges[places[0]] < least_ns:
        raise Unproven("warm-up after its first second or profiling is shorter than a second")
    start_ns, end_ns = int(edges[places[0]]), int(edges[places[-1] + 1])
    clock_mhz = time_mean(run.table(CLOCKS.file), "graphics_mhz", start_ns, end_ns)
    if not clock_mhz:
        raise Unproven("the graphics clock was not sampled over warm-up and profiling")
    return mean_period_ns(windows.rows(rows)), clock_mhz


def _severity(run: MeasuredRun, rules: Ruleset) -> Severity:
    """Only a device that waits for its host may take any time it likes."""
    windows = run.table(WINDOWS.file)
    period_ns = mean_period_ns(run.profiling_windows())
    lead_ns = profiling_lead_ns(run.document.timing, windows)
    waits = lead_ns < rules.launches_ahead * period_ns
    return "warn" if waits else "fail"
