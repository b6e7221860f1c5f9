"""A measured run lacks a series that it must have, or the reason why it has none.

## What it checks
Every measured run has its windows, buffers and outputs. Every telemetry column stands once in
`telemetry.metrics`: with the status `ok` it is in its table, with any other it is not and a reason
is given. Every telemetry table has one `telemetry.health` entry, whose bursts without the failed
and the lost ones are its rows. Every measured run has `trace.json`: with the status `ok` there are
kernels, each of a name that it lists, with any other there are none and a reason is given. Every
case with a run on a device has a document of that device's hardware counters, if only to say why
there are none.

## Why it matters
What was not measured must be visible as such. A column that is simply gone could have been taken
out because of what it showed.

## How to fix
Measure again. If a reading is not supported, the kit records that by itself.

## Clause
M12 and M14: clock, power and temperature are monitored during the run. M26: with full evidence.

## Example
Passes: no `memory_c` column, and a metric `memory_c` with `not_supported` and its reason.
Fails: no `memory_c` column, and a metric `memory_c` with `ok`.
"""

from collections import Counter
from collections.abc import Iterator

from kit.bundle import layout
from kit.bundle.layout import RUN, TRACE
from kit.bundle.reader import Bundle, RunEvidence
from kit.checker.rule import Finding, rule
from kit.kernels import is_named
from kit.ruleset import Ruleset
from kit.trace import BUFFERS, KERNELS, OUTPUTS, TELEMETRY_TABLES, WINDOWS

_TELEMETRY_COLUMNS = sorted(
    (table.file, column.name)
    for table in TELEMETRY_TABLES
    for column in table.columns
    if column.optional
)


@rule("GK005", "evidence-missing", clauses=("M12", "M14", "M26"), since="2026.1")
def check(bundle: Bundle, _rules: Ruleset) -> Iterator[Finding]:
    """Compare what is there with what is said to be there."""
    for folder, case in bundle.cases.items():
        for device in sorted({run.document.device for run in case.runs} - case.counters.keys()):
            place = layout.counters_file(folder, device)
            yield Finding(place, "no document", "the counters, or the reason why there are none")
        for run in case.runs:
            for table in (WINDOWS, BUFFERS, OUTPUTS):
                if not run.tables.get(table.file):
                    yield Finding(f"{run.path}/{table.file}", "no row", table.description)
            yield from _columns(run)
            yield from _health(run)
            yield from _trace(run)


def _columns(run: RunEvidence) -> Iterator[Finding]:
    metrics = run.document.telemetry.metrics
    place = f"{run.path}/{RUN}: telemetry.metrics"
    named = sorted((metric.table, metric.column) for metric in metrics)
    if named != _TELEMETRY_COLUMNS:
        times, wanted = Counter(named), Counter(_TELEMETRY_COLUMNS)
        for table, column in sorted(times.keys() | wanted.keys()):
            if times[table, column] != wanted[table, column]:
                found = f"{times[table, column]} entries for {column} of {table}"
                yield Finding(place, found, "one for each telemetry column that there is")
    for metric in metrics:
        there = metric.table in run.tables and metric.column in run.tables[metric.table]
        is_ok = metric.status == "ok"
        said = f"{metric.column} of {metric.table} is {metric.status}"
        if there and not is_ok:
            yield Finding(place, said, "ok, for the column is there")
        elif is_ok and not there:
            yield Finding(place, said, "the column in the table")
        elif not is_ok and not metric.reason.strip():
            yield Finding(place, f"{said} without a reason", "a reason")


def _health(run: RunEvidence) -> Iterator[Finding]:
    health = run.document.telemetry.health
    place = f"{run.path}/{RUN}: telemetry.health"
    for contract in TELEMETRY_TABLES:
        rows = len(run.tables[contract.file]) if contract.file in run.tables else 0
        kept = [
            entry.bursts - entry.failed - entry.lost
            for entry in health
            if entry.table == contract.file
        ]
        if len(kept) != 1 and (rows or kept):
            yield Finding(place, f"{len(kept)} entries for {contract.file}", "one")
        elif kept and kept[0] != rows:
            found = f"{kept[0]} bursts kept for {contract.file}"
            yield Finding(place, found, f"{rows}, the rows of the table")


def _trace(run: RunEvidence) -> Iterator[Finding]:
    trace, table = run.trace, run.tables.get(KERNELS.file)
    place = f"{run.path}/{TRACE}"
    if trace is None:
        yield Finding(place, "missing", "the kernel trace, or why there is none")
    elif trace.status != "ok":
        if table is not None:
            yield Finding(f"{place}: status", trace.status, f"ok, for {KERNELS.file} is there")
        if not trace.reason.strip():
            yield Finding(f"{place}: reason", f"{trace.status} without a reason", "a reason")
    elif table is None:
        yield Finding(f"{place}: status", "ok", f"{KERNELS.file} beside it")
    elif not is_named(trace, table):
        found = f"{len(trace.names)} names"
        yield Finding(f"{place}: names", found, f"one for every kernel of {KERNELS.file}")
