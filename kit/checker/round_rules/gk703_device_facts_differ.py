"""Two bundles describe the same GPU differently.

## What it checks
Bundles with runs on the same GPU, by the hash of its UUID, agree about its product name, compute
capability, number of SMs, L2 size and memory bus. Devices with MIG enabled are left out. A bundle
that is not compliant by itself, or untrusted beside a trusted one, fails alone; the other is
warned.

## Why it matters
Nothing changes these facts of a part. Speed of light and the rotation's footprint follow from them,
so one of the bundles is judged by wrong ones.

## How to fix
Measure the bundle whose facts are wrong again. An auditor who knows waives this rule for the other.

## Clause
M18 and M24: speed of light and buffer counts follow from what the device is.

## Example
Passes: `gpu-1dd20b1a6155` with 132 SMs in both.
Fails: `gpu-1dd20b1a6155` with 60 MiB of L2 in one bundle and 30 MiB in the other.
"""

from collections.abc import Iterator, Sequence

from kit.bundle.layout import ENVIRONMENT
from kit.checker.round_rule import Member, round_rule
from kit.checker.rule import Finding


@round_rule("GK703", "device-facts-differ", clauses=("M18", "M24"), since="2026.1")
def check(members: Sequence[Member]) -> Iterator[tuple[int, int, Finding]]:
    """Compare each fact with that of the first bundle that knows it; both sides are told."""
    first: dict[tuple[str, str], tuple[int, str]] = {}
    told = set()
    for number, member in enumerate(members):
        for device, facts in member.traits.devices.items():
            for name, value in facts.items():
                other, known = first.setdefault((device, name), (number, value))
                if value == known:
                    continue
                place = f"{ENVIRONMENT}: {device}.{name}"
                required = f"{known}, as in {members[other].name}"
                yield number, other, Finding(place, value, required)
                if (other, place) not in told:
                    told.add((other, place))
                    required = f"{value}, as in {member.name}"
                    yield other, number, Finding(place, known, required)
