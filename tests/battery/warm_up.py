"""Phases around the measurement: rest, warm-up, cool-down."""

from dataclasses import replace

import numpy as np

from battery.forging import (
    controls_fit,
    counts_fit,
    document,
    end_fits,
    profiled,
    rows,
    runs,
    table,
)
from battery.registry import manipulation
from bundles import with_plan
from kit.evidence import Anchor
from kit.timeline import window_edges
from kit.trace import POWER, PROFILING, WARM_UP, WINDOWS, Table


@manipulation(
    "GK403", "M19", base="closed", variants={"cap": {"stop": "cap"}, "seconds": {"stop": "seconds"}}
)
def warm_up_ended_by_time(bundle, stop):
    """The warm-up ended because time was up, and says so."""
    return runs(bundle, document(phases__warm_up_stop=stop))


def _start_later(run, kept_ns):
    """Warm-up windows before the last `kept_ns` are forgotten; the start is anchored after them."""
    windows, timing = run.tables[WINDOWS.file], run.document.timing
    edges = window_edges(timing, windows)
    first = int(edges[:-1][profiled(windows)][0])
    keep = profiled(windows) | (edges[:-1] >= first - kept_ns)
    place = int(np.flatnonzero(keep)[0])
    start = int(edges[place])
    width = (timing.start.after_ns - timing.start.before_ns) // 2
    run = counts_fit(rows(WINDOWS.file, lambda _: keep)(run))

    def late(found):
        new = {
            name: np.maximum(values, start + width) if name.startswith("enqueue") else values
            for name, values in found.columns.items()
        }
        return Table(new)

    run = table(WINDOWS.file, late)(run)
    return document(timing__start=Anchor(start - width, start + width))(run)


@manipulation(
    {"1s": "GK403", "2s": "GK403", "none": "GK301"},
    "M19",
    base="closed",
    variants={
        "1s": {"seconds": 1.0},
        "2s": {"seconds": 2.0},
        "none": {"seconds": 0.0},
    },
)
def warm_up_cut(bundle, seconds):
    """Only the last seconds of the warm-up are told, as if it had been no longer."""
    bundle = with_plan(bundle, phases__warm_up_min_launches=0, phases__warm_up_min_s=0.0)
    return runs(bundle, lambda run: _start_later(run, round(seconds * 1e9)))


@manipulation("GK301", "M01")
def warm_up_launches_invented(bundle):
    """The document counts more warm-up launches than the windows hold."""
    return runs(bundle, document(phases__warm_up_launches=lambda n: n + 5000))


@manipulation("GK301", "M01")
def warm_up_shorter_than_planned(bundle):
    """The first warm-up windows are left out; the plan asks for more launches than are left."""
    return runs(bundle, lambda run: _start_later(run, 3_500_000_000))


def _relabelled(bundle, first, *, planned=False):
    def change(run):
        windows = run.tables[WINDOWS.file]
        begin = int(np.flatnonzero(profiled(windows))[0])
        place = np.arange(len(windows))
        phase = np.where(place < begin + first, WARM_UP, PROFILING)
        keep = place < min(len(windows), begin + first + profiled(windows).sum())
        run = table(WINDOWS.file, lambda w: Table(w.columns | {"phase": phase}).rows(keep))(run)
        run = controls_fit(counts_fit(run))
        return end_fits(run, before) if planned else run

    def whole_change(run):
        nonlocal before
        before = run
        return change(run)

    before = None
    return runs(bundle, whole_change)


@manipulation(
    {"10": "GK318", "40": "GK403", "80": "GK403"},
    "M15",
    base="closed",
    variants={
        "10": {"windows": 10},
        "40": {"windows": 40},
        "80": {"windows": 80},
    },
)
def profiling_begins_early(bundle, windows):
    """Boosted windows of the warm-up are sold as profiling; what follows is left out."""
    return _relabelled(bundle, -windows, planned=True)


@manipulation("GK301", "M15")
def first_profiling_windows_sold_as_warm_up(bundle):
    """Ten profiling windows go to the warm-up, which leaves fewer than planned."""
    return _relabelled(bundle, 10)


@manipulation("GK301", "M01")
def phases_interleaved(bundle):
    """A slow profiling window is called a warm-up window."""

    def change(windows):
        phase = windows["phase"].copy()
        periods = np.where(profiled(windows), windows["duration_ns"], 0)
        phase[int(np.argmax(periods))] = WARM_UP
        return Table(windows.columns | {"phase": phase})

    return runs(bundle, table(WINDOWS.file, change), counts_fit, controls_fit)


@manipulation("GK403", "M19", base="closed")
def settling_hidden_by_stale_power(bundle):
    """The average power of the two seconds before profiling rises by a twentieth."""

    def change(run):
        start = int(
            window_edges(run.document.timing, run.tables[WINDOWS.file])[:-1][
                profiled(run.tables[WINDOWS.file])
            ][0]
        )

        def rising(found):
            t = found["t_ns"]
            ramp = np.clip((t - start + 2e9) / 2e9, 0, 1) * 0.05 + 0.95
            before = (t >= start - 2_000_000_000) & (t < start)
            power = np.where(before, found["power_average_mw"] * ramp, found["power_average_mw"])
            return Table(found.columns | {"power_average_mw": np.rint(power).astype(np.int64)})

        return table(POWER.file, rising)(run)

    return runs(bundle, change)


