"""The GPU waits between kernels.

## What it checks
In the kernel trace, the median gap from the end of one kernel to the start of the next and the 99th
percentile of the gaps are within the edition's limits. So is the share of time that all gaps up to
that percentile take together, unless they are no longer on average than what a GPU itself needs.

## Why it matters
Time between kernels is not the GEMM's. Many small gaps lower a figure as much as a slow kernel.

## How to fix
Leave `backend.dispatch` at `auto`, and `evidence` at `full`. Use a host that is not shared.

## Clause
M17: examine launch times for minimal gaps. M05: the processor must not limit the launch rate.

## Example
Passes: gaps of 128 ns between kernels of 5.8 µs, one of 90 µs where the profiler interrupted.
Fails: gaps of 4 µs between kernels of 3 µs.
"""

from collections.abc import Iterator

from kit.bundle.reader import Bundle
from kit.checker.rule import Finding, methodology_severity, rule
from kit.checker.runs import MeasuredRun, judge_runs, only_on_gpu
from kit.checker.traces import traced
from kit.ruleset import Ruleset
from kit.trace import KERNELS


@rule("GK313", "kernel-gaps-too-wide", clauses=("M05", "M17"), since="2026.1")
def check(bundle: Bundle, rules: Ruleset) -> Iterator[Finding]:
    """Compare the gaps of each run's trace with the limits."""
    only_on_gpu(bundle, "gaps between GPU kernels")
    severity = methodology_severity(bundle)

    def judge(run: MeasuredRun) -> Iterator[Finding]:
        _, found = traced(run)
        for name, gap_ns, most_ns in (
            ("median gap", found.gap_median_ns, rules.kernel_gap_median_ns),
            ("99th percentile of gaps", found.gap_p99_ns, rules.kernel_gap_p99_ns),
        ):
            if gap_ns > most_ns:
                place = run.at(name, KERNELS.file)
                yield Finding(place, f"{gap_ns:.0f} ns", f"at most {most_ns} ns", severity)
        wide = found.gap_mean_ns > rules.kernel_gap_floor_ns
        if wide and found.gap_share > rules.kernel_gap_share:
            place = run.at("share of gaps", KERNELS.file)
            shown = f"{found.gap_share:.2%} of the time, {found.gap_mean_ns:.0f} ns on average"
            required = f"at most {rules.kernel_gap_share:.0%} or {rules.kernel_gap_floor_ns} ns"
            yield Finding(place, shown, required, severity)

    yield from judge_runs(bundle, judge)
