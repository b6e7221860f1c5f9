"""The GPU was not the run's own, or not in order.

## What it checks
Just before and just after the loops no other process computed on the GPU, its count of uncorrected
ECC errors did not grow, and in a fixed-power test it was not partitioned by MIG.

## Why it matters
Another process takes time, power and cache. A MIG slice shares the power limit with slices that
nobody watches. Memory that fails gives wrong results, or right ones slowly.

## How to fix
Stop the other processes (`nvidia-smi` lists them), disable MIG, and measure again.

## Clause
M10: a fixed-power test runs at a given power limit, which is that of a whole GPU.

## Example
Passes: `other_processes` 0 before and after.
Fails: `other_processes` 1 after.
"""

from collections.abc import Iterator

from kit.bundle.layout import ENVIRONMENT
from kit.bundle.reader import Bundle
from kit.checker.rule import Finding, Unproven, methodology_severity, rule
from kit.checker.runs import MeasuredRun, judge_runs, only_on_gpu
from kit.ruleset import Ruleset


@rule("GK106", "device-shared", clauses=("M10",), since="2026.1")
def check(bundle: Bundle, _rules: Ruleset) -> Iterator[Finding]:
    """Read the mode of every device, and the limits around every run."""
    only_on_gpu(bundle, "who else computes on it")
    if bundle.plan.test_type.name == "fixed_power":
        for number, device in enumerate(bundle.environment.devices):
            if device.mig_enabled:
                place = f"{ENVIRONMENT}: devices[{number}].mig_enabled"
                yield Finding(place, "true", "false in a fixed-power test")
    severity = methodology_severity(bundle)

    def judge(run: MeasuredRun) -> Iterator[Finding]:
        before, after = run.document.limits_before, run.document.limits_after
        yield from _ecc_errors(run, before.ecc_errors, after.ecc_errors)
        for when, limits in (("limits_before", before), ("limits_after", after)):
            if limits.other_processes:
                place, found = run.at(f"{when}.other_processes"), str(limits.other_processes)
                yield Finding(place, found, "0", severity)
        if before.other_processes is None or after.other_processes is None:
            raise Unproven("other_processes is null")

    yield from judge_runs(bundle, judge)


def _ecc_errors(run: MeasuredRun, before: int | None, after: int | None) -> Iterator[Finding]:
    if before is not None and after is not None and after > before:
        place = run.at("limits_after.ecc_errors")
        yield Finding(place, str(after), f"{before}, as before the run")
