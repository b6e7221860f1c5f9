"""Ways to change exactly one thing in a bundle; `bundles` offers them to tests."""

from dataclasses import replace
from datetime import date

import numpy as np

from honest import BUNDLE_STARTED, hlo_file, rederived
from kit.bundle import layout
from kit.bundle.manifest import (
    TAGGED,
    format_bag_info,
    format_manifest,
    parse_bag_info,
    sha256,
)
from kit.bundle.writer import BundleWriter
from kit.evidence import environment_digest
from kit.timeline import host_lead_ns, window_edges
from kit.trace import PROFILING, TABLES, Table


def with_fields(record, **changes):
    """A copy of a frozen record; keys are field paths with `__` for the dots."""
    for path, value in changes.items():
        record = _at(record, path.split("__"), value)
    return record


def field(record, path):
    """The value at a dotted path of a record."""
    for name in path.split("."):
        record = record[name] if isinstance(record, dict) else getattr(record, name)
    return record


def _at(record, path, value):
    name, *rest = path
    if isinstance(record, dict):
        return record | {name: _at(record[name], rest, value) if rest else value}
    return replace(record, **{name: _at(getattr(record, name), rest, value) if rest else value})


def with_plan(bundle, **changes):
    """Plan changed; keys as in `with_fields`."""
    return replace(bundle, plan=with_fields(bundle.plan, **changes))


def with_system(bundle, **changes):
    """System description changed."""
    return replace(bundle, system=with_fields(bundle.system, **changes))


def with_environment(bundle, *, noticed=True, **changes):
    """Environment changed; `device__x` changes fact x of the first device.

    The runs' digests follow, as if each had seen it, unless `noticed` is false.
    """
    facts = {k.removeprefix("device__"): v for k, v in changes.items() if k.startswith("device__")}
    rest = {k: v for k, v in changes.items() if not k.startswith("device__")}
    environment = with_fields(bundle.environment, **rest)
    first, *others = environment.devices
    devices = (with_fields(first, **facts), *others)
    found = replace(bundle, environment=replace(environment, devices=devices))
    return _with_digests(found) if noticed else found


def _with_digests(bundle):
    digest = environment_digest(bundle.environment)

    def follow(run):
        return replace(run, document=with_fields(run.document, environment_sha256=digest))

    cases = {
        name: replace(case, runs=tuple(map(follow, case.runs)))
        for name, case in bundle.cases.items()
    }
    return replace(bundle, cases=cases)


def with_counters(bundle, case, change):
    """The counters of the case's only device replaced by `change(them)`; None takes them away."""
    found = bundle.cases[case]
    ((device, counters),) = found.counters.items()
    new = change(counters)
    kept = {} if new is None else {device: new}
    return replace(bundle, cases=bundle.cases | {case: replace(found, counters=kept)})


def with_counter(bundle, case, name, **changes):
    """Fields of one counter changed; keys as in `with_fields`."""

    def change(counters):
        assert counters.counter(name)
        return replace(
            counters,
            counters=tuple(
                with_fields(entry, **changes) if entry.name == name else entry
                for entry in counters.counters
            ),
        )

    return with_counters(bundle, case, change)


def with_claims(bundle, case, number, **changes):
    """Claimed figures of one run changed."""
    cases = tuple(
        replace(
            claim,
            runs=tuple(with_fields(r, **changes) if r.number == number else r for r in claim.runs),
        )
        if claim.id == case
        else claim
        for claim in bundle.claims.cases
    )
    return replace(bundle, claims=replace(bundle.claims, cases=cases))


def with_run(bundle, case, number, change, *, derive=True):
    """One run (RunEvidence) replaced by `change(run)`; claims follow unless `derive` is false."""
    found = bundle.cases[case]
    runs = tuple(change(run) if run.document.number == number else run for run in found.runs)
    changed = replace(bundle, cases=bundle.cases | {case: replace(found, runs=runs)})
    return rederived(changed) if derive else changed


