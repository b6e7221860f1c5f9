"""What a careful cheater does beside the change itself: sums, controls, anchors and health follow.

Functions on one run take and return a `RunEvidence`; `runs` puts them to work on a bundle.
"""

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import numpy as np

from bundles import field, with_fields
from honest import operands_of, outputs_table
from kit.bundle import layout
from kit.bundle.reader import Bundle, CaseEvidence, RunEvidence
from kit.evidence import Anchor, CaseRecord, Journal, JournalEntry, RunOutcome
from kit.fill import sample_seed
from kit.timeline import window_edges
from kit.trace import CLOCKS, ENERGY, HOST, KERNELS, OUTPUTS, POWER, PROFILING, WINDOWS, Table

RunChange = Callable[[RunEvidence], RunEvidence]
TELEMETRY = (CLOCKS.file, POWER.file, ENERGY.file, HOST.file)
HOST_TIMES = ("t_ns", "enqueue_start_ns", "enqueue_end_ns")
_UTC = "%Y-%m-%dT%H:%M:%SZ"
NO_COUNTER = ("t_ns", "burst_ns", "duration_ns", "enqueue_start_ns", "enqueue_end_ns", "start_ns")


def runs(bundle: Bundle, *changes: RunChange, case=None, numbers=None) -> Bundle:
    """Every run changed, or those of one case, or those with these numbers."""
    cases = {
        name: replace(found, runs=tuple(_changed(run, changes, numbers) for run in found.runs))
        if case in (None, name)
        else found
        for name, found in bundle.cases.items()
    }
    return replace(bundle, cases=cases)


def _changed(run, changes, numbers):
    if numbers is None or run.document.number in numbers:
        for change in changes:
            run = change(run)
    return run


def document(**fields) -> RunChange:
    """Fields of `run.json`; `__` stands for a dot, a function is given the old value."""

    def change(run):
        found = run.document
        for path, value in fields.items():
            new = value(field(found, path.replace("__", "."))) if callable(value) else value
            found = with_fields(found, **{path: new})
        return replace(run, document=found)

    return change


def table(file: str, change: Callable[[Table], Table]) -> RunChange:
    """One table replaced, where the run has it; the sampler's count of rows follows."""

    def edit(run):
        if file not in run.tables:
            return run
        return _healthy(replace(run, tables=run.tables | {file: change(run.tables[file])}))

    return edit


def columns(file: str, **changes) -> RunChange:
    """Columns of one table, each by a function of its values."""

    def edit(found):
        new = {
            name: whole(changes[name](values.copy())) if name in changes else values
            for name, values in found.columns.items()
        }
        return Table(new)

    return table(file, edit)


def scaled(file: str, factor: float, *names: str) -> RunChange:
    """Columns times a factor; counters keep their first value and grow so much faster."""

    def times(name):
        counts = name not in NO_COUNTER and name.endswith(("_ns", "_mj", "_uj"))
        return lambda values: (
            values[0] + (values - values[0]) * factor if counts else values * factor
        )

    return columns(file, **{name: times(name) for name in names})


def whole(values) -> np.ndarray:
    """Rounded to the integers that tables hold."""
    return np.rint(values).astype(np.int64)


def rows(file: str, keep: Callable[[Table], np.ndarray]) -> RunChange:
    """Only the rows of a table where `keep` is true."""
    return table(file, lambda found: found.rows(keep(found)))


def _healthy(run):
    health = tuple(
        replace(entry, bursts=len(run.tables[entry.table]) + entry.failed + entry.lost)
        if entry.table in run.tables
        else entry
        for entry in run.document.telemetry.health
    )
    return replace(run, document=with_fields(run.document, telemetry__health=health))


def durations(run: RunEvidence) -> np.ndarray:
    """Nanoseconds of every window."""
    return run.tables[WINDOWS.file]["duration_ns"]


def profiled(windows: Table) -> np.ndarray:
    """Which rows of the windows are profiling."""
    return windows["phase"] == PROFILING


