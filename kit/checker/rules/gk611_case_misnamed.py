"""A case is called something else than it is.

## What it checks
A case's id is its workload's name, number format and layout. A name that ends in one size or in
three (`square_4096`, `guideline_8192x8192x16384`) says M, N and K of a single product, or of as
many as `_batch8` behind it says; one that ends in four says the batch first. Any other number of
three digits or more is one of these sizes, and no other name begins with `square` and has numbers.

## Why it matters
Tables are read by these names.

## How to fix
Use a preset, or give `workload.name` a name without sizes.

## Clause
M26: results are consistent across devices when one name means one problem.

## Example
Passes: `square_4096-bf16-nn`, M = N = K = 4096.
Fails: `square_16384-fp64-nn` for the same problem, or `square_4096-bf16-nn` for a batch of 64.
"""

from collections.abc import Iterator

from kit.bundle import layout
from kit.bundle.reader import Bundle
from kit.checker.rule import Finding, rule
from kit.plan import case_id
from kit.ruleset import Ruleset
from kit.workload import misnamed


@rule("GK611", "case-misnamed", clauses=("M26",), since="2026.1")
def check(bundle: Bundle, _rules: Ruleset) -> Iterator[Finding]:
    """Compare each case's id and name with what it multiplies."""
    for number, case in enumerate(bundle.plan.cases):
        place = f"{layout.PLAN}: cases[{number}]"
        required = case_id(case.workload, case.number_format)
        if case.id != required:
            yield Finding(f"{place}.id", case.id, required)
        if required := misnamed(case.workload):
            yield Finding(f"{place}.workload.name", case.workload.name, required)