def with_field(bundle, case, number, path, value):
    """One field of a run's document; `value` may be a function of the old value."""

    def change(run):
        new = value(field(run.document, path)) if callable(value) else value
        return replace(run, document=_at(run.document, path.split("."), new))

    return with_run(bundle, case, number, change)


def with_table(bundle, case, number, file, change):
    """One table of a run replaced by `change(table)`; the sampler's row count follows."""

    def edit(run):
        table = change(run.tables[file])
        health = tuple(
            replace(entry, bursts=len(table) + entry.failed + entry.lost)
            if entry.table == file
            else entry
            for entry in run.document.telemetry.health
        )
        document = with_fields(run.document, telemetry__health=health)
        return replace(run, document=document, tables=run.tables | {file: table})

    return with_run(bundle, case, number, edit)


def with_column(bundle, case, number, file, column, change):
    """One column replaced by `change(a copy of its values)`; None drops the column."""

    def edit(table):
        columns = dict(table.columns)
        values = change(columns.pop(column).copy())
        if values is not None:
            columns[column] = values
        return Table({name: columns[name] for name in table.columns if name in columns})

    return with_table(bundle, case, number, file, edit)


def with_kernels(bundle, case, number, change):
    """The kernel trace replaced by `change((trace, table))`; no table where that gives None."""

    def edit(run):
        trace, table = change((run.trace, run.tables.get("kernels.csv")))
        tables = {name: held for name, held in run.tables.items() if name != "kernels.csv"}
        if table is not None:
            tables["kernels.csv"] = table
        return replace(run, trace=trace, tables=tables)

    return with_run(bundle, case, number, edit)


def without_trace(bundle, case, number, trace=None):
    """The run without kernels; `trace` is what `trace.json` says about it, None for no file."""
    return with_kernels(bundle, case, number, lambda _: (trace, None))


def with_lead(bundle, case, number, lead_ns):
    """The host handed over each window's launches `lead_ns` before the device worked on them.

    One lead for all windows, or one for each.
    """
    run = next(run for run in bundle.cases[case].runs if run.document.number == number)
    timing = run.document.timing
    windows = run.tables["windows.csv"]
    edges = window_edges(timing, windows)
    starts = np.maximum(edges[:-1] - lead_ns, timing.start.after_ns)
    ended = host_lead_ns(timing, windows) + windows["enqueue_end_ns"]
    ends = np.maximum.accumulate(np.maximum(ended - lead_ns, starts))
    starts[1:] = np.maximum(starts[1:], ends[:-1])
    bundle = with_column(bundle, case, number, "windows.csv", "enqueue_start_ns", lambda _: starts)
    return with_column(bundle, case, number, "windows.csv", "enqueue_end_ns", lambda _: ends)


def with_disturbed_host(bundle, case, number, share, calls):
    """28 calls ahead, but so many in this share of the profiling windows, the first ones.

    Calls of one GEMM each.
    """
    windows = bundle.cases[case].runs[number - 1].tables["windows.csv"]
    profiling = np.flatnonzero(windows["phase"] == PROFILING)
    period = windows["duration_ns"][profiling].sum() / windows["launches"][profiling].sum()
    lead = np.full(len(windows), 28 * period)
    lead[profiling[: int(share * len(profiling))]] = calls * period
    return with_lead(bundle, case, number, lead.astype(np.int64))


def with_rows(bundle, case, number, file, keep):
    """Only the rows of a table where `keep(table)` is true."""
    return with_table(bundle, case, number, file, lambda table: table.rows(keep(table)))


def without_table(bundle, case, number, file):
    """The run without one table, as if nothing in it could be read."""
    return _without(bundle, case, number, file, None)


def without_column(bundle, case, number, file, column):
    """The run without one telemetry column, as if the device did not supply it."""
    return _without(bundle, case, number, file, column)


