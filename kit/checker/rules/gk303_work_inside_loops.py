"""Something else happened between the first warm-up launch and the last profiling launch.

## What it checks
No compilation, JAX's transfer guard in force, no wait for the device but the one that a host clock
needs at the end of each window, and as many bytes held by the device's allocator after the loops as
before them. Its other counters may move: cuBLASLt takes a workspace from the pool at every call.

## Why it matters
A compilation, a copy or an allocation inside the loops is timed as if it were the GEMM, and a wait
lets the device cool between windows.

## How to fix
Compile, allocate and fill before the first warm-up launch. Do not turn the transfer guard off.

## Clause
M03: all buffers are allocated and initialised before either loop.

## Example
Passes: 0 compilations, 0 drains, `bytes_in_use` unchanged.
Fails: one compilation, because the first call had other argument shapes.
"""

from collections.abc import Iterator

from kit.bundle.reader import Bundle
from kit.checker.rule import Finding, Unproven, rule
from kit.checker.runs import MeasuredRun, judge_runs
from kit.ruleset import Ruleset
from kit.trace import WINDOWS

_GUARDS = ("disallow", "disallow_explicit")
_HELD = ("bytes_in_use", "bytes_reserved", "pool_bytes")
"""Counters of JAX's device allocator that stand for memory held, not for traffic."""


@rule("GK303", "work-inside-loops", clauses=("M03",), since="2026.1")
def check(bundle: Bundle, _rules: Ruleset) -> Iterator[Finding]:
    """Read what the loops recorded of themselves."""

    def judge(run: MeasuredRun) -> Iterator[Finding]:
        loops = run.document.loops
        if loops.compilations:
            yield Finding(run.at("loops.compilations"), str(loops.compilations), "0")
        if loops.transfer_guard not in _GUARDS:
            yield Finding(
                run.at("loops.transfer_guard"), loops.transfer_guard, " or ".join(_GUARDS)
            )
        drains = 0
        match run.document.timing.method:
            case "host_clock":
                drains = len(run.table(WINDOWS.file))
            case "external_profiler":
                drains = 1
            case "cuda_events":
                pass
        if loops.drains != drains:
            required = f"{drains} for {run.document.timing.method}"
            yield Finding(run.at("loops.drains"), str(loops.drains), required)
        yield from _allocator(run, is_gpu=bundle.plan.backend.platform == "cuda")

    yield from judge_runs(bundle, judge)


def _allocator(run: MeasuredRun, *, is_gpu: bool) -> Iterator[Finding]:
    before, after = run.document.loops.allocator_before, run.document.loops.allocator_after
    if before is None or after is None:
        if is_gpu:
            raise Unproven("the device allocator's counters are missing")
        return
    held = [name for name in _HELD if name in before or name in after]
    for name in held:
        first, last = before.get(name), after.get(name)
        if first != last:
            required = f"{first}, as before the loops"
            yield Finding(run.at(f"loops.allocator_after.{name}"), str(last), required)
    if is_gpu and "bytes_in_use" not in held:
        raise Unproven("the device allocator's counters lack bytes_in_use")
