"""Transformations of one run that a forger would try, each as consistent as its name says.

They change evidence only; whoever uses them derives the claims anew and seals again.
"""

import json
from dataclasses import replace

import numpy as np

from edits import with_fields
from kit.evidence import Anchor
from kit.timeline import device_span_ns, window_edges
from kit.trace import Table
from recorded import FOLDER, tables

_TIMES = ("t_ns", "enqueue_start_ns", "enqueue_end_ns")
_SPANS = ("duration_ns", "burst_ns")


def columns(table, **changes):
    """The table with these columns replaced, rounded to whole numbers."""
    new = {name: np.rint(values).astype(np.int64) for name, values in changes.items()}
    return Table({name: new.get(name, values) for name, values in table.columns.items()})


def with_tables(run, **changes):
    """The run with tables replaced, their names without `.csv`, and the sampler's counts."""
    found = run.tables | {f"{name}.csv": table for name, table in changes.items()}
    health = tuple(
        replace(entry, bursts=len(found[entry.table]) + entry.failed + entry.lost)
        if entry.table in found
        else entry
        for entry in run.document.telemetry.health
    )
    document = with_fields(run.document, telemetry__health=health)
    return replace(run, document=document, tables=found)


def controls_scaled(document, share):
    """Both controls as much shorter as the windows."""
    controls = tuple(
        replace(entry, duration_ns=int(entry.duration_ns * share))
        for entry in document.timing.controls
    )
    return with_fields(document, timing__controls=controls)


def redistributed(run, share):
    """Profiling windows scaled by `share`, what is left over added to the warm-up."""
    windows = run.tables["windows.csv"]
    profiling = windows["phase"] == 1
    durations = windows["duration_ns"].astype(np.float64)
    surplus = durations[profiling].sum() * (1 - share)
    durations[profiling] *= share
    durations[~profiling] *= 1 + surplus / durations[~profiling].sum()
    return _retimed(run, columns(windows, duration_ns=durations), share)


def front_loaded(run, share):
    """All windows scaled by `share` but the first, which takes what is left over."""
    windows = run.tables["windows.csv"]
    durations = windows["duration_ns"] * share
    durations[0] += windows["duration_ns"].sum() * (1 - share)
    return _retimed(run, columns(windows, duration_ns=durations), share)


def first_second_longer(run, share):
    """The windows of the first second take `share` of their time, the rest the others."""
    windows = run.tables["windows.csv"]
    edges = window_edges(run.document.timing, windows)
    early = edges[:-1] < edges[0] + 1_000_000_000
    durations = windows["duration_ns"].astype(np.float64)
    surplus = durations[early].sum() * (share - 1)
    durations[early] *= share
    others = 1 - surplus / durations[~early].sum()
    durations[~early] *= others
    return _retimed(run, columns(windows, duration_ns=durations), others)


def sorted_windows(run):
    """The fastest windows of the whole run moved into profiling, the others into the warm-up."""
    windows = run.tables["windows.csv"]
    profiling = windows["phase"] == 1
    periods = windows["duration_ns"] / windows["launches"]
    places = np.concatenate([np.flatnonzero(profiling), np.flatnonzero(~profiling)])
    durations = np.empty(len(windows))
    durations[places] = np.sort(periods)
    durations *= windows["launches"]
    durations[~profiling] += (windows["duration_ns"].sum() - durations.sum()) / (~profiling).sum()
    share = durations[profiling].sum() / windows["duration_ns"][profiling].sum()
    return _retimed(run, columns(windows, duration_ns=durations), share)


def _retimed(run, new, share):
    """The run with these windows, its enqueue times moved along and its controls scaled."""
    timing, windows = run.document.timing, run.tables["windows.csv"]
    before, after = window_edges(timing, windows), window_edges(timing, new)

    def move(name):
        return np.maximum(np.interp(windows[name], before, after), timing.start.after_ns)

    moved = columns(
        new, enqueue_start_ns=move("enqueue_start_ns"), enqueue_end_ns=move("enqueue_end_ns")
    )
    return with_tables(replace(run, document=controls_scaled(run.document, share)), windows=moved)


