"""Telemetry hidden, left out, thinned or from elsewhere, and what the sampler says of itself."""

from dataclasses import replace

import numpy as np

from battery.bases import base
from battery.forging import columns, document, rows, runs, table
from battery.registry import manipulation
from bundles import in_every_run, with_column, with_plan, without_column, without_table
from kit.bundle.reader import RunEvidence
from kit.timeline import profiling_interval, window_edges
from kit.trace import CLOCKS, ENERGY, POWER, WINDOWS, Table


@manipulation(
    "GK411",
    "M12",
    variants={
        "clocks": {"file": CLOCKS.file},
        "counters": {"file": POWER.file},
        "both": {"file": None},
    },
)
def power_cap_hidden(bundle, file):
    """The bits or counters that tell of the power cap are cleared."""
    bits = columns(CLOCKS.file, event_reasons=lambda v: v & ~0x04)
    counter = columns(POWER.file, sw_power_cap_ns=lambda v: np.full(len(v), v[0]))
    changes = {CLOCKS.file: [bits], POWER.file: [counter], None: [bits, counter]}[file]
    return runs(bundle, *changes)


@manipulation(
    "GK401", "M12", variants={"clocks": {"file": CLOCKS.file}, "power": {"file": POWER.file}}
)
def gap_left(bundle, file):
    """A second of samples in the middle of profiling is deleted."""

    def keep(run):
        start, end = profiling_interval(run.document.timing, run.tables[WINDOWS.file])
        middle = (start + end) // 2
        t_ns = run.tables[file]["t_ns"]
        return rows(file, lambda _: abs(t_ns - middle) > 500_000_000)(run)

    return runs(bundle, keep)


@manipulation("GK318", "M12")
def gap_closed(bundle):
    """A second of clock samples is deleted and all later ones move up to close the gap."""

    def keep(run):
        start, end = profiling_interval(run.document.timing, run.tables[WINDOWS.file])
        middle = (start + end) // 2

        def close(found):
            t_ns = found["t_ns"]
            late = t_ns > middle + 500_000_000
            moved = np.where(late, t_ns - 1_000_000_000, t_ns)
            inside = abs(t_ns - middle) <= 500_000_000
            return Table(found.columns | {"t_ns": moved}).rows(~inside)

        for file in (CLOCKS.file, POWER.file, ENERGY.file):
            run = table(file, close)(run)
        return run

    return runs(bundle, keep)


@manipulation("GK401", "M12", variants={"half": {"each": 2}, "eighth": {"each": 8}})
def thinned_under_the_old_period(bundle, each):
    """Only some of the clock samples are handed over."""
    return runs(bundle, rows(CLOCKS.file, lambda found: np.arange(len(found)) % each == 0))


@manipulation(
    {"eighth": "GK401", "fourth": "GK410"},
    "M12",
    variants={"eighth": {"each": 8}, "fourth": {"each": 4}},
)
def thinned_with_the_period(bundle, each):
    """Every few samples only, and the sampler's period is told so."""
    changed = runs(bundle, rows(CLOCKS.file, lambda found: np.arange(len(found)) % each == 0))
    return runs(
        changed,
        document(
            telemetry__health=lambda health: tuple(
                replace(e, period_ns=e.period_ns * each) if e.table == CLOCKS.file else e
                for e in health
            )
        ),
    )


@manipulation(
    "GK410",
    "M12",
    base="closed",
    variants={
        "lost": {"field": "lost", "count": 1},
        "failed": {"field": "failed", "count": 300},
        "overruns": {"field": "overruns", "count": 900},
    },
)
def sampler_fell_behind(bundle, field, count):
    """The sampler lost readings, failed or came late, and says so."""

    def worse(entry):
        more = {field: count} | ({} if field == "overruns" else {"bursts": entry.bursts + count})
        return replace(entry, **more) if entry.table == CLOCKS.file else entry

    return runs(bundle, document(telemetry__health=lambda h: tuple(map(worse, h))))


@manipulation("GK005", "M12")
def rows_of_the_sampler_invented(bundle):
    """The sampler claims more bursts than there are rows."""
    return runs(
        bundle,
        document(telemetry__health=lambda h: tuple(replace(e, bursts=e.bursts + 10) for e in h)),
    )


@manipulation("GK409", "M12")
def bursts_overlap(bundle):
    """Readings are told to have taken longer than the time to the next ones."""
    return runs(bundle, columns(CLOCKS.file, burst_ns=lambda v: v + 30_000_000))


@manipulation("GK311", "M12", variants={"before": {"shift": -12}, "after": {"shift": 30}})
def samples_outside_the_run(bundle, shift):
    """Telemetry was taken at another time than the run."""
    return runs(bundle, columns(CLOCKS.file, t_ns=lambda v: v + shift * 10**9))


COLUMNS = {
    "graphics_mhz": (CLOCKS.file, "GK401"),
    "memory_mhz": (CLOCKS.file, "GK401"),
    "event_reasons": (CLOCKS.file, "GK401"),
    "gpu_c": (POWER.file, "GK401"),
}


