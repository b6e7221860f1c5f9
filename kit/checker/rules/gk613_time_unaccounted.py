"""The journal is silent for longer than the kit needs.

## What it checks
From the end of an attempt to the start of the next, and to the end of the bundle, no more than the
edition's seconds pass. After the first measured run of a case and device, where a plan asks for
hardware counters, `timeout_s` is added for them.

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
Fails: 68 s between runs of 66 s.
"""

from collections.abc import Iterator
from itertools import pairwise

from kit.bundle.layout import JOURNAL
from kit.bundle.reader import Bundle
from kit.checker.rule import Finding, rule
from kit.ruleset import Ruleset


@rule("GK613", "time-unaccounted", clauses=("M26",), since="2026.1")
def check(bundle: Bundle, rules: Ruleset) -> Iterator[Finding]:
    """Look at what lies between attempts."""
    counts = bundle.plan.counters.tool != "none"
    counted: set[tuple[str | None, str | None]] = set()
    for place, (before, after) in enumerate(pairwise(bundle.journal.entries), 1):
        if before.event == "run_started":
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