def shortened(run, share, *, with_cool_down=False):
    """All windows, anchors and controls scaled by `share` from the first launch on."""
    windows, document = run.tables["windows.csv"], run.document
    start = (document.timing.start.before_ns + document.timing.start.after_ns) // 2

    def move(name):
        moved = start + (windows[name] - start) * share
        return np.maximum(moved, document.timing.start.after_ns)

    new = columns(
        windows,
        duration_ns=windows["duration_ns"] * share,
        enqueue_start_ns=move("enqueue_start_ns"),
        enqueue_end_ns=move("enqueue_end_ns"),
    )
    by = device_span_ns(new) - device_span_ns(windows)
    end = document.timing.end
    document = with_fields(
        controls_scaled(document, share),
        timing__end=Anchor(end.before_ns + by, end.after_ns + by),
        dispatch__pilot_period_ns=int(document.dispatch.pilot_period_ns * share),
    )
    if with_cool_down:
        moved = document.phases.cool_down_start_ns + by
        document = with_fields(document, phases__cool_down_start_ns=moved)
    return with_tables(replace(run, document=document), windows=new)


def squeezed(run, share, *, counters=True):
    """Everything of the run squeezed in time about its start, the telemetry's stamps too."""
    document = run.document
    start = document.started_ns

    def at(moment):
        return int(start + (moment - start) * share)

    def anchor(found):
        return Anchor(at(found.before_ns), at(found.after_ns))

    phases = replace(
        document.phases,
        **{
            name: at(getattr(document.phases, name))
            for name in ("idle_start_ns", "idle_end_ns", "cool_down_start_ns", "cool_down_end_ns")
        },
    )
    timing = replace(
        document.timing, start=anchor(document.timing.start), end=anchor(document.timing.end)
    )
    document = replace(document, ended_ns=at(document.ended_ns), phases=phases, timing=timing)
    found = {}
    for file, table in run.tables.items():
        new = {name: start + (table[name] - start) * share for name in _TIMES if name in table}
        if file != "kernels.csv":
            new |= {name: np.maximum(1, table[name] * share) for name in _SPANS if name in table}
        for name in table.columns if counters and file == "power.csv" else ():
            if name.endswith("_ns") and name not in (*_TIMES, *_SPANS):
                new[name] = table[name][0] + (table[name] - table[name][0]) * share
        found[file] = columns(table, **new)
    return replace(run, document=controls_scaled(document, share), tables=found)


def launches_inflated(run, factor):
    """More launches in the same time, in windows, controls and counts."""
    document, windows = run.document, run.tables["windows.csv"]
    per_call = document.executable.gemms_per_call
    launches = np.rint(windows["launches"] * factor / per_call).astype(np.int64) * per_call
    profiling = windows["phase"] == 1
    controls = tuple(
        replace(
            entry,
            launches=int(launches[profiling].sum())
            if entry.name == "dlpack_events"
            else round(entry.launches * factor),
        )
        for entry in document.timing.controls
    )
    document = with_fields(
        document,
        timing__controls=controls,
        phases__warm_up_launches=int(launches[~profiling].sum()),
        phases__profiling_launches=int(launches[profiling].sum()),
        dispatch__pilot_period_ns=int(document.dispatch.pilot_period_ns / factor),
    )
    first = np.concatenate([[0], np.cumsum(launches)[:-1]])
    new = columns(windows, launches=launches, first_launch=first)
    return with_tables(replace(run, document=document), windows=new)