@manipulation(
    {name: code for name, (_, code) in COLUMNS.items()},
    "M12",
    base="closed",
    variants={name: {"column": name} for name in COLUMNS},
)
def column_taken_out_with_a_reason(bundle, column):
    """A column that tells too much is handed over as not supported."""
    file, _ = COLUMNS[column]
    for case, found in bundle.cases.items():
        for run in found.runs:
            bundle = without_column(bundle, case, run.document.number, file, column)
    return bundle


@manipulation("GK005", "M12", variants={name: {"column": name} for name in COLUMNS})
def column_taken_out_silently(bundle, column):
    """A column that tells too much is gone."""
    file, _ = COLUMNS[column]
    for case, found in bundle.cases.items():
        for run in found.runs:
            bundle = with_column(bundle, case, run.document.number, file, column, lambda _: None)
    return bundle


@manipulation(
    {"clocks.csv": "GK401", "power.csv": "GK401", "energy.csv": "GK005"},
    "M12",
    base="closed",
    variants={f: {"file": f} for f in ("clocks.csv", "power.csv")},
)
def table_taken_out_with_a_reason(bundle, file):
    """A whole series is handed over as not supported."""
    for case, found in bundle.cases.items():
        for run in found.runs:
            bundle = without_table(bundle, case, run.document.number, file)
    return bundle


@manipulation(
    "GK005", "M12", variants={f: {"file": f} for f in ("clocks.csv", "power.csv", "energy.csv")}
)
def table_taken_out_silently(bundle, file):
    """A whole series is gone."""
    return runs(
        bundle,
        lambda run: replace(
            run, tables={name: held for name, held in run.tables.items() if name != file}
        ),
    )


def _aligned(run: RunEvidence, source: RunEvidence, files) -> RunEvidence:
    """The source's series, put where the run's own load is; the middle gives or is given way."""
    edges = window_edges(run.document.timing, run.tables[WINDOWS.file])
    theirs = window_edges(source.document.timing, source.tables[WINDOWS.file])
    length = int(min(edges[-1] - edges[0], theirs[-1] - theirs[0]))
    for file in files:
        found = source.tables[file]
        t_ns = found["t_ns"]
        head = t_ns < theirs[0] + length // 2
        tail = t_ns >= theirs[-1] - (length - length // 2)
        moved = np.where(head, t_ns + (edges[0] - theirs[0]), t_ns + (edges[-1] - theirs[-1]))
        inside = (moved > run.document.started_ns) & (
            moved + found["burst_ns"] < run.document.ended_ns
        )
        new = found.columns | {"t_ns": moved}
        keep = (head | tail) & inside
        spliced = Table(new).rows(keep)
        for name in spliced.columns:
            if name.endswith(("_ns", "_mj")) and name not in ("t_ns", "burst_ns"):
                values = spliced[name].copy()
                first = int(np.count_nonzero(head[keep]))
                if 0 < first < len(values) and not (head & tail).any():
                    values[first:] -= values[first] - values[first - 1]
                spliced = Table(spliced.columns | {name: values})
        run = table(file, lambda _, spliced=spliced: spliced)(run)
    return run


_FORMATS = ("square_4096-fp64-nn", "square_4096-fp32-nn", "square_4096-fp16-nn")


@manipulation(
    {
        "square_4096-fp64-nn": "GK604",
        "square_4096-fp32-nn": "GK604",
        "square_4096-fp16-nn": "GK604",
    },
    "M12",
    base="formats",
    variants={name: {"source": name} for name in _FORMATS},
)
def spliced_from_another_case(bundle, source):
    """Clocks and power of another case of the same bundle stand beside the bf16 GEMM."""
    theirs = bundle.cases[source].runs[0]
    return runs(
        bundle,
        lambda run: _aligned(run, theirs, (CLOCKS.file, POWER.file, ENERGY.file)),
        case="square_4096-bf16-nn",
    )


@manipulation("GK411", "M12")
def spliced_from_another_bundle(bundle):
    """Clocks and power come from another bundle's run of another GEMM."""
    theirs = base("formats").cases["square_4096-bf16-nn"].runs[0]
    return runs(bundle, lambda run: _aligned(run, theirs, (CLOCKS.file, POWER.file, ENERGY.file)))


@manipulation("GK401", "M12")
def clocks_spliced_from_another_bundle(bundle):
    """Only the clocks come from another bundle's run."""
    theirs = base("formats").cases["square_4096-bf16-nn"].runs[0]
    return runs(bundle, lambda run: _aligned(run, theirs, (CLOCKS.file,)))


@manipulation("GK603", "M12", base="closed")
def source_renamed(bundle):
    """The plan names another source of telemetry."""
    bundle = with_plan(bundle, telemetry__source="host")
    return runs(bundle, document(telemetry__source="host"))


@manipulation("GK003", "M12")
def source_other_than_planned(bundle):
    """A run names another source of telemetry than the plan."""
    return runs(bundle, document(telemetry__source="host"))


@manipulation("GK407", "M14", base="closed")
def instant_power_left_out(bundle):
    """The register that shows the load's edges is called unsupported."""
    return in_every_run(bundle, without_column, POWER.file, "power_instant_mw")
