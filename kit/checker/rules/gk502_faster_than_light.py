"""A run was faster than its hardware can be at the clocks that were sampled.

## What it checks
The speed-of-light time of the GEMM, from the product's rate per SM and clock in the arithmetic that
the program executed, the sampled graphics and memory clock and the bytes of A, B, D and the scales,
over the measured mean period: at most the edition's limit, just above 1 for the clock's own
sampling error. Where the figures are no one product's, the run stays unproven, but it must keep
below the fastest product of that name, or of the table if the name is unknown too, at the sampled
or the maximum clock. A CPU must keep below what the edition grants to a core and cycle.

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
from kit.evidence import DeviceFacts
from kit.gpu_table import GpuRow, row_for, rows, rows_named
from kit.ruleset import Ruleset
from kit.sol import RATES

_WIDE = ("fp64", "fp32", "tf32")
_PRODUCTS_SHOWN = 3


@rule("GK502", "faster-than-light", clauses=("M18",), since="2026.1")
def check(bundle: Bundle, rules: Ruleset) -> Iterator[Finding]:
    """Recompute every run's share of speed of light."""
    runs = [entry for case in recompute(bundle) for entry in case.runs]
    for entry in runs:
        yield from _ceiling(bundle, entry, rules)
    only_on_gpu(bundle, "a sampled clock of the units that multiply")
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


def _ceiling(bundle: Bundle, entry: RecomputedRun, rules: Ruleset) -> Iterator[Finding]:
    """Bound what no product's own light bounds."""
    figures, device = entry.metrics, entry.run.device
    if figures is None or device is None:
        return
    work, row = entry.run.case.workload, entry.run.number_format
    if bundle.plan.backend.platform == "cpu":
        narrow = row.arithmetic not in _WIDE
        operations = rules.core_operations_narrow if narrow else rules.core_operations_wide
        cores = bundle.environment.cpu_logical_cores
        most = cores * rules.core_ghz * 1e9 * operations
        what = f"{cores} cores"
    elif row_for(device) is None:
        clock_mhz = figures.graphics_mhz or device.maximum_graphics_mhz
        named = rows_named(device.name) or rows()
        most = max(_rate(product, device, row.arithmetic, clock_mhz) for product in named)
        what = " or ".join(product.product for product in named[:_PRODUCTS_SHOWN])
    else:
        return
    if figures.flops_per_s > rules.sol_fail * most:
        found = f"{figures.flops_per_s * 1e-12:.4g} TFLOP/s, {work.flops} operations a GEMM"
        place = entry.run.evidence.path
        yield Finding(place, found, f"at most {most * 1e-12:.4g} TFLOP/s, the ceiling of {what}")


def _rate(product: GpuRow, device: DeviceFacts, arithmetic: str, clock_mhz: float | None) -> float:
    """Operations per second of a product with at least its own number of SMs."""
    rates = [product.rates[key] for key in RATES.get(arithmetic, ()) if key in product.rates]
    rate = max(rates or product.rates.values(), default=0.0)
    sms = max(product.sm_count or 0, device.sm_count or 0)
    clock = clock_mhz or product.maximum_graphics_mhz or product.peak_tensor_clock_mhz or 0
    return rate * sms * clock * 1e6


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