def fat_anchors(run):
    """Both anchors 49.9 ms wide, and all that they would explain taken off profiling."""
    width = 49_900_000
    timing, windows = run.document.timing, run.tables["windows.csv"]
    profiling = windows["phase"] == 1

    def fat(found):
        middle = (found.before_ns + found.after_ns) // 2
        return Anchor(middle - width // 2, middle + width // 2)

    cut = 0.002 * windows["duration_ns"].sum() * 0.95 + 2 * width * 0.98
    share = 1 - cut / windows["duration_ns"][profiling].sum()
    durations = windows["duration_ns"] * np.where(profiling, share, 1.0)
    start = fat(timing.start)
    document = with_fields(
        controls_scaled(run.document, share),
        timing__start=start,
        timing__end=fat(timing.end),
        phases__idle_end_ns=min(run.document.phases.idle_end_ns, start.before_ns - 1000),
    )
    handed = np.maximum(windows["enqueue_start_ns"], start.after_ns)
    new = columns(
        windows,
        duration_ns=durations,
        enqueue_start_ns=handed,
        enqueue_end_ns=np.maximum(windows["enqueue_end_ns"], handed),
    )
    return with_tables(replace(run, document=document), windows=new)


def power_scaled(run, share):
    """Every reading of power, and the energy counter's growth."""
    power, energy = run.tables["power.csv"], run.tables["energy.csv"]
    new = columns(
        power,
        power_instant_mw=power["power_instant_mw"] * share,
        power_average_mw=power["power_average_mw"] * share,
    )
    grown = energy["energy_mj"] - energy["energy_mj"][0]
    less = columns(energy, energy_mj=energy["energy_mj"][0] + grown * share)
    return with_tables(run, power=new, energy=less)


def events_cleared(run):
    """No event bits, and all counters of events at rest."""
    clocks, power = run.tables["clocks.csv"], run.tables["power.csv"]
    still = {
        name: power[name] * 0
        for name in power.columns
        if name.endswith("_ns") and name not in ("t_ns", "burst_ns")
    }
    cleared = columns(clocks, event_reasons=clocks["event_reasons"] * 0)
    return with_tables(run, clocks=cleared, power=columns(power, **still))


def jittered(run, seed):
    """A copy of the run's series with noise on top: windows, clock and power."""
    rng = np.random.default_rng(seed)
    windows, clocks, power = (run.tables[f"{n}.csv"] for n in ("windows", "clocks", "power"))
    durations = windows["duration_ns"] * (1 + rng.normal(0, 2e-4, len(windows)))
    step = 15 * rng.integers(-1, 2, len(clocks)) * (rng.random(len(clocks)) < 0.3)
    mhz = np.minimum(clocks["graphics_mhz"] + step, clocks["graphics_mhz"].max())
    return with_tables(
        run,
        windows=columns(windows, duration_ns=durations),
        clocks=columns(clocks, graphics_mhz=mhz, sm_mhz=mhz),
        power=columns(
            power,
            power_instant_mw=power["power_instant_mw"] + rng.integers(-2000, 2001, len(power)),
            power_average_mw=power["power_average_mw"] + rng.integers(-400, 401, len(power)),
        ),
    )


def telemetry_of(run, recording):
    """Clock and power under load as another recorded test showed them, on the run's time line."""
    held = tables(recording)
    start, end = _load(recording)
    edges = window_edges(run.document.timing, run.tables["windows.csv"])
    new = {}
    for name, wanted in (
        ("clocks", ("graphics_mhz", "sm_mhz", "event_reasons")),
        ("power", ("power_instant_mw", "power_average_mw")),
    ):
        table, source = run.tables[f"{name}.csv"], held[f"{name}.csv"]
        inside = (table["t_ns"] >= edges[0]) & (table["t_ns"] < edges[-1])
        steady = source.rows((source["t_ns"] >= start) & (source["t_ns"] < end))
        taken = {}
        for column in wanted:
            values = table[column].copy()
            values[inside] = np.resize(steady[column], int(inside.sum()))
            taken[column] = values
        new[name] = columns(table, **taken)
    return with_tables(run, **new)


def _load(recording):
    path = FOLDER / f"{recording}.json"
    marks = json.loads((path if path.exists() else path.with_suffix(".marks.json")).read_text())
    marks = marks.get("marks", marks)
    return marks["profile"], marks["cool"]