def under_load(run: RunEvidence, file: str) -> np.ndarray:
    """Which samples of a telemetry table were taken between the first window and the last."""
    edges = window_edges(run.document.timing, run.tables[WINDOWS.file])
    t_ns = run.tables[file]["t_ns"]
    return (t_ns >= edges[0]) & (t_ns < edges[-1])


def controls(run: RunEvidence, factor: float) -> RunEvidence:
    """Both controls last `factor` as long, and the pilot's period too."""
    found, dispatch = run.document.timing.controls, run.document.dispatch
    kept = tuple(replace(c, duration_ns=round(c.duration_ns * factor)) for c in found)
    pilot = dispatch.pilot_period_ns
    return document(
        timing__controls=kept,
        dispatch__pilot_period_ns=pilot and max(1, round(pilot * factor)),
    )(run)


def controls_fit(run: RunEvidence) -> RunEvidence:
    """Both controls agree with the profiling windows to the nanosecond."""
    windows = run.tables[WINDOWS.file]
    profiling = windows.rows(profiled(windows))
    launches, total = int(profiling["launches"].sum()), int(profiling["duration_ns"].sum())

    def fit(control):
        if control.name == "dlpack_events":
            return replace(control, launches=launches, duration_ns=total)
        return replace(control, duration_ns=round(total / launches * control.launches))

    return document(timing__controls=tuple(map(fit, run.document.timing.controls)))(run)


def counts_fit(run: RunEvidence) -> RunEvidence:
    """Launches are numbered through, and the document counts those of both phases."""
    windows = run.tables[WINDOWS.file]
    launches, profiling = windows["launches"], profiled(windows)
    run = columns(
        WINDOWS.file, first_launch=lambda _: np.concatenate([[0], np.cumsum(launches)[:-1]])
    )(run)
    return document(
        phases__warm_up_launches=int(launches[~profiling].sum()),
        phases__profiling_launches=int(launches[profiling].sum()),
    )(run)


def lasting(run: RunEvidence, durations) -> RunEvidence:
    """Windows that last so long: the host's marks keep their place in them, controls agree.

    The end stays anchored where it was; `end_fits` moves it.
    """
    windows, timing = run.tables[WINDOWS.file], run.document.timing
    old = window_edges(timing, windows)
    changed = columns(WINDOWS.file, duration_ns=lambda _: durations)(run)
    new = window_edges(timing, changed.tables[WINDOWS.file])
    first = timing.start.after_ns

    def moved(values):
        outside = np.minimum(values - old[0], 0) + np.maximum(values - old[-1], 0)
        return np.maximum(np.interp(values, old, new) + outside, first)

    changed = columns(WINDOWS.file, enqueue_start_ns=moved, enqueue_end_ns=moved)(changed)
    was, now = (
        found.tables[WINDOWS.file]["duration_ns"][profiled(windows)].sum()
        for found in (run, changed)
    )
    return controls(changed, now / was)


def end_fits(run: RunEvidence, before: RunEvidence) -> RunEvidence:
    """The end anchor moves by what the windows have become shorter or longer."""
    shift = _span(run) - _span(before)
    end = run.document.timing.end
    moved = Anchor(end.before_ns + shift, end.after_ns + shift)
    return document(
        timing__end=moved,
        phases__cool_down_start_ns=lambda ns: max(ns, moved.after_ns + 1000),
    )(run)


def _span(run):
    return int(run.tables[WINDOWS.file]["duration_ns"].sum())


def kernels(factor: float, clock: float = 1.0) -> RunChange:
    """The kernel trace runs `factor` as long, its clock at `clock` times its own."""

    def change(run):
        if KERNELS.file not in run.tables or run.trace is None:
            return run
        run = columns(
            KERNELS.file,
            start_ns=lambda values: values * factor,
            duration_ns=lambda values: np.maximum(1, values * factor),
        )(run)
        mhz = run.trace.graphics_mhz
        return replace(run, trace=replace(run.trace, graphics_mhz=mhz and mhz * clock))

    return change


