"""Times made shorter, launches made more."""

from dataclasses import replace

import numpy as np

from battery.forging import (
    columns,
    controls,
    controls_fit,
    counts_fit,
    document,
    durations,
    end_fits,
    kernels,
    lasting,
    profiled,
    runs,
    scaled,
    time_line,
)
from battery.registry import manipulation
from bundles import slope_by_its_windows, with_plan
from forgeries import shortened
from honest_gpu import SLOPE_SPANS
from kit.ruleset import CURRENT, ruleset
from kit.timeline import window_edges
from kit.trace import ENERGY, POWER, POWER_COUNTERS_NS, WARM_UP, WINDOWS

RULES = ruleset(CURRENT)
FASTER = {"x0.9": {"factor": 0.9}, "x0.97": {"factor": 0.97}}


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


@manipulation("GK317", "M11", variants={"x0.98": {"factor": 0.98}})
def surplus_on_warm_up_dlpack_edited(bundle, factor):
    """Profiling shortened by what the host slope's tolerance leaves, surplus on the warm-up."""

    def change(run):
        slope = [c for c in run.document.timing.controls if c.name == "host_slope"]
        run = _surplus_on_warm_up(run, factor)
        kept = tuple(c for c in run.document.timing.controls if c.name != "host_slope")
        return document(timing__controls=(*kept, *slope))(run)

    return runs(bundle, change, kernels(factor))


@manipulation({"x0.9": "GK318", "x0.97": "GK401"}, "M12", variants=FASTER)
def whole_time_line_scaled(bundle, factor):
    """Every host time, window, counter and trace of a run runs at another pace."""

    def change(run):
        start = run.document.started_ns
        run = time_line(lambda ns: round(start + (ns - start) * factor))(run)
        run = columns(WINDOWS.file, duration_ns=lambda d: d * factor)(run)
        run = scaled(POWER.file, factor, *POWER_COUNTERS_NS)(
            scaled(ENERGY.file, factor, "energy_mj")(run)
        )
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


@manipulation("GK305", "M05", base="prefill")
def launches_inflated_beyond_what_the_tuner_saw(bundle):
    """Four launches in the time of three, of a kernel that is far from the speed of light."""
    return runs(_more_launches(bundle, 4 / 3), slope_by_its_windows)


@manipulation("GK311", "M22", variants={"x1.05": {"factor": 1.05}, "x1.1": {"factor": 1.1}})
def more_launches_than_planned(bundle, factor):
    """More launches in the same time; a warm-up handed over early makes the plan ask for them."""
    planned_ns = RULES.profiling_margin * bundle.plan.phases.profiling_min_s * 1e9

    def early(run):
        windows, first_ns = run.tables[WINDOWS.file], run.document.timing.start.after_ns
        warm = windows["phase"] == WARM_UP
        spent_ns = (
            planned_ns / run.document.phases.profiling_launches * windows["launches"][warm].sum()
        )
        share = spent_ns / (int(windows["enqueue_end_ns"][warm][-1]) - first_ns)

        def earlier(at_ns):
            return np.where(warm, first_ns + (at_ns - first_ns) * share, at_ns)

        return columns(WINDOWS.file, enqueue_start_ns=earlier, enqueue_end_ns=earlier)(run)

    return runs(_more_launches(bundle, factor), early, slope_by_its_windows)


@manipulation("GK318", "M11", variants={"x0.97": {"share": 0.97}, "x0.9": {"share": 0.9}})
def time_left_over_given_to_the_slope(bundle, share):
    """All windows shortened; the slope is said to have launched as much more as fills the time."""

    def change(run):
        run = controls_fit(shortened(run, share))
        timing, phases = run.document.timing, run.document.phases
        spent_ns = phases.cool_down_start_ns - timing.end.after_ns
        slope = next(c for c in timing.controls if c.name == "host_slope")
        period_ns = slope.duration_ns / slope.launches
        launches = round(spent_ns / SLOPE_SPANS / period_ns)
        longer = replace(slope, launches=launches, duration_ns=round(launches * period_ns))
        return document(
            timing__controls=lambda found: tuple(longer if c is slope else c for c in found)
        )(run)

    return runs(bundle, change, kernels(share))


@manipulation({"cool-down": "GK321", "windows": "GK318"}, "M11", variants={
    "cool-down": {"share": 1.0, "later_ns": 500_000_000},
    "windows": {"share": 0.97, "later_ns": 0},
})  # fmt: skip
def slope_left_out(bundle, share, later_ns):
    """Windows and cool-down are not where they were, and no host slope tells so."""

    def change(run):
        run = shortened(run, share, with_cool_down=True)
        return document(
            timing__controls=lambda found: tuple(c for c in found if c.name != "host_slope"),
            phases__cool_down_start_ns=lambda ns: ns + later_ns,
        )(run)

    return runs(bundle, change, kernels(share))


@manipulation("GK321", "M11", base="prefill", variants={"x0.983": {"share": 0.983}})
def load_marks_pushed_aside(bundle, share):
    """Windows, end and cool-down a little earlier, within what a power edge in samples leaves."""

    def change(run):
        return slope_by_its_windows(shortened(run, share, with_cool_down=True))

    return runs(bundle, change, kernels(share))


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

    return runs(_more_launches(bundle, factor), later, slope_by_its_windows)


@manipulation("GK502", "M18", variants={"x1.2": {"factor": 1.2}, "x10": {"factor": 10}})
def launches_inflated_beyond_light(bundle, factor):
    """More launches in the same time than the hardware can do."""
    return _more_launches(bundle, factor)
