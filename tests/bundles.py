"""Honest bundles for the checker's tests, and ways to break exactly one thing in them.

A bundle is a frozen value: `with_run`, `with_table` and their like return a changed copy, with the
claims derived anew, so that only the rule that guards the changed thing fires. Paths of fields are
dotted: `with_field(bundle, GUIDELINE, 1, "timing.end.after_ns", 5)`.
"""

from dataclasses import replace
from functools import cache

import honest_cpu as cpu
import honest_gpu as gpu
from honest import rederived
from honest_cpu import BATCHED, PLAIN
from honest_gpu import DECODE, GUIDELINE
from kit.bundle import layout
from kit.bundle.manifest import (
    TAGGED,
    format_bag_info,
    format_manifest,
    parse_bag_info,
    sha256,
)
from kit.bundle.writer import BundleWriter
from kit.checker.catalogue import all_rules
from kit.checker.judge import run_rule
from kit.evidence import environment_digest
from kit.ruleset import ruleset
from kit.trace import TABLES, Table

__all__ = [
    "BATCHED", "DECODE", "GUIDELINE", "PLAIN", "changed", "codes", "field", "findings",
    "honest_cpu", "honest_gpu", "outcome", "rederived", "reseal", "result",
    "rules", "with_claims",
    "with_column", "with_environment", "with_field", "with_fields", "with_hlo", "with_plan",
    "with_rows", "with_run", "with_system", "with_table", "without_table", "write",
]  # fmt: skip


@cache
def honest_gpu(division="open"):
    """Two cases on one H200, three replicates each, cuda_events and NVML."""
    return gpu.build(division)


@cache
def honest_cpu():
    """Two small cases on a CPU host, two replicates each, host_clock and host telemetry."""
    return cpu.build()


@cache
def rules():
    """Every rule of the folder by its code."""
    return {rule.code: rule for rule in all_rules()}


def result(code, bundle):
    """What the judge makes of one rule: outcome, reason, findings."""
    return run_rule(rules()[code], bundle, ruleset(bundle.plan.edition))


def outcome(code, bundle):
    """Outcome of one rule: pass, warn, fail, unproven, not_applicable or error."""
    return result(code, bundle).outcome


def findings(code, bundle):
    """The findings of one rule."""
    return result(code, bundle).findings


def codes(bundle):
    """Outcome of every rule by its code."""
    return {code: outcome(code, bundle) for code in rules()}


@cache
def _honest_codes(name):
    honest = {honest_gpu(d).container.name: honest_gpu(d) for d in ("open", "closed")}
    honest[honest_cpu().container.name] = honest_cpu()
    return codes(honest[name])


def changed(bundle):
    """Outcomes that differ from those of the honest bundle that `bundle` was made from."""
    before = _honest_codes(bundle.container.name)
    return {code: found for code, found in codes(bundle).items() if found != before[code]}


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
    """One table of a run replaced by `change(table)`."""

    def edit(run):
        return replace(run, tables=run.tables | {file: change(run.tables[file])})

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


def with_rows(bundle, case, number, file, keep):
    """Only the rows of a table where `keep(table)` is true."""
    return with_table(bundle, case, number, file, lambda table: table.rows(keep(table)))


def without_table(bundle, case, number, file):
    """The run without one table."""

    def edit(run):
        return replace(run, tables={k: v for k, v in run.tables.items() if k != file})

    return with_run(bundle, case, number, edit)


def with_hlo(bundle, case, change):
    """The case's HLO text changed, its file and the runs' reference to it renamed to match."""
    from honest import hlo_file

    ((_, text),) = bundle.cases[case].hlo.items()
    name, new = hlo_file(change(text))
    found = bundle.cases[case]
    runs = tuple(
        replace(run, document=with_fields(run.document, executable__hlo=name)) for run in found.runs
    )
    cases = bundle.cases | {case: replace(found, hlo={name: new}, runs=runs)}
    return replace(bundle, cases=cases)


def write(bundle, folder):
    """Write a bundle into the new folder `folder` as the runner would, seal it, return its path."""
    writer = BundleWriter(folder.parent, folder.name)
    writer.write_record(layout.PLAN, bundle.plan)
    writer.write_record(layout.SYSTEM, bundle.system)
    writer.write_record(layout.ENVIRONMENT, bundle.environment)
    writer.write_record(layout.JOURNAL, bundle.journal)
    writer.write_record(layout.RESULTS, bundle.claims)
    for name, case in bundle.cases.items():
        writer.write_record(layout.case_file(name), case.record)
        for file, text in case.hlo.items():
            writer.write_text(layout.hlo_file(name, file), text)
        for run in case.runs:
            writer.write_record(f"{run.path}/run.json", run.document)
            for file, table in run.tables.items():
                writer.write_table(run.path, TABLES[file], table.columns)
    return writer.seal()


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
