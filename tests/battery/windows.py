"""Windows chosen, dropped, trimmed, copied, or out of order."""

import numpy as np

from battery.bases import CLOSED
from battery.forging import (
    columns,
    controls_fit,
    counts_fit,
    document,
    durations,
    end_fits,
    kernels,
    lasting,
    profiled,
    rows,
    runs,
    table,
)
from battery.registry import manipulation
from bundles import slope_by_its_windows, with_plan
from honest_gpu import SLOPE_SPANS
from kit.evidence import Anchor
from kit.timeline import mean_period_ns, rows_of_phase, window_edges
from kit.trace import ENERGY, POWER, POWER_COUNTERS_NS, PROFILING, WINDOWS, Table


def _period(windows):
    return windows["duration_ns"] / windows["launches"]


@manipulation("GK317", "M11")
def fastest_windows_sold_as_profiling(bundle):
    """The fastest windows of the whole run stand in profiling, the others in the warm-up."""

    def change(run):
        windows = run.tables[WINDOWS.file]
        profiling, lasted = profiled(windows), windows["duration_ns"]
        order = np.argsort(_period(windows), kind="stable")
        places = np.concatenate([np.flatnonzero(profiling), np.flatnonzero(~profiling)])
        new = np.empty(len(windows))
        new[places] = _period(windows)[order] * windows["launches"][places]
        new[~profiling] += (lasted.sum() - new.sum()) / (~profiling).sum()
        return lasting(run, new)

    return runs(bundle, change)


def _dropped(bundle, keep):
    def change(run):
        shorter = counts_fit(rows(WINDOWS.file, keep)(run))
        return end_fits(controls_fit(shorter), run)

    return runs(bundle, change)


def _slow(windows, share):
    profiling = profiled(windows)
    return profiling & (_period(windows) > np.quantile(_period(windows)[profiling], share))


@manipulation("GK301", "M01", variants={"tenth": {"share": 0.9}, "half": {"share": 0.5}})
def slow_windows_dropped(bundle, share):
    """The slowest profiling windows are left out, the rest closes up."""
    return _dropped(bundle, lambda windows: ~_slow(windows, share))


@manipulation("GK318", "M01")
def slow_windows_dropped_and_planned_so(bundle):
    """The slower half of the windows is left out, and the plan asks for no more than is left."""
    bundle = with_plan(
        bundle, timing__windows=20, phases__profiling_min_launches=1000, phases__profiling_min_s=2.0
    )
    return _dropped(bundle, lambda windows: ~_slow(windows, 0.5))


@manipulation("GK301", "M22")
def best_windows_kept(bundle):
    """The best 16 windows in a row are kept, and the plan asks for ten."""
    bundle = with_plan(
        bundle, timing__windows=10, phases__profiling_min_launches=1000, phases__profiling_min_s=2.0
    )

    def keep(windows):
        first = int(np.flatnonzero(profiled(windows))[0])
        sums = np.convolve(_period(windows)[first:], np.ones(16), "valid")
        best = first + int(np.argmin(sums))
        place = np.arange(len(windows))
        return (place < first) | ((place >= best) & (place < best + 16))

    return _dropped(bundle, keep)


@manipulation("GK309", "M11")
def slow_windows_trimmed(bundle):
    """Profiling windows above the median get the median's time."""

    def change(run):
        windows = run.tables[WINDOWS.file]
        profiling, period = profiled(windows), _period(windows)
        cut = np.where(profiling, np.minimum(period, np.median(period[profiling])), period)
        cut = np.where(profiling, cut * 0.995, cut)
        return lasting(run, cut * windows["launches"])

    return runs(bundle, change)


@manipulation("GK604", "M26", base="closed")
def second_half_of_windows_copies_the_first(bundle):
    """The faster half of profiling stands there twice; the warm-up absorbs the difference."""

    def change(run):
        windows = run.tables[WINDOWS.file]
        places = np.flatnonzero(profiled(windows))
        half = len(places) // 2
        lasted = windows["duration_ns"].astype(float)
        first, second = places[:half], places[half : 2 * half]
        if lasted[first].sum() > lasted[second].sum():
            first, second = second, first
        difference = lasted[second].sum() - lasted[first].sum()
        lasted[second] = lasted[first]
        lasted[~profiled(windows)] += difference / (~profiled(windows)).sum()
        return lasting(run, lasted)

    return runs(bundle, change)


@manipulation("GK311", "M12")
def windows_longer_than_the_run(bundle):
    """Windows add up to more time than the run lasted."""
    return runs(bundle, lambda run: end_fits(lasting(run, durations(run) * 1.6), run))


@manipulation("GK311", "M12")
def enqueues_out_of_order(bundle):
    """Two windows' host marks are exchanged."""

    def swap(values):
        values[[10, 11]] = values[[11, 10]]
        return values

    return runs(bundle, columns(WINDOWS.file, enqueue_start_ns=swap, enqueue_end_ns=swap))


