"""The host hands launches over more slowly than the device works them off.

## What it checks
In the pilot of the chosen dispatch mode, handing over one call took no longer than the edition's
share of the time that the call's GEMMs take.

## Why it matters
If the host is the slower one, the device waits between kernels and the figure is the host's.

## How to fix
Leave `backend.dispatch` at `auto`, which chooses a device loop for small problems, and use a host
that is not shared.

## Clause
M05: the processor must not limit the kernel launch rate.

## Example
Passes: a call of 48 µs for one GEMM of 3.19 ms.
Fails: a call of 48 µs for one GEMM of 33 µs.
"""

from collections.abc import Iterator

from kit.bundle.reader import Bundle
from kit.checker.rule import Finding, Unproven, methodology_severity, rule
from kit.checker.runs import MeasuredRun, judge_runs, only_on_gpu
from kit.ruleset import Ruleset


@rule("GK305", "host-limits-launches", clauses=("M05",), since="2026.1")
def check(bundle: Bundle, rules: Ruleset) -> Iterator[Finding]:
    """Compare both times of the pilot."""
    only_on_gpu(bundle, "a launch rate: the host itself computes")

    def judge(run: MeasuredRun) -> Iterator[Finding]:
        pilot = run.document.dispatch
        if pilot.pilot_enqueue_ns is None or pilot.pilot_period_ns is None:
            raise Unproven("the pilot's times are missing")
        call_ns = pilot.pilot_period_ns * run.document.executable.gemms_per_call
        if pilot.pilot_enqueue_ns > rules.dispatch_headroom * call_ns:
            yield Finding(
                run.at("dispatch.pilot_enqueue_ns"),
                f"{pilot.pilot_enqueue_ns} ns to hand over a call of {call_ns} ns",
                f"at most {rules.dispatch_headroom:.0%} of it",
                methodology_severity(bundle),
            )

    yield from judge_runs(bundle, judge)
