"""The measured period is not the time that the kernels take.

## What it checks
The mean period of the profiling windows lies within the edition's tolerance of the time that one
GEMM's kernels take by the kernel trace. Where the clock was another while tracing, the tolerance
widens by the ratio of both clocks, on the side to which that clock moves a kernel's time, and
within the ratios that the edition allows: nothing but the trace itself speaks for its clock.

## Why it matters
A period below the kernels' time cannot be: the windows are wrong, or the trace is of another
program. A period well above it is the host's, not the GPU's.

## How to fix
Measure again with the GPU to yourself. If the period is longer, see GK305 and GK313.

## Clause
M05: the processor must not limit the launch rate. M11: durations by events hold against a profiler.

## Example
Passes: a period of 5.86 µs and kernels of 5.79 µs.
Fails: a period of 2.9 µs and kernels of 5.79 µs; or one of 64 µs and kernels of 2.85 µs.
"""

from collections.abc import Iterator

from kit.bundle.layout import TRACE
from kit.bundle.reader import Bundle
from kit.checker.recomputed import RecomputedRun, recompute
from kit.checker.rule import Finding, Severity, Unproven, methodology_severity, rule
from kit.checker.runs import MeasuredRun, judge_runs, only_on_gpu
from kit.checker.traces import traced
from kit.ruleset import Ruleset
from kit.trace import WINDOWS


@rule("GK315", "period-unlike-kernels", clauses=("M05", "M11"), since="2026.1")
def check(bundle: Bundle, rules: Ruleset) -> Iterator[Finding]:
    """Compare each run's period with its kernels' time."""
    only_on_gpu(bundle, "the time of GPU kernels")
    severity = methodology_severity(bundle)
    figures = {entry.run.evidence.path: entry for case in recompute(bundle) for entry in case.runs}

    def judge(run: MeasuredRun) -> Iterator[Finding]:
        yield from _judge(figures[run.evidence.path], rules, severity)

    yield from judge_runs(bundle, judge)


def _judge(entry: RecomputedRun, rules: Ruleset, severity: Severity) -> Iterator[Finding]:
    run, metrics = entry.run, entry.metrics
    trace, _ = traced(run)
    if metrics is None:
        raise Unproven(entry.unproven)
    if metrics.kernel_ns is None:
        raise Unproven("the kernels take no time")
    clocks = 1.0
    if trace.graphics_mhz and metrics.graphics_mhz:
        clocks = trace.graphics_mhz / metrics.graphics_mhz
    # No series stands behind the trace's clock, so it explains no more than such clocks do.
    explained = min(max(clocks, rules.trace_clock_least), rules.trace_clock_most)
    # A kernel bound by the clock would take kernel_ns * clocks in the windows, one bound by the
    # memory kernel_ns; nothing lies outside of both.
    low_ns = metrics.kernel_ns * min(1.0, explained) * (1 - rules.kernel_time_tolerance)
    high_ns = metrics.kernel_ns * max(1.0, explained) * (1 + rules.kernel_time_tolerance)
    place = run.at("mean period of the profiling rows", WINDOWS.file)
    shown = f"{metrics.mean_period_ns:.6g} ns"
    kernels = f"for kernels of {metrics.kernel_ns:.6g} ns and {clocks:.3f} times the clock"
    if metrics.mean_period_ns < low_ns:
        yield Finding(place, shown, f"at least {low_ns:.6g} ns {kernels}")
    if metrics.mean_period_ns > high_ns:
        yield Finding(place, shown, f"at most {high_ns:.6g} ns {kernels}", severity)
    highest = run.maximum_graphics_mhz
    if highest and trace.graphics_mhz and trace.graphics_mhz > highest + rules.clock_step_mhz:
        found = f"{trace.graphics_mhz:.6g} MHz"
        yield Finding(run.at("graphics_mhz", TRACE), found, f"at most {highest} MHz, the maximum")