@manipulation("GK311", "M12")
def end_before_its_last_launch(bundle):
    """The last drained moment lies before the last launch was handed over."""

    def change(run):
        last = int(run.tables[WINDOWS.file]["enqueue_start_ns"][-1])
        return document(timing__end=Anchor(last - 2_000_000, last - 1_000_000))(run)

    return runs(bundle, change)


@manipulation("GK310", "M22", base="closed")
def too_few_launches(bundle):
    """Profiling of 900 launches, as a plan of 900 asks for."""
    bundle = with_plan(bundle, phases__profiling_min_launches=900, timing__windows=9)

    def change(run):
        windows = run.tables[WINDOWS.file]
        kept = np.cumsum(np.where(profiled(windows), windows["launches"], 0)) <= 900
        return end_fits(controls_fit(counts_fit(rows(WINDOWS.file, lambda _: kept)(run))), run)

    return runs(bundle, change, case=CLOSED)


@manipulation("GK310", "M22", base="closed")
def too_few_windows(bundle):
    """Profiling is told in five windows, in which slow stretches vanish."""
    bundle = with_plan(bundle, timing__windows=5)

    def joined(windows):
        places = np.flatnonzero(profiled(windows))
        groups = np.concatenate(
            [np.arange(places[0]), places[0] + np.arange(len(places)) * 5 // len(places)]
        )
        starts = np.flatnonzero(np.diff(groups, prepend=-1))
        ends = np.append(starts[1:], len(groups)) - 1
        add = np.add.reduceat
        return Table(
            {
                "phase": windows["phase"][starts],
                "first_launch": windows["first_launch"][starts],
                "launches": add(windows["launches"], starts),
                "duration_ns": add(windows["duration_ns"], starts),
                "enqueue_start_ns": windows["enqueue_start_ns"][starts],
                "enqueue_end_ns": windows["enqueue_end_ns"][ends],
            }
        )

    return runs(bundle, table(WINDOWS.file, joined))


@manipulation("GK310", "M22", base="closed")
def too_short(bundle):
    """Profiling of 1.5 s, below two updates of the average power."""
    bundle = with_plan(bundle, phases__profiling_min_launches=100, phases__profiling_min_s=1.0)

    def change(run):
        windows = run.tables[WINDOWS.file]
        kept = np.cumsum(np.where(profiled(windows), windows["duration_ns"], 0)) <= 1.5e9
        return end_fits(controls_fit(counts_fit(rows(WINDOWS.file, lambda _: kept)(run))), run)

    return runs(bundle, change)


@manipulation("GK318", "M12")
def telemetry_cut_to_fit(bundle):
    """Windows at 0.9, and the surplus is cut out of the middle of every telemetry table."""

    def change(run):
        shorter = end_fits(lasting(run, durations(run) * 0.9), run)
        lost_ns = run.document.timing.end.after_ns - shorter.document.timing.end.after_ns
        return _cut_out(shorter, lost_ns + -lost_ns % 200_000_000)

    return runs(bundle, change, kernels(0.9))


@manipulation("GK414", "M12", base="prefill", variants={"x0.9": {"share": 0.9}})
def telemetry_cut_to_fit_with_its_slope(bundle, share):
    """The same, and the slope is that of the shorter windows: all that was left over is cut out."""

    def lasted_ns(run):
        slope = next(c for c in run.document.timing.controls if c.name == "host_slope")
        period_ns = mean_period_ns(rows_of_phase(run.tables[WINDOWS.file], PROFILING))
        return run.document.timing.end.after_ns + SLOPE_SPANS * slope.launches * period_ns

    def change(run):
        shorter = slope_by_its_windows(end_fits(lasting(run, durations(run) * share), run))
        step_ns = 200_000_000
        return _cut_out(shorter, round((lasted_ns(run) - lasted_ns(shorter)) / step_ns) * step_ns)

    return runs(bundle, change, kernels(share))


def _cut_out(run, lost_ns):
    """The run without so much of its telemetry, a second before the last window's end."""
    at_ns = int(window_edges(run.document.timing, run.tables[WINDOWS.file])[-1]) - 10**9
    for file in ("clocks.csv", POWER.file, ENERGY.file):
        run = table(file, lambda found: _cut(found, at_ns, lost_ns))(run)
    earlier = {
        f"phases__{name}": lambda ns: ns - lost_ns
        for name in ("cool_down_start_ns", "cool_down_end_ns")
    }
    return document(**earlier, ended_ns=lambda ns: ns - lost_ns)(run)


def _cut(found, at_ns, lost_ns):
    first = int(np.searchsorted(found["t_ns"], at_ns))
    last = int(np.searchsorted(found["t_ns"], at_ns + lost_ns))
    new = {}
    for name, values in found.columns.items():
        new[name] = np.concatenate([values[:first], values[last:]])
        if name == "t_ns":
            new[name][first:] -= lost_ns
        elif name in (*POWER_COUNTERS_NS, "energy_mj"):
            new[name][first:] -= values[last] - values[first]
    return Table(new)
