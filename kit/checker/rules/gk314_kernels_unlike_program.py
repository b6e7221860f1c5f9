"""The GPU ran other kernels than the program's GEMMs.

## What it checks
The kernel trace covers the edition's least number of GEMMs and of whole rotations. The GEMM's
kernel ran once for each product of the traced calls, and its helpers (clearing a workspace, adding
partial sums) equally often between every two. All other kernels together take no more than the
edition's share of the time. `trace.json` says the same about the GEMM's kernel as `kernels.csv`.

## Why it matters
A product that the compiler removed, or moved out of a loop, is counted but never ran. A kernel that
no program names, such as a hidden copy, is timed as if it were the GEMM.

## How to fix
Choose the layout that the hardware multiplies without transposes (`nt` for fp8 and int8). A product
that did not run is a fault of the backend.

## Clause
M04: no additional device work between launches; every auxiliary kernel is named with its share.

## Example
Passes: 512 GEMM kernels for one call of 16 trips round 32 sets, and 16 additions of 1.4 µs.
Fails: 256 GEMM kernels for that call; or a transpose that takes a third of the time.
"""

from collections.abc import Iterator

from kit.bundle.layout import TRACE
from kit.bundle.reader import Bundle
from kit.checker.rule import Finding, methodology_severity, rule
from kit.checker.runs import MeasuredRun, judge_runs, only_on_gpu
from kit.checker.traces import traced
from kit.evidence import KernelTrace
from kit.kernels import KernelFigures
from kit.ruleset import Ruleset
from kit.trace import KERNELS


@rule("GK314", "kernels-unlike-program", clauses=("M04",), since="2026.1")
def check(bundle: Bundle, rules: Ruleset) -> Iterator[Finding]:
    """Count each run's kernels."""
    only_on_gpu(bundle, "which GPU kernels ran")
    severity = methodology_severity(bundle)

    def judge(run: MeasuredRun) -> Iterator[Finding]:
        trace, found = traced(run)
        yield from _claims(run, trace, found)
        products = trace.calls * run.document.executable.gemms_per_call
        least = max(rules.minimum_traced_gemms, rules.traced_rotations * run.document.rotation.sets)
        if products < least:
            yield Finding(
                run.at("calls", TRACE), f"{products} GEMMs", f"at least {least}", severity
            )
        place = run.at(f"kernel {found.gemm_name}", KERNELS.file)
        if found.gemms != products:
            yield Finding(place, f"{found.gemms} times", f"{products} times, once for each product")
        if not found.is_steady:
            required = f"{found.kernels_per_gemm} kernels from each GEMM to the next"
            yield Finding(place, f"{', '.join(found.helpers)} unevenly between", required, severity)
        if found.auxiliary_share > rules.auxiliary_share:
            shown = ", ".join(
                f"{entry.count} {entry.name} ({entry.share:.2%})" for entry in found.auxiliary
            )
            required = f"at most {rules.auxiliary_share:.0%} of the time beside the GEMMs"
            yield Finding(run.at("other kernels", KERNELS.file), shown, required, severity)

    yield from judge_runs(bundle, judge)


def _claims(run: MeasuredRun, trace: KernelTrace, found: KernelFigures) -> Iterator[Finding]:
    if trace.launches != found.gemms:
        required = f"{found.gemms}, by {KERNELS.file}"
        yield Finding(run.at("launches", TRACE), str(trace.launches), required)
    if trace.gemm_name != found.gemm_name:
        required = f"{found.gemm_name}, by {KERNELS.file}"
        yield Finding(run.at("gemm_name", TRACE), str(trace.gemm_name), required)
