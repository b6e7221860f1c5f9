"""The compiled program does not go round the buffer sets.

## What it checks
In the optimised HLO output i of a call is the product of A and B, and their scales, of set i, and
is written in place over D of set i, for every set that a call goes through. Parameters are known by
their order: all D, all A, all B, then scales.

## Why it matters
A program that multiplies one pair of operands again and again finds them in the cache, whatever the
buffers beside them say. One that does not write in place allocates, and leaves D where it was.

## How to fix
Measure again; the kit compiles this program.

## Clause
M24, M25: rotate the buffers of A, B and D. M03: nothing is allocated inside the loops.

## Example
Passes: `custom-call(%a_1, %b_1)` gives output 1, aliased to parameter 1.
Fails: `custom-call(%a_0, %b_0)` gives it.
"""

from collections.abc import Iterator

from kit.bundle.reader import Bundle
from kit.checker.programs import place, proof
from kit.checker.rule import Finding, Unproven, rule
from kit.checker.runs import MeasuredRun, judge_runs
from kit.ruleset import Ruleset


@rule("GK316", "program-not-rotating", clauses=("M03", "M24", "M25"), since="2026.1")
def check(bundle: Bundle, _rules: Ruleset) -> Iterator[Finding]:
    """Compare the sets that each output's product reads, and the one that it is written to."""

    def judge(run: MeasuredRun) -> Iterator[Finding]:
        try:
            found = proof(run)
        except ValueError as error:
            raise Unproven(f"the HLO cannot be read: {error}") from None
        for fault in found.rotation:
            yield Finding(f"{place(run)}: {fault.place}", fault.found, fault.required)

    yield from judge_runs(bundle, judge)