@manipulation(
    "GK407", "M23", base="closed", variants={"cap": {"stop": "cap"}, "seconds": {"stop": "seconds"}}
)
def cool_down_ended_by_time(bundle, stop):
    """The cool-down ended before the device was idle, and says so."""
    return runs(bundle, document(phases__cool_down_stop=stop))


@manipulation("GK407", "M23", base="closed")
def cool_down_cut(bundle):
    """The cool-down lasted half a second."""
    return runs(
        bundle,
        lambda run: document(
            phases__cool_down_end_ns=run.document.phases.cool_down_start_ns + 500_000_000
        )(run),
    )


@manipulation("GK407", "M23", base="closed")
def cool_down_ended_hot(bundle):
    """The cool-down is said to have ended in the middle of the load's last second."""

    def change(run):
        end = run.document.timing.end.after_ns
        power = run.tables[POWER.file]

        def hot(found):
            after = found["t_ns"] >= end
            loaded = int(found["power_average_mw"].max() * 0.6)
            new = {
                n: np.where(after, loaded, found[n])
                for n in ("power_average_mw", "power_instant_mw")
            }
            return Table(found.columns | new)

        assert len(power)
        return table(POWER.file, hot)(run)

    return runs(bundle, change)


@manipulation("GK407", "M23", base="closed")
def no_idle_phase(bundle):
    """The device was watched at rest for a tenth of a second only."""
    return runs(
        bundle,
        lambda run: document(phases__idle_start_ns=run.document.phases.idle_end_ns - 100_000_000)(
            run
        ),
    )


@manipulation("GK407", "M23", base="closed")
def baseline_hot(bundle):
    """The device was still cooling when its rest was measured."""

    def change(run):
        phases = run.document.phases

        def falling(found):
            t = found["t_ns"]
            share = np.clip(
                (phases.idle_end_ns - t) / (phases.idle_end_ns - phases.idle_start_ns), 0, 1
            )
            extra = np.where(t <= phases.idle_end_ns, share * 200_000, 0)
            new = {
                name: np.rint(found[name] + extra).astype(np.int64)
                for name in ("power_average_mw", "power_instant_mw")
            }
            return Table(found.columns | new)

        return table(POWER.file, falling)(run)

    return runs(bundle, change)


@manipulation("GK311", "M23")
def cool_down_before_the_end(bundle):
    """The cool-down is said to begin a second before the last window ended."""
    return runs(
        bundle,
        lambda run: document(phases__cool_down_start_ns=run.document.timing.end.before_ns - 10**9)(
            run
        ),
    )


@manipulation("GK311", "M23")
def idle_phase_after_the_start(bundle):
    """The idle phase is said to end after the first launch."""
    return runs(
        bundle,
        lambda run: document(phases__idle_end_ns=run.document.timing.start.after_ns + 10**9)(run),
    )


@manipulation("GK311", "M23")
def run_ended_before_its_cool_down(bundle):
    """The run is said to end before its cool-down did."""
    return runs(
        bundle, lambda run: document(ended_ns=run.document.phases.cool_down_end_ns - 10**8)(run)
    )


@manipulation("GK318", "M23", base="closed")
def cool_down_begins_late(bundle):
    """The cool-down is said to begin seconds after the load ended, when all was calm."""
    return runs(
        bundle,
        lambda run: document(
            phases__cool_down_start_ns=run.document.phases.cool_down_end_ns - 1_001_000_000
        )(run),
    )


@manipulation("GK310", "M22", base="closed")
def plan_without_floors(bundle):
    """A plan that asks for one launch and no seconds, and a run that does just that."""
    bundle = with_plan(
        bundle,
        phases__warm_up_min_launches=0,
        phases__warm_up_min_s=0.0,
        phases__profiling_min_launches=1,
        phases__profiling_min_s=0.0,
        timing__windows=1,
    )

    def change(run):
        windows = run.tables[WINDOWS.file]
        first = int(np.flatnonzero(profiled(windows))[0])
        keep = np.arange(len(windows)) <= first
        return end_fits(controls_fit(counts_fit(rows(WINDOWS.file, lambda _: keep)(run))), run)

    return runs(bundle, change)


@manipulation("GK311", "M23")
def settings_of_phases_reversed(bundle):
    """Idle phase and cool-down are told the other way round."""

    def change(run):
        phases = run.document.phases
        return replace(
            run,
            document=replace(
                run.document,
                phases=replace(
                    phases,
                    idle_start_ns=phases.cool_down_start_ns,
                    idle_end_ns=phases.cool_down_end_ns,
                    cool_down_start_ns=phases.idle_start_ns,
                    cool_down_end_ns=phases.idle_end_ns,
                ),
            ),
        )

    return runs(bundle, change)
