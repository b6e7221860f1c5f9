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

import re
from collections.abc import Iterator

from kit.bundle import layout
from kit.bundle.reader import Bundle
from kit.checker.rule import Finding, rule
from kit.ruleset import Ruleset
from kit.workload import sizes_said

_NUMBER = re.compile(r"\d{3,}", re.ASCII)


@rule("GK611", "case-misnamed", clauses=("M26",), since="2026.1")
def check(bundle: Bundle, _rules: Ruleset) -> Iterator[Finding]:
    """Compare each case's id and name with what it multiplies."""
    for number, case in enumerate(bundle.plan.cases):
        place = f"{layout.PLAN}: cases[{number}]"
        work = case.workload
        required = f"{work.name}-{case.number_format}-{work.layout}"
        if case.id != required:
            yield Finding(f"{place}.id", case.id, required)
        wanted = (work.batch, work.m, work.n, work.k)
        said = sizes_said(work.name)
        if (said is None and not _is_free(work.name, wanted)) or said not in (None, wanted):
            batch = f"batch {work.batch}, " if work.batch > 1 else ""
            sizes = f"{batch}M {work.m}, N {work.n}, K {work.k}"
            required = f"a name that says {sizes}, or no sizes"
            yield Finding(f"{place}.workload.name", work.name, required)


def _is_free(name: str, sizes: tuple[int, ...]) -> bool:
    """Whether a name that says no sizes cannot be read as if it did."""
    numbers = [number[0] for number in _NUMBER.finditer(name)]
    if name.startswith("square") and any(sign.isdigit() for sign in name):
        return False
    return all(number in map(str, sizes) for number in numbers)
