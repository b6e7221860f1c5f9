"""Times of one run are in an order that cannot be.

## What it checks
Start, idle phase, first drained moment, first launch, last launch, last drained moment, cool-down
and end follow each other. Launches are handed over in order, and beside CUDA events those of a
window before the device ends it and no further ahead than the edition's number of calls, in the
warm-up neither. Every telemetry burst lies between the run's start and end, and the device cannot
have worked longer than the run lasted.

## Why it matters
All of these carry one clock. Series that were edited, or taken from another run, break its order.

## How to fix
Measure again; nothing but a changed file does this.

## Clause
M12, M14: telemetry belongs to the launches that it stands beside.

## Example
Passes: a cool-down that begins after the last drained moment.
Fails: telemetry that ends an hour after the run.
"""

from collections.abc import Iterator
from itertools import pairwise

import numpy as np

from kit.bundle.reader import Bundle
from kit.checker.rule import Finding, rule
from kit.checker.runs import MeasuredRun, judge_runs
from kit.ruleset import Ruleset
from kit.timeline import device_span_ns, host_lead_ns, lead_slack_ns, mean_period_ns
from kit.trace import TELEMETRY_TABLES, WINDOWS, Table


@rule("GK311", "times-impossible", clauses=("M12", "M14"), since="2026.1")
def check(bundle: Bundle, rules: Ruleset) -> Iterator[Finding]:
    """Put all times of a run in order."""

    def judge(run: MeasuredRun) -> Iterator[Finding]:
        windows = run.table(WINDOWS.file)
        for (earlier, first_ns), (later, second_ns) in pairwise(_moments(run, windows)):
            if second_ns < first_ns:
                yield Finding(
                    run.at(later), f"{second_ns} ns", f"{earlier} ({first_ns} ns) or later"
                )
        yield from _enqueues(run, windows)
        span_ns = device_span_ns(windows)
        lasted_ns = run.document.ended_ns - run.document.started_ns
        if span_ns > lasted_ns:
            place = run.at("column duration_ns", WINDOWS.file)
            yield Finding(place, f"{span_ns} ns", f"at most the run's {lasted_ns} ns")
        yield from _telemetry(run)
        if run.document.timing.method == "cuda_events":
            yield from _leads(run, windows, rules)

    yield from judge_runs(bundle, judge)


def _moments(run: MeasuredRun, windows: Table) -> list[tuple[str, int]]:
    document = run.document
    phases, timing = document.phases, document.timing
    return [
        ("started_ns", document.started_ns),
        ("phases.idle_start_ns", phases.idle_start_ns),
        ("phases.idle_end_ns", phases.idle_end_ns),
        ("timing.start.before_ns", timing.start.before_ns),
        ("timing.start.after_ns", timing.start.after_ns),
        ("first enqueue of windows.csv", int(windows["enqueue_start_ns"][0])),
        ("last enqueue of windows.csv", int(windows["enqueue_end_ns"][-1])),
        ("timing.end.after_ns", timing.end.after_ns),
        ("phases.cool_down_start_ns", phases.cool_down_start_ns),
        ("phases.cool_down_end_ns", phases.cool_down_end_ns),
        ("ended_ns", document.ended_ns),
    ]


def _enqueues(run: MeasuredRun, windows: Table) -> Iterator[Finding]:
    start, end = windows["enqueue_start_ns"], windows["enqueue_end_ns"]
    interleaved = np.column_stack([start, end]).ravel()
    for step in np.flatnonzero(np.diff(interleaved) < 0)[:1]:
        place = run.at(f"row {(step + 1) // 2 + 1}: enqueue columns", WINDOWS.file)
        yield Finding(place, f"{interleaved[step + 1]} ns", f"{interleaved[step]} ns or later")
    timing = run.document.timing
    if timing.end.before_ns > timing.end.after_ns:
        required = f"at most {timing.end.after_ns} ns"
        yield Finding(run.at("timing.end.before_ns"), f"{timing.end.before_ns} ns", required)


def _leads(run: MeasuredRun, windows: Table, rules: Ruleset) -> Iterator[Finding]:
    slack_ns = lead_slack_ns(run.document.timing, rules.anchor_width_s)
    leads_ns = host_lead_ns(run.document.timing, windows)
    call_ns = run.document.executable.gemms_per_call * mean_period_ns(run.profiling_windows())
    most_ns = round(rules.most_calls_ever_ahead * call_ns) + slack_ns
    for row in np.flatnonzero((leads_ns < -slack_ns) | (leads_ns > most_ns))[:1]:
        place = run.at(f"row {row + 1}: enqueue_end_ns", WINDOWS.file)
        required = f"{-slack_ns} to {most_ns} ns, of {rules.most_calls_ever_ahead} calls"
        yield Finding(place, f"{leads_ns[row]} ns before the device ended the window", required)


def _telemetry(run: MeasuredRun) -> Iterator[Finding]:
    started_ns, ended_ns = run.document.started_ns, run.document.ended_ns
    for contract in TELEMETRY_TABLES:
        table = run.evidence.tables.get(contract.file)
        if table is None or not len(table):
            continue
        first_ns = int(table["t_ns"][0])
        last_ns = int((table["t_ns"] + table["burst_ns"]).max())
        if first_ns < started_ns or last_ns > ended_ns:
            place = run.at("column t_ns", contract.file)
            required = f"between {started_ns} and {ended_ns} ns, when the run was"
            yield Finding(place, f"{first_ns} to {last_ns} ns", required)
