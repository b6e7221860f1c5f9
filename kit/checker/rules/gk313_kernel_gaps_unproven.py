"""Whether kernels followed each other without gaps is known by the mean period alone.

## What it checks
The bundle holds no start and end of single kernels, so that this rule stays unproven for a GPU.
GK305 proves that the host was the faster one.

## Why it matters
A list of kernels would show every gap, and every kernel that no compiled program names.

## How to fix
This edition of the kit takes no kernel trace; nothing is to be done.

## Clause
M17: examine launch times for minimal gaps.

## Example
Passes: never in this edition.
Fails: never in this edition.
"""

from collections.abc import Iterator

from kit.bundle.reader import Bundle
from kit.checker.rule import Finding, Unproven, rule
from kit.checker.runs import only_on_gpu
from kit.ruleset import Ruleset


@rule("GK313", "kernel-gaps-unproven", clauses=("M17",), since="2026.1")
def check(bundle: Bundle, _rules: Ruleset) -> Iterator[Finding]:
    """Say that there is no kernel trace."""
    only_on_gpu(bundle, "gaps between GPU kernels")
    yield from ()
    raise Unproven("the bundle holds no kernel trace")
