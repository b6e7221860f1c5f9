"""A run was faster than its hardware can be at the clocks that were sampled.

## What it checks
The speed-of-light time of the GEMM, from the product's rate per SM and clock in the arithmetic that
the program executed, the sampled graphics and memory clock and the bytes of A, B, D and the scales,
over the measured mean period: at most the edition's limit, just above 1 for the clock's own
sampling error. Where a clock was not sampled or the figures are no one product's, the run stays
unproven, but it must keep below the product's arithmetic and bandwidth, or those of the fastest
product of that name, at the sampled or the maximum clock. A name that the table lacks is granted
the fastest product's rate on its own SMs, up to the edition's multiple of the largest product. A
CPU must keep below what the edition grants to a core and cycle, to so many cores, and to a call.

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
from kit.evidence import DeviceFacts, RunMetrics
from kit.gpu_table import GpuRow, row_for, rows, rows_named
from kit.rotation import input_bytes, output_bytes
from kit.ruleset import Ruleset
from kit.sol import RATES

_WIDE = ("fp64", "fp32", "tf32")
_PRODUCTS_SHOWN = 3
_LARGEST = max(row.sm_count or 0 for row in rows())
_FASTEST = max(row.maximum_graphics_mhz or 0 for row in rows())


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
    place = entry.run.evidence.path
    if bundle.plan.backend.platform == "cpu":
        narrow = row.arithmetic not in _WIDE
        operations = rules.core_operations_narrow if narrow else rules.core_operations_wide
        cores = min(bundle.environment.cpu_logical_cores, rules.most_cores)
        most = cores * rules.core_ghz * 1e9 * operations
        what = f"{cores} cores"
    elif figures.sol_fraction is None:
        most, what = _of_products(entry, device, figures, rules)
    else:
        return  # its own light is the lower bound
    if figures.flops_per_s > rules.sol_fail * most:
        found = f"{figures.flops_per_s * 1e-12:.4g} TFLOP/s, {work.flops} operations a GEMM"
        yield Finding(place, found, f"at most {most * 1e-12:.4g} TFLOP/s, the ceiling of {what}")
    call_ns = figures.mean_period_ns * entry.run.document.executable.gemms_per_call
    if call_ns < rules.least_call_ns:
        yield Finding(place, f"{call_ns:.3g} ns a call", f"at least {rules.least_call_ns:g} ns")


def _of_products(
    entry: RecomputedRun, device: DeviceFacts, figures: RunMetrics, rules: Ruleset
) -> tuple[float, str]:
    """Operations per second of what the device may be, the fastest, and its products' names."""
    row = row_for(device)
    known = [found for found in ((row,) if row else rows_named(device.name)) if found.rates]
    executed = figures.executed
    arithmetic = executed if executed in RATES else entry.run.number_format.arithmetic

    def light(product: GpuRow) -> float:
        rates = [product.rates[key] for key in RATES[arithmetic] if key in product.rates]
        rate = max(rates or product.rates.values(), default=0.0)
        sms = (product.sm_count if known else None) or min(
            max(product.sm_count or 0, device.sm_count or 0), rules.unknown_sms * _LARGEST
        )
        highest = rules.unknown_clock * ((product.maximum_graphics_mhz if known else 0) or _FASTEST)
        clock_mhz = min(figures.graphics_mhz or device.maximum_graphics_mhz or highest, highest)
        most = rate * sms * clock_mhz * 1e6
        if known and product.memory_clock_mhz is not None:
            highest = rules.unknown_clock * product.memory_clock_mhz
            memory_mhz = min(figures.memory_mhz or product.memory_clock_mhz, highest)
            most = min(most, _from_dram(entry, product, memory_mhz))
        return most

    names = " or ".join(product.product for product in known[:_PRODUCTS_SHOWN])
    return max(map(light, known or rows())), names or "the fastest product of the table"


def _from_dram(entry: RecomputedRun, product: GpuRow, memory_mhz: float) -> float:
    """Operations per second of a GEMM that moves every operand once."""
    work, row = entry.run.case.workload, entry.run.number_format
    moved = input_bytes(work, row) + output_bytes(work, row)
    return work.flops * product.dram_bytes_per_s(memory_mhz) / moved


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
