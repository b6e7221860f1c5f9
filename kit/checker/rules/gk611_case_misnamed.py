"""A case is called something else than it is.

## What it checks
A case's id is its workload's name, number format and layout. A name that ends in one size or in
three (`square_4096`, `guideline_8192x8192x16384`) says M, N and K.

## Why it matters
Tables are read by these names.

## How to fix
Use a preset, or give `workload.name` a name without sizes.

## Clause
M26: results are consistent across devices when one name means one problem.

## Example
Passes: `square_4096-bf16-nn`, M = N = K = 4096.
Fails: `square_16384-fp64-nn` for the same problem.
"""

import re
from collections.abc import Iterator

from kit.bundle import layout
from kit.bundle.reader import Bundle
from kit.checker.rule import Finding, rule
from kit.ruleset import Ruleset

_THREE = re.compile(r"_(\d{1,10})x(\d{1,10})x(\d{1,10})\Z", re.ASCII)
_SQUARE = re.compile(r"square_(\d{1,10})\Z", re.ASCII)


@rule("GK611", "case-misnamed", clauses=("M26",), since="2026.1")
def check(bundle: Bundle, _rules: Ruleset) -> Iterator[Finding]:
    """Compare each case's id and name with what it multiplies."""
    for number, case in enumerate(bundle.plan.cases):
        place = f"{layout.PLAN}: cases[{number}]"
        work = case.workload
        required = f"{work.name}-{case.number_format}-{work.layout}"
        if case.id != required:
            yield Finding(f"{place}.id", case.id, required)
        said = _sizes(work.name)
        if said is not None and said != (work.m, work.n, work.k):
            sizes = f"M {work.m}, N {work.n}, K {work.k}"
            yield Finding(f"{place}.workload.name", work.name, f"a name that says {sizes}")


def _sizes(name: str) -> tuple[int, int, int] | None:
    """The sizes that a workload's name says; None if it says none."""
    three, square = _THREE.search(name), _SQUARE.search(name)
    if three is not None:
        m, n, k = map(int, three.groups())
        return m, n, k
    return None if square is None else (int(square[1]),) * 3
