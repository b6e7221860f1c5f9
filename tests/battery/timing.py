"""Times made shorter, fewer, other ones: windows, anchors, controls."""

from dataclasses import replace

import numpy as np

from battery.bases import CLOSED
from battery.forging import (
    columns,
    controls,
    controls_fit,
    counts_fit,
    document,
    end_fits,
    kernels,
    lasting,
    profiled,
    rows,
    runs,
    scaled,
    table,
    time_line,
)
from battery.registry import manipulation
from bundles import with_plan
from kit.evidence import Anchor
from kit.timeline import window_edges
from kit.trace import ENERGY, POWER, WINDOWS, Table

FASTER = {"x0.9": {"factor": 0.9}, "x0.97": {"factor": 0.97}}
COUNTED_NS = (
    "sw_power_cap_ns",
    "sync_boost_ns",
    "sw_thermal_ns",
    "hw_thermal_ns",
    "hw_power_brake_ns",
)


def durations(run):
    return run.tables[WINDOWS.file]["duration_ns"]


@manipulation("GK309", "M11", variants=FASTER | {"x1.1": {"factor": 1.1}})
def profiling_durations_scaled(bundle, factor):
    """Profiling windows and controls shortened; the anchors still span the true time."""

    def change(run):
        profiling = profiled(run.tables[WINDOWS.file])
        run = columns(WINDOWS.file, duration_ns=lambda d: np.where(profiling, d * factor, d))(run)
        return controls(run, factor)

    return runs(bundle, change, kernels(factor))


@manipulation("GK309", "M11", variants=FASTER)
def profiling_durations_scaled_alone(bundle, factor):
    """Profiling windows shortened and nothing else."""

    def change(run):
        profiling = profiled(run.tables[WINDOWS.file])
        return columns(WINDOWS.file, duration_ns=lambda d: np.where(profiling, d * factor, d))(run)

    return runs(bundle, change)


@manipulation("GK309", "M11", variants=FASTER)
def all_windows_scaled(bundle, factor):
    """All windows and the controls shortened, anchors kept."""
    return runs(bundle, lambda run: lasting(run, durations(run) * factor), kernels(factor))


def _shorter(factor, kernel=None):
    def change(run):
        return end_fits(lasting(run, durations(run) * factor), run)

    return change, kernels(factor if kernel is None else kernel)


@manipulation(
    {"x0.9": "GK315", "x0.94": "GK318"},
    "M11",
    variants={"x0.9": {"factor": 0.9}, "x0.94": {"factor": 0.94}},
)
def windows_and_end_scaled_but_not_the_trace(bundle, factor):
    """All windows, controls and the end anchor shortened; the kernel trace tells the true time."""
    return runs(bundle, *_shorter(factor, 1.0))


@manipulation("GK318", "M23", variants=FASTER)
def windows_trace_and_end_scaled(bundle, factor):
    """All windows, controls, end anchor and kernel trace shortened; telemetry shows load after."""
    return runs(bundle, *_shorter(factor))


@manipulation("GK318", "M23", variants=FASTER)
def windows_trace_end_and_cool_down_scaled(bundle, factor):
    """As before, and the cool-down begins right after the earlier end."""

    def change(run):
        shorter = end_fits(lasting(run, durations(run) * factor), run)
        shift = shorter.document.timing.end.after_ns - run.document.timing.end.after_ns
        return document(phases__cool_down_start_ns=lambda ns: ns + shift)(shorter)

    return runs(bundle, change, kernels(factor))


def _surplus_on_warm_up(run, factor):
    windows = run.tables[WINDOWS.file]
    profiling = profiled(windows)
    lasted = windows["duration_ns"].astype(float)
    surplus = lasted[profiling].sum() * (1 - factor)
    longer = 1 + surplus / lasted[~profiling].sum()
    return lasting(run, np.where(profiling, lasted * factor, lasted * longer))


@manipulation("GK317", "M11", variants=FASTER)
def surplus_on_warm_up(bundle, factor):
    """Profiling shortened with its controls and trace, the warm-up lengthened by as much."""
    return runs(bundle, lambda run: _surplus_on_warm_up(run, factor), kernels(factor))


@manipulation("GK317", "M11", base="closed", variants=FASTER)
def surplus_on_the_first_window(bundle, factor):
    """All windows shortened with their controls and trace, the first lengthened by as much."""

    def change(run):
        lasted = run.tables[WINDOWS.file]["duration_ns"]
        shorter = lasted * factor
        shorter[0] += lasted.sum() * (1 - factor)
        return lasting(run, shorter)

    return runs(bundle, change, kernels(factor))


@manipulation(
    {"x0.9": "GK315", "x0.94": "GK317"},
    "M11",
    variants={"x0.9": {"factor": 0.9}, "x0.94": {"factor": 0.94}},
)
def surplus_on_warm_up_but_not_the_trace(bundle, factor):
    """Profiling shortened with its controls, the warm-up lengthened, the kernel trace kept."""
    return runs(bundle, lambda run: _surplus_on_warm_up(run, factor))


