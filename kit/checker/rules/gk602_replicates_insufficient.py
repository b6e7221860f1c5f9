"""There are too few replicates, or they differ too much.

## What it checks
In the closed division every case has the edition's minimum of measured runs on each device. In both
divisions the range of a case's mean periods on one device over their median is within the edition's
limit, or within a wider one where there are so many runs that the standard error of their mean is
small; beyond it the open division warns. Devices that differ by more from one another are a
warning: parts of one product do.

## Why it matters
Fresh processes choose other kernels, other addresses and meet other temperatures. One run says
nothing about the next.

## How to fix
Let the GPU cool down and stop what disturbs it; pin the autotuning result. Where runs differ by
where their memory lies, as small GEMMs that wait for it do, raise `replicates`.

## Clause
M26: results are reproducible.

## Example
Passes: three runs within 0.3 %.
Passes: six runs evenly spread over 3 %.
Fails: two runs in the closed division, or three within 3 %.
"""

import math
from collections.abc import Iterator
from statistics import fmean, stdev

from kit.bundle.layout import case_file
from kit.bundle.reader import Bundle
from kit.checker.recomputed import recompute
from kit.checker.rule import (
    Finding,
    NotApplicable,
    Severity,
    Unproven,
    methodology_severity,
    rule,
)
from kit.evidence import CaseMetrics
from kit.metrics import derive_case
from kit.ruleset import Ruleset


@rule("GK602", "replicates-insufficient", clauses=("M26",), since="2026.1")
def check(bundle: Bundle, rules: Ruleset) -> Iterator[Finding]:
    """Count the runs of each case and device, then judge each case's range."""
    closed = bundle.plan.submission.division == "closed"
    runs = [len(case.runs) for case in bundle.cases.values()]
    if not closed and max(runs, default=0) < 2:
        raise NotApplicable("no case has two runs, and the open division does not ask for them")
    if closed:
        yield from _counts(bundle, rules)
    unproven: list[str] = []
    for case in recompute(bundle):
        unproven.extend(case.unproven)
        measured = case.metrics.runs
        devices = sorted({run.device for run in measured})
        for device in devices:
            own = derive_case(case.case.id, tuple(r for r in measured if r.device == device))
            yield from _range(own, f"on {device}", methodology_severity(bundle), rules)
        if len(devices) > 1:
            yield from _range(case.metrics, f"on {len(devices)} devices", "warn", rules)
    if unproven:
        raise Unproven(unproven[0])


def _range(case: CaseMetrics, where: str, severity: Severity, rules: Ruleset) -> Iterator[Finding]:
    found = case.replicate_range
    if found is None or found <= rules.replicate_range:
        return
    periods = [run.mean_period_ns for run in case.runs]
    error = stdev(periods) / math.sqrt(len(periods)) / fmean(periods)
    if found <= rules.replicate_range_wide and error <= rules.replicate_error:
        return
    shown = f"{min(periods):.6g} to {max(periods):.6g} ns {where}, a range of {found:.2%}"
    required = (
        f"at most {rules.replicate_range:.1%}, or {rules.replicate_range_wide:.1%} with a standard "
        f"error of {rules.replicate_error:.1%}"
    )
    yield Finding(
        case_file(case.id), f"{shown}, a standard error of {error:.2%}", required, severity
    )


def _counts(bundle: Bundle, rules: Ruleset) -> Iterator[Finding]:
    required = f"at least {rules.minimum_replicates} on each device"
    for planned in bundle.plan.cases:
        case = bundle.cases.get(planned.id)
        attempts = () if case is None else case.record.runs
        devices = sorted({run.device for run in attempts})
        for device in devices:
            runs = () if case is None else case.runs
            count = sum(run.document.device == device for run in runs)
            if count < rules.minimum_replicates:
                found = f"{count} measured runs on {device}"
                yield Finding(case_file(planned.id), found, required)
        if not devices:
            yield Finding(case_file(planned.id), "no run", required)
