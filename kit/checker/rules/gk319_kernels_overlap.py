"""Traced kernels ran at the same time.

## What it checks
On products whose registers are known, a kernel begins after the one before it has ended, or by no
more than the edition's nanoseconds before that: in the middle of all kernels of the trace.

## Why it matters
A stream runs one kernel after the other. Kernels that are told to last longer than from one start
to the next, or whose gaps were closed, are not those of a trace.

## How to fix
Measure again; nothing but a changed file does this. Kernels that prepare themselves while the one
before them ends, as Hopper's do, overlap by less.

## Clause
M11 (durations), M17 (gaps between launches).

## Example
Passes: 2.5 µs from the end of a kernel to the start of the next; an overlap of 32 ns in decode.
Fails: every kernel begins 500 ns before the one ahead of it has ended.
"""

from collections.abc import Iterator

from kit.bundle.reader import Bundle
from kit.checker.rule import Finding, Unproven, rule
from kit.checker.runs import MeasuredRun, judge_runs, only_on_gpu
from kit.checker.traces import traced
from kit.gpu_registers import registers_of
from kit.ruleset import Ruleset
from kit.trace import KERNELS


@rule("GK319", "kernels-overlap", clauses=("M11", "M17"), since="2026.1")
def check(bundle: Bundle, rules: Ruleset) -> Iterator[Finding]:
    """Measure the middle of the gaps, negative ones included."""
    only_on_gpu(bundle, "GPU kernels")

    def judge(run: MeasuredRun) -> Iterator[Finding]:
        _, kernels = traced(run)
        if registers_of(run.device) is None:
            return
        if len(run.table(KERNELS.file)) < rules.minimum_traced_gemms:
            raise Unproven(f"fewer than {rules.minimum_traced_gemms} kernels")
        overlap_ns = kernels.overlap_median_ns
        if overlap_ns > rules.kernel_overlap_median_ns:
            required = f"at most {rules.kernel_overlap_median_ns} ns, on one stream"
            found = f"kernels overlap by {overlap_ns:.0f} ns"
            yield Finding(run.at("columns start_ns and duration_ns", KERNELS.file), found, required)

    yield from judge_runs(bundle, judge)
