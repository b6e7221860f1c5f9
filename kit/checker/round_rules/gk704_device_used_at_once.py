"""Two bundles used the same GPU at the same time.

## What it checks
Runs of different bundles on the same GPU, by the hash of its UUID, do not overlap by more than a
minute of the time that each bundle says it was. A bundle that is not compliant by itself, or
untrusted beside a trusted one, fails alone; the other is warned.

## Why it matters
The kit locks a GPU while it measures. Runs that overlap shared the device, or one of the bundles
does not come from when or where it says. A minute is left for a host clock that was set meanwhile.

## How to fix
Measure one bundle after the other, on a machine whose clock is right.

## Clause
M04: no other work on the GPU between launches.

## Example
Passes: runs from 10:00 to 10:05 and from 10:06 to 10:11.
Fails: runs from 10:00 to 10:05 in one bundle and from 10:02 to 10:07 in the other.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime

from kit.bundle.layout import JOURNAL
from kit.checker.round_rule import Member, round_rule
from kit.checker.rule import Finding

_SLACK_S = 60

Span = tuple[int, int, int]
"""Start and end of a run, in Unix seconds, and the number of its bundle."""


@round_rule("GK704", "device-used-at-once", clauses=("M04",), since="2026.1")
def check(members: Sequence[Member]) -> Iterator[tuple[int, int, Finding]]:
    """Sweep over each device's runs in the order of their starts."""
    spans: dict[str, list[Span]] = defaultdict(list)
    for number, member in enumerate(members):
        for device, times in member.traits.busy.items():
            spans[device] += [
                (start, end, number) for start, end in zip(times[::2], times[1::2], strict=True)
            ]
    for device, found in spans.items():
        yield from _overlaps(members, device, sorted(found))


def _overlaps(
    members: Sequence[Member], device: str, spans: list[Span]
) -> Iterator[tuple[int, int, Finding]]:
    # The two latest ends, of different bundles: a run may lie within an earlier one of its own.
    # They are kept for each credibility, so that a worthless bundle does not hide a good one.
    latest: dict[str, Span] = {}
    told = set()
    for span in spans:
        digest = members[span[2]].digest
        for known, other in latest.items():
            if known != digest and min(other[1], span[1]) - span[0] > _SLACK_S:
                for one, two in ((span, other), (other, span)):
                    if (one[2], two[2]) not in told:
                        told.add((one[2], two[2]))
                        yield one[2], two[2], _finding(members, device, one, two)
        if digest not in latest or latest[digest][1] < span[1]:
            latest[digest] = span
        rank = members[span[2]].credibility
        alike = [name for name in latest if members[latest[name][2]].credibility == rank]
        for known in sorted(alike, key=lambda name: latest[name][1])[:-2]:
            del latest[known]


def _finding(members: Sequence[Member], device: str, mine: Span, other: Span) -> Finding:
    required = f"a time of its own; {members[other[2]].name} used it {_times(other)}"
    return Finding(f"{JOURNAL}: {device}", f"used {_times(mine)}", required)


def _times(span: Span) -> str:
    start, end = (datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%d %H:%M:%S") for at in span[:2])
    return f"from {start} to {end} UTC"
