"""The journal does not account for every attempt.

## What it checks
Entries are numbered 0, 1, 2, … and never go back in time; the first opens the bundle, the last
closes it. Each outcome in `case.json` has one start and one end with its status, and no entry
belongs to anything else. A run's own times lie between them, runs on one device do not overlap, and
every case has the attempts 1 to `replicates` on every device.

## Why it matters
Measuring often and handing over the best runs is the oldest trick. The journal is written as the
run goes on, so a removed attempt leaves a gap.

## How to fix
Measure again; failed attempts are welcome in a bundle, missing ones are not.

## Clause
M26: results are reproducible, which a choice among runs is not.

## Example
Passes: attempts 1, 2 and 3, the second `timed_out`.
Fails: attempts 1 and 3.
"""

from collections.abc import Iterator, Sequence
from itertools import pairwise

from kit.bundle.layout import JOURNAL, RUN, case_file
from kit.bundle.reader import Bundle
from kit.checker.rule import Finding, rule
from kit.evidence import JournalEntry
from kit.ruleset import Ruleset

_Attempt = tuple[str, str, int]


@rule("GK004", "journal-incomplete", clauses=("M26",), since="2026.1")
def check(bundle: Bundle, _rules: Ruleset) -> Iterator[Finding]:
    """Follow the journal from its first entry to its last, then each attempt through it."""
    yield from _order(bundle.journal.entries)
    yield from _ends(bundle.journal.entries)
    attempts = _attempts(bundle.journal.entries)
    yield from _outcomes(bundle, attempts)
    yield from _times(bundle, attempts)
    yield from _overlaps(attempts)
    yield from _numbers(bundle)


def _order(entries: tuple[JournalEntry, ...]) -> Iterator[Finding]:
    for place, entry in enumerate(entries):
        if entry.sequence != place:
            yield Finding(f"{JOURNAL}: entries[{place}]", f"sequence {entry.sequence}", str(place))
    for place, (before, after) in enumerate(pairwise(entries), 1):
        if after.t_ns < before.t_ns:
            found = f"t_ns {after.t_ns} after {before.t_ns}"
            yield Finding(f"{JOURNAL}: entries[{place}]", found, "time that does not go back")


def _ends(entries: tuple[JournalEntry, ...]) -> Iterator[Finding]:
    last = len(entries) - 1
    if not entries:
        yield Finding(JOURNAL, "no entry", "bundle_started first, bundle_ended last")
    for place, entry in enumerate(entries):
        required = {0: "bundle_started", last: "bundle_ended"}.get(place, "an event of a run")
        opens_or_closes = entry.event in ("bundle_started", "bundle_ended")
        if entry.event != required and (place in (0, last) or opens_or_closes):
            yield Finding(f"{JOURNAL}: entries[{place}]", entry.event, required)


def _attempts(entries: tuple[JournalEntry, ...]) -> dict[_Attempt, list[JournalEntry]]:
    """Entries of each attempt; absent names become empty, so that they match no outcome."""
    found: dict[_Attempt, list[JournalEntry]] = {}
    for entry in entries:
        if entry.event in ("run_started", "run_ended"):
            attempt = (entry.case or "", entry.device or "", entry.run or 0)
            found.setdefault(attempt, []).append(entry)
    return found


def _name(attempt: _Attempt) -> str:
    case, device, number = attempt
    return f"{case}, {device}, run {number}"


def _outcomes(bundle: Bundle, attempts: dict[_Attempt, list[JournalEntry]]) -> Iterator[Finding]:
    known = set()
    for folder, case in bundle.cases.items():
        for outcome in case.record.runs:
            attempt = (folder, outcome.device, outcome.number)
            if attempt in known:
                yield Finding(case_file(folder), f"two outcomes of {_name(attempt)}", "one")
            known.add(attempt)
            found = [(entry.event, entry.status) for entry in attempts.get(attempt, [])]
            required = [("run_started", None), ("run_ended", outcome.status)]
            if found != required:
                yield Finding(f"{JOURNAL}: {_name(attempt)}", _events(found), _events(required))
    for attempt in attempts.keys() - known:
        yield Finding(f"{JOURNAL}: {_name(attempt)}", "an attempt", "an outcome in case.json")


def _events(entries: Sequence[tuple[str, str | None]]) -> str:
    shown = (event if status is None else f"{event} {status}" for event, status in entries)
    return ", ".join(shown) or "no entry"


def _times(bundle: Bundle, attempts: dict[_Attempt, list[JournalEntry]]) -> Iterator[Finding]:
    for folder, case in bundle.cases.items():
        for run in case.runs:
            document = run.document
            entries = attempts.get((folder, document.device, document.number), [])
            if len(entries) != 2:  # `_outcomes` has said so
                continue
            start_ns, end_ns = entries[0].t_ns, entries[1].t_ns
            if not start_ns <= document.started_ns <= document.ended_ns <= end_ns:
                found = f"started_ns {document.started_ns}, ended_ns {document.ended_ns}"
                required = f"in order, within {start_ns} to {end_ns} by {JOURNAL}"
                yield Finding(f"{run.path}/{RUN}", found, required)


def _overlaps(attempts: dict[_Attempt, list[JournalEntry]]) -> Iterator[Finding]:
    spans: dict[str, list[tuple[int, int, _Attempt]]] = {}
    for attempt, entries in attempts.items():
        times = [entry.t_ns for entry in entries]
        spans.setdefault(attempt[1], []).append((min(times), max(times), attempt))
    for runs in spans.values():
        for (_, end_ns, before), (start_ns, _, after) in pairwise(sorted(runs)):
            if start_ns < end_ns:
                found = f"begins before {_name(before)} has ended"
                yield Finding(f"{JOURNAL}: {_name(after)}", found, "one run on a device at a time")


def _numbers(bundle: Bundle) -> Iterator[Finding]:
    outcomes = {folder: case.record.runs for folder, case in bundle.cases.items()}
    devices = {outcome.device for runs in outcomes.values() for outcome in runs}
    wanted = list(range(1, bundle.plan.replicates + 1))
    for folder, runs in outcomes.items():
        for device in sorted(devices):
            found = sorted(outcome.number for outcome in runs if outcome.device == device)
            if found != wanted:
                numbers = ", ".join(map(str, found)) or "none"
                required = f"1 to {bundle.plan.replicates}"
                yield Finding(f"{case_file(folder)}: {device}", f"attempts {numbers}", required)
