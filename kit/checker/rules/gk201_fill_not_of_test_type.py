"""The operands were not filled as the kind of test asks.

## What it checks
A fixed-power test fills uniformly on [-1, 1], a fixed-frequency test with zeros.

## Why it matters
Zeros switch few bits: an H200 at its power limit multiplies zeros 20 % faster than random values.
In a fixed-frequency test they keep the power low enough for the clock to hold.

## How to fix
Leave `test_type.fill` at the default of the chosen test type.

## Clause
M09 (fixed frequency), M20 (uniform fill).

## Example
Passes: `fixed_power` with fill `uniform`.
Fails: `fixed_power` with fill `zero`.
"""

from collections.abc import Iterator

from kit.bundle import layout
from kit.bundle.reader import Bundle
from kit.checker.rule import Finding, methodology_severity, rule
from kit.ruleset import Ruleset

_FILL = {"fixed_power": "uniform", "fixed_frequency": "zero"}


@rule("GK201", "fill-not-of-test-type", clauses=("M09", "M20"), since="2026.1")
def check(bundle: Bundle, _rules: Ruleset) -> Iterator[Finding]:
    """Compare fill and test type."""
    kind = bundle.plan.test_type
    if kind.fill != _FILL[kind.name]:
        yield Finding(
            f"{layout.PLAN}: test_type.fill",
            kind.fill,
            f"{_FILL[kind.name]} for a {kind.name} test",
            methodology_severity(bundle),
        )
