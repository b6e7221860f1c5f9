"""The dates of a bundle and its time line do not belong together.

## What it checks
Every run's `started_utc` is the journal's `started_utc` and the run's own `started_ns` later,
within the edition's seconds. The `Bagging-Date` is the day on which the journal ends, within the
edition's days: the kit seals what it has measured.

## Why it matters
Both clocks ran on one machine. A run from another day, or a time line from which runs were cut,
keeps one of them. Dates that were moved together leave the seal's behind.

## How to fix
Measure again, on a machine whose clock is not set and which is not suspended meanwhile.

## Clause
M26: replicates of one bundle are measured together.

## Example
Passes: a bundle of 22:42:08Z, a run of 22:42:22Z that started 13.4 s later.
Fails: the same run dated a year earlier, or the whole bundle a year before its `Bagging-Date`.
"""

from collections.abc import Iterator
from datetime import date, datetime

from kit.bundle import layout
from kit.bundle.manifest import parse_bag_info
from kit.bundle.reader import Bundle
from kit.checker.rule import Finding, Severity, methodology_severity, rule
from kit.checker.runs import MeasuredRun, judge_runs
from kit.errors import BundleError
from kit.ruleset import Ruleset

BAG_INFO = "bag-info.txt"
_DAY_S = 86_400
_DATE_LENGTH = len("2026-11-29T09:00:00Z")
_EPOCH = date(1970, 1, 1).toordinal()


@rule("GK612", "dates-disagree", clauses=("M26",), since="2026.1")
def check(bundle: Bundle, rules: Ruleset) -> Iterator[Finding]:
    """Compare both clocks at every run's start."""
    severity = methodology_severity(bundle)
    opened = _seconds(bundle.journal.started_utc)

    def judge(run: MeasuredRun) -> Iterator[Finding]:
        begun = _seconds(run.document.started_utc)
        if opened is None or begun is None:
            found = f"{run.document.started_utc} in a bundle of {bundle.journal.started_utc}"
            yield Finding(run.at("started_utc"), found, "two dates such as 2026-11-29T09:00:00Z")
            return
        later, wanted = begun - opened, run.document.started_ns * 1e-9
        if abs(later - wanted) > rules.utc_difference_s:
            found = f"{later:.0f} s after started_utc of {layout.JOURNAL}"
            required = f"{wanted:.1f} s within {rules.utc_difference_s} s, by started_ns"
            yield Finding(run.at("started_utc"), found, required, severity)

    yield from _sealed(bundle, opened, rules, severity)
    yield from judge_runs(bundle, judge)


def _sealed(
    bundle: Bundle, opened: float | None, rules: Ruleset, severity: Severity
) -> Iterator[Finding]:
    info, entries = bundle.container.files.get(BAG_INFO), bundle.journal.entries
    if info is None or opened is None or not entries:
        return
    try:
        sealed = parse_bag_info(info).bagging_date
    except BundleError:  # changed after sealing, which GK001 says
        return
    ended = opened + entries[-1].t_ns * 1e-9
    days = sealed.toordinal() - _EPOCH - ended // _DAY_S
    if abs(days) > rules.bagging_days:
        found = f"{sealed}, {days:.0f} days after {layout.JOURNAL} ends"
        required = f"the same day within {rules.bagging_days}"
        yield Finding(f"{BAG_INFO}: Bagging-Date", found, required, severity)


def _seconds(text: str) -> float | None:
    """Seconds of the Unix epoch at an RFC 3339 date in UTC; None where it is none."""
    try:
        # The schema fixes the form; only parts of a second may be there that no date here has.
        return datetime.fromisoformat(text).timestamp() if len(text) == _DATE_LENGTH else None
    except (ValueError, OverflowError):
        return None