@manipulation("GK317", "M11", variants={"x0.97": {"factor": 0.97}})
def surplus_on_warm_up_dlpack_edited(bundle, factor):
    """Profiling shortened by what the host slope's tolerance leaves, surplus on the warm-up."""

    def change(run):
        slope = [c for c in run.document.timing.controls if c.name == "host_slope"]
        run = _surplus_on_warm_up(run, factor)
        kept = tuple(c for c in run.document.timing.controls if c.name != "host_slope")
        return document(timing__controls=(*kept, *slope))(run)

    return runs(bundle, change, kernels(factor))


@manipulation("GK309", "M11", variants={"1ns": {"lasted": 1}, "99ms": {"lasted": 99_000_000}})
def slope_emptied(bundle, lasted):
    """The host slope lasted too little to be judged."""

    def empty(found):
        return tuple(replace(c, duration_ns=lasted) if c.name == "host_slope" else c for c in found)

    return runs(bundle, document(timing__controls=empty))


@manipulation("GK309", "M11")
def anchors_wide(bundle):
    """Anchors 49.9 ms wide, whose slack is taken out of the profiling windows."""
    width = 49_900_000

    def change(run):
        windows, timing = run.tables[WINDOWS.file], run.document.timing
        profiling, lasted = profiled(windows), windows["duration_ns"].astype(float)
        cut = 0.0019 * lasted.sum() + 1.95 * width
        factor = 1 - cut / lasted[profiling].sum()
        run = columns(WINDOWS.file, duration_ns=np.where(profiling, factor, 1.0).__mul__)(run)
        start = (timing.start.before_ns + timing.start.after_ns) // 2
        end = (timing.end.before_ns + timing.end.after_ns) // 2
        opens = start + width // 2
        run = document(
            timing__start=Anchor(start - width // 2, opens),
            timing__end=Anchor(end - width // 2, end + width // 2),
            phases__idle_end_ns=lambda ns: min(ns, start - width // 2),
            phases__cool_down_start_ns=lambda ns: max(ns, end + width // 2),
        )(run)
        late = {n: lambda v: np.maximum(v, opens) for n in ("enqueue_start_ns", "enqueue_end_ns")}
        return kernels(factor)(controls(columns(WINDOWS.file, **late)(run), factor))

    return runs(bundle, change)


@manipulation("GK318", "M12", variants=FASTER)
def whole_time_line_scaled(bundle, factor):
    """Every host time, window, counter and trace of a run runs at another pace."""

    def change(run):
        start = run.document.started_ns
        run = time_line(lambda ns: round(start + (ns - start) * factor))(run)
        run = columns(WINDOWS.file, duration_ns=lambda d: d * factor)(run)
        run = scaled(POWER.file, factor, *COUNTED_NS)(scaled(ENERGY.file, factor, "energy_mj")(run))
        phases = run.document.phases
        least = max(phases.cool_down_end_ns, phases.cool_down_start_ns + 1_003_000_000)
        run = document(
            phases__cool_down_end_ns=least,
            ended_ns=lambda ns: max(ns, least + 100_000_000),
        )(run)
        return controls(run, factor)

    return runs(bundle, change, kernels(factor))


def _more_launches(bundle, factor):
    def change(run):
        per_call = run.document.executable.gemms_per_call
        run = columns(
            WINDOWS.file,
            launches=lambda n: np.maximum(1, np.rint(n * factor / per_call)) * per_call,
        )(run)
        run = document(
            timing__controls=lambda found: tuple(
                replace(c, launches=round(c.launches * factor)) for c in found
            )
        )(run)
        run = controls_fit(counts_fit(run))
        return document(dispatch__pilot_period_ns=lambda ns: max(1, round(ns / factor)))(run)

    return runs(bundle, change, kernels(1 / factor))


@manipulation("GK305", "M01")
def launches_inflated(bundle):
    """1.11 times the launches in the same time, with counts, controls and trace to match."""
    return _more_launches(bundle, 1.11)


@manipulation("GK502", "M18", variants={"x1.1": {"factor": 1.1}})
def everything_inflated_consistently(bundle, factor):
    """More launches in the same time, as the plan asks, handed over by the host that much later."""
    least = bundle.plan.phases.profiling_min_launches
    bundle = with_plan(bundle, phases__profiling_min_launches=round(least * factor))

    def later(run):
        edges = window_edges(run.document.timing, run.tables[WINDOWS.file])
        first = run.document.timing.start.after_ns
        return columns(
            WINDOWS.file,
            enqueue_start_ns=lambda v: np.maximum(edges[:-1] - (edges[:-1] - v) / factor, first),
            enqueue_end_ns=lambda v: np.maximum(edges[1:] - (edges[1:] - v) / factor, first),
        )(run)

    return runs(_more_launches(bundle, factor), later)


@manipulation("GK502", "M18", variants={"x1.2": {"factor": 1.2}, "x10": {"factor": 10}})
def launches_inflated_beyond_light(bundle, factor):
    """More launches in the same time than the hardware can do."""
    return _more_launches(bundle, factor)


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


@manipulation("GK309", "M11", variants={"start": {"name": "start"}, "end": {"name": "end"}})
def anchor_moved(bundle, name):
    """One drained moment is moved by half a second towards the other."""
    shift = 500_000_000 if name == "start" else -500_000_000

    def change(run):
        found = getattr(run.document.timing, name)
        moved = Anchor(found.before_ns + shift, found.after_ns + shift)
        return document(**{f"timing__{name}": moved})(run)

    return runs(bundle, change)


@manipulation("GK309", "M11", variants={"start": {"name": "start"}, "end": {"name": "end"}})
def anchor_inside_out(bundle, name):
    """A drained moment ends before it begins."""

    def change(run):
        found = getattr(run.document.timing, name)
        return document(**{f"timing__{name}": Anchor(found.after_ns, found.before_ns)})(run)

    return runs(bundle, change)


@manipulation(
    "GK309",
    "M11",
    base="closed",
    variants={"dlpack": {"name": "dlpack_events"}, "slope": {"name": "host_slope"}},
)
def control_left_out(bundle, name):
    """An independent timing is not handed over."""
    return runs(
        bundle, document(timing__controls=lambda found: tuple(c for c in found if c.name != name))
    )


@manipulation(
    "GK309",
    "M11",
    variants={
        "dlpack-x0.9": {"name": "dlpack_events", "factor": 0.9},
        "dlpack-x1.01": {"name": "dlpack_events", "factor": 1.01},
        "slope-x0.9": {"name": "host_slope", "factor": 0.9},
        "slope-x1.1": {"name": "host_slope", "factor": 1.1},
    },
)
def control_of_other_launches(bundle, name, factor):
    """A control comes from launches of another speed."""

    def fast(control):
        return replace(control, duration_ns=round(control.duration_ns * factor))

    return runs(
        bundle,
        document(
            timing__controls=lambda found: tuple(fast(c) if c.name == name else c for c in found)
        ),
    )


@manipulation("GK309", "M11")
def control_covers_half_of_profiling(bundle):
    """The DLPack control spans half of the launches, its time halved too."""

    def half(control):
        return replace(
            control, launches=control.launches // 2, duration_ns=control.duration_ns // 2
        )

    return runs(
        bundle,
        document(
            timing__controls=lambda found: tuple(
                half(c) if c.name == "dlpack_events" else c for c in found
            )
        ),
    )


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


@manipulation("GK302", "M02", base="cpu")
def host_clock_called_events(bundle):
    """A CPU host's clock is called CUDA events."""
    bundle = with_plan(bundle, timing__method="cuda_events")
    return runs(bundle, document(timing__method="cuda_events", loops__drains=0))


@manipulation(
    "GK302",
    "M02",
    variants={
        "host_clock": {"method": "host_clock"},
        "external": {"method": "external_profiler"},
    },
)
def method_other_than_planned(bundle, method):
    """The run was timed in another way than the plan says."""
    return runs(bundle, document(timing__method=method))


@manipulation("GK302", "M02", base="closed")
def host_clock_in_the_closed_division(bundle):
    """Windows were timed by the host, and the plan says so."""
    bundle = with_plan(bundle, timing__method="host_clock")

    def change(run):
        windows = len(run.tables[WINDOWS.file])
        return document(timing__method="host_clock", loops__drains=windows)(run)

    return runs(bundle, change)


@manipulation("GK318", "M12")
def telemetry_cut_to_fit(bundle):
    """Windows at 0.9, and the surplus is cut out of the middle of every telemetry table."""

    def change(run):
        shorter = end_fits(lasting(run, durations(run) * 0.9), run)
        lost = run.document.timing.end.after_ns - shorter.document.timing.end.after_ns
        lost += -lost % 200_000_000
        middle = int(window_edges(run.document.timing, run.tables[WINDOWS.file])[-1]) - 10**9 - lost
        for file in ("clocks.csv", POWER.file, ENERGY.file):
            shorter = table(file, lambda found: _cut(found, middle, lost))(shorter)
        back = {
            f"phases__{n}": lambda ns: ns - lost for n in ("cool_down_start_ns", "cool_down_end_ns")
        }
        return document(**back, ended_ns=lambda ns: ns - lost)(shorter)

    return runs(bundle, change, kernels(0.9))


def _cut(found, at_ns, lost_ns):
    first = int(np.searchsorted(found["t_ns"], at_ns))
    last = int(np.searchsorted(found["t_ns"], at_ns + lost_ns))
    new = {}
    for name, values in found.columns.items():
        new[name] = np.concatenate([values[:first], values[last:]])
        if name == "t_ns":
            new[name][first:] -= lost_ns
        elif name in (*COUNTED_NS, "energy_mj"):
            new[name][first:] -= values[last] - values[first]
    return Table(new)
