"""Whether the caches were cold is known by the footprint rule alone.

## What it checks
The bundle holds no count of the bytes that each GEMM read from DRAM, so that this rule stays
unproven for a GPU. GK306, GK307 and GK308 prove the rotation itself.

## Why it matters
A count of at least the bytes of A and B would prove that nothing was left in the cache.

## How to fix
This edition of the kit takes no hardware counters; nothing is to be done.

## Clause
M16 (cache hit rate proves rotation), M13 (utilisation and bytes of a fixed-frequency test).

## Example
Passes: never in this edition.
Fails: never in this edition.
"""

from collections.abc import Iterator

from kit.bundle.reader import Bundle
from kit.checker.rule import Finding, Unproven, rule
from kit.checker.runs import only_on_gpu
from kit.ruleset import Ruleset


@rule("GK312", "cold-cache-unproven", clauses=("M13", "M16"), since="2026.1")
def check(bundle: Bundle, _rules: Ruleset) -> Iterator[Finding]:
    """Say that there are no counters."""
    only_on_gpu(bundle, "DRAM traffic by a GPU's counters")
    yield from ()
    raise Unproven("footprint rule only: the bundle holds no bytes read from DRAM")