def _without(bundle, case, number, file, column):
    def edit(run):
        tables = {name: table for name, table in run.tables.items() if name != file}
        if column is not None:
            kept = {k: v for k, v in run.tables[file].columns.items() if k != column}
            tables[file] = Table(kept)
        telemetry = run.document.telemetry
        metrics = tuple(
            replace(metric, status="not_supported", reason="not supplied")
            if metric.table == file and column in (None, metric.column)
            else metric
            for metric in telemetry.metrics
        )
        health = tuple(entry for entry in telemetry.health if entry.table in tables)
        changed = replace(telemetry, metrics=metrics, health=health)
        return replace(run, document=replace(run.document, telemetry=changed), tables=tables)

    return with_run(bundle, case, number, edit)


def in_every_run(bundle, edit, *arguments):
    """`edit(bundle, case, number, *arguments)` for every run of every case."""
    for case, found in bundle.cases.items():
        for run in found.runs:
            bundle = edit(bundle, case, run.document.number, *arguments)
    return bundle


def with_hlo(bundle, case, change):
    """The case's HLO text changed, with its file, the runs' references to it and the claims."""
    ((old, text),) = bundle.cases[case].hlo.items()
    name, new = hlo_file(change(text))
    found = bundle.cases[case]
    runs = tuple(replace(run, document=_of_program(run.document, old, name)) for run in found.runs)
    cases = bundle.cases | {case: replace(found, hlo={name: new}, runs=runs)}
    return rederived(replace(bundle, cases=cases))


def _of_program(document, old, name):
    candidates = tuple(
        replace(candidate, hlo=name) if candidate.hlo == old else candidate
        for candidate in document.dispatch.candidates
    )
    return with_fields(document, executable__hlo=name, dispatch__candidates=candidates)


def write(bundle, folder):
    """Write a bundle into the new folder `folder` as the runner would, seal it, return its path."""
    writer = BundleWriter(folder.parent, folder.name, _bagging_date(bundle))
    writer.write_record(layout.PLAN, bundle.plan)
    writer.write_record(layout.SYSTEM, bundle.system)
    writer.write_record(layout.ENVIRONMENT, bundle.environment)
    writer.write_record(layout.JOURNAL, bundle.journal)
    writer.write_record(layout.RESULTS, bundle.claims)
    for name, case in bundle.cases.items():
        writer.write_record(layout.case_file(name), case.record)
        for file, text in case.hlo.items():
            writer.write_text(layout.hlo_file(name, file), text)
        for file, text in case.autotune.items():
            writer.write_text(layout.autotune_file(name, file), text)
        for device, counters in case.counters.items():
            writer.write_record(layout.counters_file(name, device), counters)
        for run in case.runs:
            writer.write_record(f"{run.path}/run.json", run.document)
            if run.trace is not None:
                writer.write_record(f"{run.path}/{layout.TRACE}", run.trace)
            for file, table in run.tables.items():
                writer.write_table(run.path, TABLES[file], table.columns)
    return writer.seal()


def _bagging_date(bundle):
    """The day on which the bundle was sealed, or a built one would have been."""
    info = bundle.container.files.get("bag-info.txt")
    return parse_bag_info(info).bagging_date if info else date.fromisoformat(BUNDLE_STARTED[:10])


def reseal(folder):
    """Make the manifests fit a bundle that was edited on disk, as a forger would."""
    payload = {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in (folder / layout.PAYLOAD).rglob("*")
        if path.is_file()
    }
    info = parse_bag_info((folder / "bag-info.txt").read_bytes())
    info = replace(info, octets=sum(map(len, payload.values())), files=len(payload))
    (folder / "bag-info.txt").write_bytes(format_bag_info(info))
    manifest = format_manifest({path: sha256(data) for path, data in payload.items()})
    (folder / "manifest-sha256.txt").write_bytes(manifest)
    tags = {name: sha256((folder / name).read_bytes()) for name in TAGGED}
    (folder / "tagmanifest-sha256.txt").write_bytes(format_manifest(tags))
