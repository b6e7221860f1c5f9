"""The power limit moved, or is not the product's own and nobody said so.

## What it checks
Enforced, default, smallest and largest power limit are the same before and after the run, and the
enforced one lies between the smallest and the largest. An enforced limit other than the default
must be declared: `hw_notes` of the system description names it in W. A default other than the TDP
of the product in the kit's table is remarked on, where that row is well founded.

## Why it matters
At a fixed power the limit decides the clock. A figure at 600 W and one at 700 W are two products.

## How to fix
Leave the limit alone during a run, and declare a changed one, such as `power limit 600 W`.

## Clause
M10: fixed power runs at a given power limit.

## Example
Passes: 700 W enforced and default, before and after.
Fails: 700 W before, 600 W after.
"""

import re
from collections.abc import Iterator

from kit.bundle import layout
from kit.bundle.reader import Bundle
from kit.checker.rule import Finding, Unproven, methodology_severity, rule
from kit.checker.runs import MeasuredRun, judge_runs, only_on_gpu
from kit.gpu_table import row_for
from kit.ruleset import Ruleset

_LIMITS = ("power_enforced_mw", "power_default_mw", "power_minimum_mw", "power_maximum_mw")


@rule("GK404", "power-limit-changed", clauses=("M10",), since="2026.1")
def check(bundle: Bundle, rules: Ruleset) -> Iterator[Finding]:
    """Compare the limits before and after, and with the default."""
    only_on_gpu(bundle, "a GPU's power limit")
    notes = bundle.system.hw_notes or ""

    def judge(run: MeasuredRun) -> Iterator[Finding]:
        before, after = run.document.limits_before, run.document.limits_after
        missing = set()
        for name in _LIMITS:
            first, last = getattr(before, name), getattr(after, name)
            if first is None or last is None:
                missing.add(name)
            elif first != last:
                place = run.at(f"limits_after.{name}")
                yield Finding(place, f"{last} mW", f"{first} mW, as before the run")
        place = run.at("limits_before.power_enforced_mw")
        enforced, default = before.power_enforced_mw, before.power_default_mw
        low, high = before.power_minimum_mw, before.power_maximum_mw
        if enforced is not None:
            if low is not None and high is not None and not low <= enforced <= high:
                yield Finding(place, f"{enforced} mW", f"between {low} and {high} mW")
            if default is not None and enforced != default and not _declares(notes, enforced):
                required = (
                    f"{default} mW, or `{enforced / 1000:g} W` in hw_notes of {layout.SYSTEM}"
                )
                severity = methodology_severity(bundle)
                yield Finding(place, f"{enforced} mW, undeclared", required, severity)
        yield from _default(run, default, rules)
        if missing:
            raise Unproven(f"{', '.join(sorted(missing))} is missing")

    yield from judge_runs(bundle, judge)


def _default(run: MeasuredRun, default_mw: int | None, rules: Ruleset) -> Iterator[Finding]:
    row = None if run.device is None else row_for(run.device)
    if row is None or row.confidence != "high" or default_mw is None:
        return
    if abs(default_mw - 1000 * row.tdp_w) > rules.default_limit_difference * 1000 * row.tdp_w:
        place = run.at("limits_before.power_default_mw")
        required = f"{row.tdp_w} W, the TDP of {row.product}"
        yield Finding(place, f"{default_mw} mW", required, "warn")


def _declares(notes: str, enforced_mw: int) -> bool:
    return re.search(rf"(?<![\d.]){enforced_mw / 1000:g}\s*W\b", notes) is not None