def time_line(convert: Callable[[int], int]) -> RunChange:
    """Every host time of the run, in documents and tables, moved by one function; dates follow."""

    def anchor(found):
        return Anchor(convert(found.before_ns), convert(found.after_ns))

    def change(run):
        found = run.document
        marks = {
            name: convert(getattr(found.phases, name))
            for name in ("idle_start_ns", "idle_end_ns", "cool_down_start_ns", "cool_down_end_ns")
        }
        begun = datetime.strptime(found.started_utc, _UTC).replace(tzinfo=UTC) + timedelta(
            seconds=(convert(found.started_ns) - found.started_ns) * 1e-9
        )
        timing = replace(
            found.timing, start=anchor(found.timing.start), end=anchor(found.timing.end)
        )
        found = replace(
            found,
            started_utc=begun.strftime(_UTC),
            started_ns=convert(found.started_ns),
            ended_ns=convert(found.ended_ns),
            timing=timing,
            phases=replace(found.phases, **marks),
        )
        tables = {
            file: Table(
                {
                    name: np.array([convert(int(v)) for v in values], np.int64)
                    if name in HOST_TIMES
                    else values
                    for name, values in held.columns.items()
                }
            )
            for file, held in run.tables.items()
        }
        return replace(run, document=found, tables=tables)

    return change


def numbered(bundle: Bundle, run: RunEvidence, number: int, case: str | None = None) -> RunEvidence:
    """The run under another number, or as another case: seeds, folder and outputs follow."""
    found = run.document
    plan, case = bundle.plan, case or found.case
    drawn = sample_seed(plan.seed, plan.submission.challenge, case, found.device, number)
    operands = operands_of(plan, plan.case(case))
    found = replace(found, case=case, number=number, sample_seed=drawn, fill_seed=operands.seed)
    outputs = outputs_table(operands, found.rotation.sets, drawn)
    folder = layout.run_folder(case, found.device, number)
    return replace(run, path=folder, document=found, tables=run.tables | {OUTPUTS.file: outputs})


def with_runs(bundle: Bundle, found: dict[str, list[RunEvidence]]) -> Bundle:
    """The bundle with these runs alone: outcomes and a journal without gaps are made for them.

    An attempt starts as the one before it ends, whenever its process began.
    """
    entries = [("bundle_started", 0, None, None, None, None)]
    ordered = sorted(
        (r for kept in found.values() for r in kept), key=lambda r: r.document.started_ns
    )
    begin = end = 0
    for run in ordered:
        who = (run.document.case, run.document.device, run.document.number)
        end = run.document.ended_ns + 5_000_000
        entries.append(("run_started", begin, *who, None))
        entries.append(("run_ended", end, *who, "measured"))
        begin = end + 5_000_000
    entries.append(("bundle_ended", end + 50_000_000, None, None, None, None))
    journal = replace(
        bundle.journal,
        entries=tuple(
            JournalEntry(i, t_ns, event, case, device, number, status, None)
            for i, (event, t_ns, case, device, number, status) in enumerate(entries)
        ),
    )
    cases = {name: _case(bundle.cases[name], kept) for name, kept in found.items()}
    return replace(bundle, journal=journal, cases=cases)


def _case(case: CaseEvidence, kept: list[RunEvidence]) -> CaseEvidence:
    outcomes = tuple(
        RunOutcome(run.document.device, run.document.number, "measured", "") for run in kept
    )
    name = kept[0].document.case if kept else case.record.id
    return replace(
        case, path=layout.case_folder(name), record=CaseRecord(name, outcomes), runs=tuple(kept)
    )


def entries(journal: Journal, change) -> Journal:
    """The journal with `change(list of entries)`, numbered anew."""
    changed = change(list(journal.entries))
    return replace(
        journal, entries=tuple(replace(entry, sequence=i) for i, entry in enumerate(changed))
    )


def only(bundle: Bundle) -> RunEvidence:
    """The first run of the first case."""
    return next(iter(bundle.cases.values())).runs[0]
