"""`make battery`: forge, judge, and print what became of every manipulation.

Arguments are parts of names; without any, the whole battery runs. Exit code 1 unless everything
that was accepted is documented as impossible to catch, nothing crashed the checker, and nine of ten
manipulations were caught by the rule that they name.
"""

import os
import sys
import time
from collections import Counter

from battery.impossible import IMPOSSIBLE
from battery.judging import judge_battery
from battery.registry import battery

COLUMNS = ("named", "other", "accepted", "impossible", "crashed", "unforged")
LEAST_NAMED = 0.9


def main(arguments):
    """Judge the battery; returns the exit code."""
    known = battery()
    ids = [name for name in known if not arguments or any(part in name for part in arguments)]
    started = time.monotonic()
    results = {result.id: result for result in judge_battery(ids, os.cpu_count() or 1)}
    seconds = time.monotonic() - started
    counts, listed = Counter(), {column: [] for column in COLUMNS}
    for name, result in results.items():
        column = "impossible" if _excused(result) else result.caught
        counts[known[name].kind, column] += 1
        listed[column].append(name)
    _table(counts, len({result.digest for result in results.values()}), seconds)
    for column in ("other", "accepted", "crashed", "unforged"):
        _details(column, [(name, known[name], results[name]) for name in listed[column]])
    if listed["impossible"]:
        print("\nAccepted, as nothing in one bundle can tell (tests/battery/impossible.py):")
        for name in listed["impossible"]:
            why, what = IMPOSSIBLE[name]
            print(f"  {name}: {known[name].text}\n    why: {why}\n    caught by: {what}")
    stale = [name for name in IMPOSSIBLE if name in results and not _excused(results[name])]
    for name in stale:
        print(f"\n{name} is caught now: take it out of tests/battery/impossible.py")
    return int(bool(_fails(counts, len(results), stale)))


def _excused(result):
    return result.caught == "accepted" and result.id in IMPOSSIBLE


def _sum(counts, column):
    return sum(number for (_, where), number in counts.items() if where == column)


def _fails(counts, total, stale):
    wrong = sum(_sum(counts, column) for column in ("accepted", "crashed", "unforged"))
    catchable = total - _sum(counts, "impossible")
    return wrong or stale or _sum(counts, "named") < LEAST_NAMED * catchable


def _table(counts, distinct, seconds):
    kinds = sorted({kind for kind, _ in counts})
    print(f"{'kind':20}{'all':>6}" + "".join(f"{column:>12}" for column in COLUMNS))
    for kind in kinds:
        row = [counts[kind, column] for column in COLUMNS]
        print(f"{kind:20}{sum(row):6}" + "".join(f"{number or '':>12}" for number in row))
    row = [_sum(counts, column) for column in COLUMNS]
    print(f"{'all':20}{sum(row):6}" + "".join(f"{number:12}" for number in row))
    print(f"{sum(row)} manipulations, {distinct} different bundles, in {seconds:.0f} s")


def _details(column, entries):
    if entries:
        print(f"\n{column}:")
    for name, entry, result in entries:
        found = ", ".join(result.found)[:160] or "nothing"
        print(f"  {name} ({entry.stands_for}; wanted {entry.rule}, found {found}): {entry.text}")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
