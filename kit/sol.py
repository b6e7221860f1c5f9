"""Speed of light: the time below which no GEMM can run at the sampled clocks (clause M18)."""

from dataclasses import dataclass

from kit.gpu_table import GpuRow
from kit.number_format import NumberFormat
from kit.rotation import input_bytes, output_bytes
from kit.workload import Workload

RATES: dict[str, tuple[str, ...]] = {
    "fp64": ("fp64_tc", "fp64"),
    "fp32": ("fp32_simt",),
    "tf32": ("tf32",),
    "bf16": ("bf16",),
    "fp16": ("fp16_fp32acc",),
    "fp8": ("fp8",),
    "int8": ("int8",),
    "mxfp8": ("mxfp8",),
    "nvfp4": ("fp4",),
}
"""Columns of the product table by arithmetic: the first that a product has is its rate."""


@dataclass(frozen=True, slots=True)
class SpeedOfLight:
    """Lower bounds for one launch, in ns: arithmetic at the graphics clock, DRAM at its clock."""

    compute_ns: float
    dram_ns: float

    @property
    def total_ns(self) -> float:
        """The larger bound."""
        return max(self.compute_ns, self.dram_ns)


def speed_of_light(  # noqa: PLR0913, PLR0917 - what bounds a GEMM is that much
    workload: Workload,
    number_format: NumberFormat,
    row: GpuRow,
    graphics_mhz: float,
    memory_mhz: float,
    executed: str | None = None,
) -> SpeedOfLight | None:
    """Bounds of one launch whose operands are cold and whose output is written once.

    Dense rates; A, B and their scales are read once, D is written once. The rate is that of the
    arithmetic that was executed (`kit.execution`), by default the number format's own. None if it
    is not known.
    """
    keys = RATES.get(executed or number_format.arithmetic, ())
    rate = next((row.rates[key] for key in keys if key in row.rates), None)
    if rate is None or row.sm_count is None or graphics_mhz <= 0 or memory_mhz <= 0:
        return None
    compute_s = workload.flops / (row.sm_count * rate * graphics_mhz * 1e6)
    moved = input_bytes(workload, number_format) + output_bytes(workload, number_format)
    return SpeedOfLight(compute_s * 1e9, moved / row.dram_bytes_per_s(memory_mhz) * 1e9)
