"""Two bundles of the round hold the same measured series.

## What it checks
No two bundles share, value for value, the durations of a run's windows, a power or clock series or
the course of a kernel trace, nor a stretch of 16 changing values out of one of these, whatever the
times beside them say. Both bundles fail, unless one is not compliant by itself or untrusted beside
a trusted one: then the other is warned. Sampled outputs are not compared: bundles of one plan and
challenge share them honestly, since they follow from the seed, and GK204 recomputes them. A copy in
which every value was changed a little is not found: only a measurement of one's own can tell.

## Why it matters
Nanoseconds and milliwatts of two measurements never agree over a stretch. The same series in two
bundles means that at least one of them was not measured.

## How to fix
Measure each bundle. Which of two is the copy cannot be told from the bundles; an auditor who knows
waives this rule for the original.

## Clause
M26: results are reproducible if they were measured again, not if they were copied.

## Example
Passes: two bundles from one GPU on one day.
Fails: a bundle with the `power.csv` of another one, its times moved and its first second cut off.
"""

from collections.abc import Iterator, Sequence

from kit.checker.round_rule import Member, round_rule
from kit.checker.rule import Finding
from kit.checker.traits import STRETCH

Series = tuple[int, str]
"""A bundle's number, and the place of one of its series."""


@round_rule("GK702", "data-of-another-bundle", clauses=("M26",), since="2026.1")
def check(members: Sequence[Member]) -> Iterator[tuple[int, int, Finding]]:
    """Look every digest up among those of the bundles before."""
    first: dict[str, Series] = {}
    shared: dict[tuple[Series, tuple[bool, bool]], tuple[Series, str]] = {}

    def share(mine: Series, theirs: Series, what: str) -> None:
        """Remember one other series of each credibility."""
        shared.setdefault((mine, members[theirs[0]].credibility), (theirs, what))

    for number, member in enumerate(members):
        for place, text in member.traits.series.items():
            series = (number, place)
            what = "all of it"
            for digest in text.split():
                known = first.setdefault(digest, series)
                if members[known[0]].digest != member.digest:
                    share(series, known, what)
                    share(known, series, what)
                what = f"{STRETCH} values in a row and more"
    for ((number, place), _), ((other, where), what) in sorted(shared.items()):
        found = f"{what} as in {members[other].name}: {where}"
        yield number, other, Finding(place, found, "a series of its own")
