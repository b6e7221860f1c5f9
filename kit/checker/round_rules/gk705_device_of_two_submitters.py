"""Two submitters measured the same GPU.

## What it checks
Bundles of different submitters name different GPUs, by the hash of their UUIDs. A warning.

## Why it matters
It may be honest: a rented machine has many users. It may also be one submitter's measurement under
another's name, so an auditor should ask.

## How to fix
Say in the system description's notes whose machine it is.

## Clause
M26: a result of another submitter confirms one's own only if it comes from another part.

## Example
Passes: two submitters with a GPU each.
Fails: `gpu-1dd20b1a6155` in a bundle of acme and in one of apex, which is a warning.
"""

from collections.abc import Iterator, Sequence

from kit.bundle.layout import ENVIRONMENT
from kit.checker.round_rule import Member, round_rule
from kit.checker.rule import Finding


@round_rule("GK705", "device-of-two-submitters", clauses=("M26",), since="2026.1")
def check(members: Sequence[Member]) -> Iterator[tuple[int, int, Finding]]:
    """For each device, name one other submitter who used it."""
    users: dict[str, dict[str, int]] = {}
    for number, member in enumerate(members):
        for device in member.traits.devices:
            users.setdefault(device, {}).setdefault(member.traits.submitter, number)
    for number, member in enumerate(members):
        for device in member.traits.devices:
            for submitter, other in users[device].items():
                if submitter != member.traits.submitter:
                    found = f"also used by {submitter}, in {members[other].name}"
                    required = "a device of the submitter's own, or a note"
                    yield (
                        number,
                        other,
                        Finding(f"{ENVIRONMENT}: {device}", found, required, "warn"),
                    )
                    break
