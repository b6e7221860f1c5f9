"""The round holds the same bundle twice.

## What it checks
No two folders of the round hold a bundle of the same digest.

## Why it matters
A digest is a bundle's identity. Twice in a round, one measurement counts as two, and below another
submitter's folder it counts as somebody else's.

## How to fix
Leave one of the folders out of the round.

## Clause
M26: results are reproducible if they were measured again, not if they were copied.

## Example
Passes: two bundles of one system, measured on different days.
Fails: `open/acme/dgx/a` and `open/apex/dgx/b`, byte for byte the same.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence

from kit.checker.round_rule import Member, round_rule
from kit.checker.rule import Finding

_ONCE = "each bundle once in a round"


@round_rule("GK701", "bundle-given-twice", clauses=("M26",), since="2026.1")
def check(members: Sequence[Member]) -> Iterator[tuple[int, int, Finding]]:
    """Group the round by digest."""
    groups = defaultdict(list)
    for number, member in enumerate(members):
        groups[member.digest].append(number)
    for group in groups.values():
        for number in group if len(group) > 1 else ():
            other = group[0] if number != group[0] else group[1]
            found = f"the bundle is also {members[other].name}"
            yield number, other, Finding("tagmanifest-sha256.txt", found, _ONCE)
