"""A run was faster than its hardware can be at the clocks that were sampled.

## What it checks
The speed-of-light time of the GEMM, from the product's rate per SM and clock in the arithmetic that
the program executed, the sampled graphics and memory clock and the bytes of A, B, D and the scales,
over the measured mean period: at most the edition's limit, just above 1 for the clock's own
sampling error.

## Why it matters
No schedule beats arithmetic and bandwidth. A faster result means that work was left out, that
operands came from cache, or that clock or time is wrong.

## How to fix
Look for products that the compiler removed, for a rotation that fits into the cache, and for the
wrong GPU's clocks.

## Clause
M18: the mean runtime is compared with SOL at the settled clock, without a fallback row.

## Example
Passes: 86.9 % of speed of light.
Fails: 104 %.
"""

from collections.abc import Iterator

from kit.bundle.reader import Bundle
from kit.checker.recomputed import RecomputedRun, recompute
from kit.checker.rule import Finding, Unproven, rule
from kit.checker.runs import only_on_gpu
from kit.gpu_table import row_for
from kit.ruleset import Ruleset


@rule("GK502", "faster-than-light", clauses=("M18",), since="2026.1")
def check(bundle: Bundle, rules: Ruleset) -> Iterator[Finding]:
    """Recompute every run's share of speed of light."""
    only_on_gpu(bundle, "a sampled clock of the units that multiply")
    runs = [entry for case in recompute(bundle) for entry in case.runs]
    unproven = "" if runs else "the bundle holds no measured run"
    for entry in runs:
        path, figures = entry.run.evidence.path, entry.metrics
        if figures is None or figures.sol_fraction is None:
            unproven = f"{path}: {_reason(entry)}"
        elif not figures.sol_fraction <= rules.sol_fail:
            found = f"{figures.sol_fraction:.2%} of speed of light"
            yield Finding(path, found, f"at most {rules.sol_fail:.1%}")
    if unproven:
        raise Unproven(unproven)


def _reason(entry: RecomputedRun) -> str:
    if entry.metrics is None:
        return entry.unproven
    row = None if entry.run.device is None else row_for(entry.run.device)
    if row is None:
        return "the kit's table has no one product with these hardware figures"
    if entry.metrics.graphics_mhz is None or entry.metrics.memory_mhz is None:
        return "graphics or memory clock was not sampled in the profiling windows"
    executed = entry.metrics.executed
    if executed in ("several", "unknown"):
        return f"the arithmetic of its program is {executed}"
    return f"the rate of {row.product} in {executed} is not known"
