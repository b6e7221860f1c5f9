"""The kit that measured was not the published one.

## What it checks
`environment.kit.clean` is not false: the kit ran from an installed package, or from a checkout
without changes.

## Why it matters
A changed runner may measure something else than the rules assume.

## How to fix
Commit or remove the changes, and measure again; in the open division, say what was changed.

## Clause
M26: anybody can repeat a result with the same kit.

## Example
Passes: a commit and `clean: true`, or both null.
Fails: `clean: false`.
"""

from collections.abc import Iterator

from kit.bundle.layout import ENVIRONMENT
from kit.bundle.reader import Bundle
from kit.checker.rule import Finding, methodology_severity, rule
from kit.ruleset import Ruleset


@rule("GK105", "kit-modified", clauses=("M26",), since="2026.1")
def check(bundle: Bundle, _rules: Ruleset) -> Iterator[Finding]:
    """Read what the kit said of its own checkout."""
    kit = bundle.environment.kit
    if kit.clean is False:
        found = f"false: version {kit.version}, commit {kit.commit} with changes"
        required = "an unchanged checkout or an installed kit"
        severity = methodology_severity(bundle)
        yield Finding(f"{ENVIRONMENT}: kit.clean", found, required, severity)
