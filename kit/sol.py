"""Speed of light: the time below which no GEMM can run at the sampled clocks (clause M18)."""

from dataclasses import dataclass

from kit.gpu_table import GpuRow
from kit.number_format import NumberFormat
from kit.rotation import input_bytes, output_bytes
from kit.workload import Workload


@dataclass(frozen=True, slots=True)
class SpeedOfLight:
    """Lower bounds for one launch, in ns: arithmetic at the graphics clock, DRAM at its clock."""

    compute_ns: float
    dram_ns: float

    @property
    def total_ns(self) -> float:
        """The larger bound."""
        return max(self.compute_ns, self.dram_ns)


def speed_of_light(
    workload: Workload,
    number_format: NumberFormat,
    row: GpuRow,
    graphics_mhz: float,
    memory_mhz: float,
) -> SpeedOfLight | None:
    """Bounds of one launch whose operands are cold and whose output is written once.

    Dense rates; A and B are read once, D is written once. None if the product's rate for this
    number format is not known.
    """
    rate = next((row.rates[key] for key in number_format.sol_rates if key in row.rates), None)
    if rate is None or row.sm_count is None or graphics_mhz <= 0 or memory_mhz <= 0:
        return None
    compute_s = workload.flops / (row.sm_count * rate * graphics_mhz * 1e6)
    moved = input_bytes(workload, number_format) + output_bytes(workload, number_format)
    return SpeedOfLight(compute_s * 1e9, moved / row.dram_bytes_per_s(memory_mhz) * 1e9)
