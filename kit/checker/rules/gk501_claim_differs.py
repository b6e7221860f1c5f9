"""A claimed figure does not follow from the evidence.

## What it checks
Every figure of `results.json` is recomputed from the windows and the telemetry, run by run and case
by case, and must agree to nine digits. What cannot be derived must not be claimed.

## Why it matters
The claim is what gets quoted. Achieved FLOP/s are 2·M·N·K·batch over the mean period and nothing
else; telemetry counts over exactly the profiling windows.

## How to fix
Do not edit results; the kit derives them when it seals a bundle.

## Clause
M11: achieved FLOP/s are computed from the measured durations.

## Example
Passes: claimed 689.2 TFLOP/s, recomputed 689.2 TFLOP/s.
Fails: claimed 699.2 TFLOP/s, recomputed 689.2 TFLOP/s.
"""

from collections.abc import Iterator
from dataclasses import fields

from kit.bundle.layout import RESULTS
from kit.bundle.reader import Bundle
from kit.checker.recomputed import recompute
from kit.checker.rule import Finding, Unproven, rule
from kit.evidence import CaseMetrics, RunMetrics
from kit.metrics import same
from kit.ruleset import Ruleset

_KEYS = ("id", "runs", "device", "number")
_FIGURES = {
    kind: tuple(field.name for field in fields(kind) if field.name not in _KEYS)
    for kind in (CaseMetrics, RunMetrics)
}


@rule("GK501", "claim-differs", clauses=("M11",), since="2026.1")
def check(bundle: Bundle, _rules: Ruleset) -> Iterator[Finding]:
    """Recompute every figure and name each that differs."""
    claims = {case.id: case for case in bundle.claims.cases}
    unproven: list[str] = []
    for case in recompute(bundle):
        unproven.extend(case.unproven)
        claim = claims.get(case.case.id)
        if claim is None:  # GK003 has said so
            continue
        place = f"{RESULTS}: {claim.id}"
        if not case.unproven:
            yield from _differences(place, claim, case.metrics)
        derived = {(run.device, run.number): run for run in case.metrics.runs}
        for run in claim.runs:
            if (run.device, run.number) in derived:
                where = f"{place}, {run.device}, run {run.number}"
                yield from _differences(where, run, derived[run.device, run.number])
    if unproven:
        raise Unproven(unproven[0])


def _differences(
    place: str, claimed: CaseMetrics | RunMetrics, derived: CaseMetrics | RunMetrics
) -> Iterator[Finding]:
    for name in _FIGURES[type(claimed)]:
        found, required = getattr(claimed, name), getattr(derived, name)
        if found != required and not _agree(found, required):
            yield Finding(f"{place}: {name}", _shown(found), f"{_shown(required)}, recomputed")


def _agree(found: object, required: object) -> bool:
    return isinstance(found, float) and isinstance(required, float) and same(found, required)


def _shown(value: object) -> str:
    return "null" if value is None else f"{value:.12g}" if isinstance(value, float) else str(value)
