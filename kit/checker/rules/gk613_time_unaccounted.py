"""The journal is silent for longer than the kit needs.

## What it checks
Before the first attempt, from the end of each to the start of the next, and to the end of the
bundle, no more than the edition's seconds pass. After the first measured run of a case and device,
where a plan asks for hardware counters, `timeout_s` is added for them. Later attempts at it, which
tune nothing, begin to measure within the edition's seconds of their start.

## Why it matters
The kit goes from one attempt to the next without a pause, and the clock stands still in a machine
that is suspended. A pause of an attempt's length is where one was left out and the others were
numbered through.

## How to fix
Hand over every attempt. If the kit was stopped in between, measure again.

## Clause
M26: results are reproducible, which a choice among runs is not.

## Example
Passes: 0.02 s from one attempt to the next, and 13.6 s where counters were read in between.
Fails: 68 s between runs of 66 s, or between an attempt's start and that of its process.
"""

from collections.abc import Iterator
from itertools import pairwise

from kit.bundle.layout import JOURNAL
from kit.bundle.reader import Bundle
from kit.checker.rule import Finding, rule
from kit.checker.runs import measured_runs
from kit.ruleset import Ruleset


@rule("GK613", "time-unaccounted", clauses=("M26",), since="2026.1")
def check(bundle: Bundle, rules: Ruleset) -> Iterator[Finding]:
    """Look at what lies between attempts, and at how long each takes to begin."""
    yield from _between(bundle, rules)
    started = {
        (entry.case, entry.device, entry.run): entry.t_ns
        for entry in bundle.journal.entries
        if entry.event == "run_started"
    }
    tuned: set[tuple[str, str]] = set()
    for run in measured_runs(bundle):
        document = run.document
        subject = (document.case, document.device)
        tunes = bundle.plan.backend.tuning_attempts > 0 and subject not in tuned
        tuned.add(subject)
        began_ns = started.get((*subject, document.number))
        if tunes or began_ns is None:
            continue
        lag_s = (document.started_ns - began_ns) * 1e-9
        if lag_s > rules.attempt_start_s:
            found = f"{lag_s:.1f} s after run_started of {JOURNAL}"
            required = f"at most {rules.attempt_start_s:g} s: nothing is tuned"
            yield Finding(run.at("started_ns"), found, required)


def _between(bundle: Bundle, rules: Ruleset) -> Iterator[Finding]:
    counts = bundle.plan.counters.tool != "none"
    counted: set[tuple[str | None, str | None]] = set()
    for place, (before, after) in enumerate(pairwise(bundle.journal.entries), 1):
        if before.event == "run_started" or after.event not in ("run_started", "bundle_ended"):
            continue
        allowed_s = rules.journal_silence_s
        subject = (before.case, before.device)
        if before.status == "measured" and subject not in counted:
            counted.add(subject)
            allowed_s += bundle.plan.timeout_s if counts else 0.0
        silent_s = (after.t_ns - before.t_ns) * 1e-9
        if silent_s > allowed_s:
            found = f"{silent_s:.1f} s after {before.event}"
            required = f"at most {allowed_s:g} s in which no attempt runs"
            yield Finding(f"{JOURNAL}: entries[{place}]", found, required)
