"""What each GPU product can do per clock: `gpu_table.csv` as typed rows, and which row a device is.

Rates are dense operations per SM and clock. A row is chosen by what the hardware says of itself
(compute capability, SM count, bus width, memory and graphics clock), never by its name: names are
ambiguous and were the cause of wrong figures elsewhere.
"""

import csv
import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from kit.evidence import DeviceFacts

_TABLE = Path(__file__).with_name("gpu_table.csv")
_RATES = (
    "fp64", "fp64_tc", "fp32_simt", "tf32", "fp16_fp32acc", "bf16", "fp8", "mxfp8", "int8", "fp6",
    "fp4",
)  # fmt: skip
_CLOCK_TOLERANCE = 0.01
_TENSOR = ("tf32", "fp16_fp32acc", "bf16", "fp8", "mxfp8", "int8", "fp6", "fp4")
"""Rates whose data-sheet figures share one clock; vector and fp64 units have another on Hopper."""


@dataclass(frozen=True, slots=True, eq=False)
class GpuRow:
    """One product. `rates[key]` is operations per SM and clock; absent keys are unknown rates."""

    product: str
    architecture: str
    compute_capability: str
    sm_count: int | None
    rates: dict[str, float]
    l2_bytes: int | None
    memory_bus_bits: int
    memory_clock_mhz: int | None
    memory_bytes: int
    peak_tensor_clock_mhz: int | None
    maximum_graphics_mhz: int | None
    tdp_w: int
    datasheet_bf16_tflops: float
    confidence: str
    source: str
    uncertain: str

    def dram_bytes_per_s(self, memory_mhz: float) -> float:
        """DRAM bandwidth at a sampled memory clock; both edges carry data."""
        return memory_mhz * 1e6 * 2 * self.memory_bus_bits / 8

    def datasheet_flops_per_s(self, rates: tuple[str, ...]) -> float | None:
        """The data sheet's dense rate of the first known of `rates`, from its bf16 figure.

        None for units that the data sheet rates at another clock than the tensor cores.
        """
        rate = next((key for key in rates if key in self.rates), None)
        if rate not in _TENSOR or "bf16" not in self.rates:
            return None
        return self.datasheet_bf16_tflops * 1e12 * self.rates[rate] / self.rates["bf16"]


def _whole(text: str) -> int | None:
    return int(text) if text else None


def _row(cells: dict[str, str]) -> GpuRow:
    return GpuRow(
        product=cells["product"],
        architecture=cells["architecture"],
        compute_capability=cells["compute_capability"],
        sm_count=_whole(cells["sm_count"]),
        rates={key: float(cells[key]) for key in _RATES if cells[key]},
        l2_bytes=_whole(cells["l2_bytes"]),
        memory_bus_bits=int(cells["memory_bus_bits"]),
        memory_clock_mhz=_whole(cells["memory_clock_mhz"]),
        memory_bytes=int(cells["memory_bytes"]),
        peak_tensor_clock_mhz=_whole(cells["peak_tensor_clock_mhz"]),
        maximum_graphics_mhz=_whole(cells["maximum_graphics_mhz"]),
        tdp_w=int(cells["tdp_w"]),
        datasheet_bf16_tflops=float(cells["datasheet_bf16_tflops"]),
        confidence=cells["confidence"],
        source=cells["source"],
        uncertain=cells["uncertain"],
    )


@cache
def rows() -> tuple[GpuRow, ...]:
    """Every product of the table."""
    with _TABLE.open(newline="", encoding="utf-8") as file:
        return tuple(_row(cells) for cells in csv.DictReader(file))


def row_for(device: DeviceFacts) -> GpuRow | None:
    """The one row whose hardware figures are this device's; None if none or several are."""
    matches = [row for row in rows() if _matches(row, device)]
    return matches[0] if len(matches) == 1 else None


def rows_named(name: str) -> tuple[GpuRow, ...]:
    """The products that a device's own name may mean: `NVIDIA H200` is `H200 SXM` or `H200 NVL`."""
    words = re.findall(r"[a-z0-9]+", name.lower())
    found = {}
    for row in rows():
        model = _model(row.product)
        runs = (words[i : i + len(model)] for i in range(len(words)))
        if any(run == model for run in runs):
            found[row] = len(model)
    longest = max(found.values(), default=0)
    return tuple(row for row, length in found.items() if length == longest)


def _model(product: str) -> list[str]:
    """The words of a product's name up to its model's number: `h200`, `geforce rtx 4090`."""
    words = re.findall(r"[a-z0-9]+", product.lower())
    end = next(i for i, word in enumerate(words) if any(sign.isdigit() for sign in word))
    # `RTX 6000 Ada` and `RTX PRO 6000 Blackwell` share their number with older parts.
    longer = words[end + 1 : end + 2] if words[end] == "6000" else []
    return words[: end + 1] + longer


def _matches(row: GpuRow, device: DeviceFacts) -> bool:
    return (
        device.kind == "gpu"
        and row.compute_capability == device.compute_capability
        and row.sm_count == device.sm_count
        and row.memory_bus_bits == device.memory_bus_bits
        and _near(row.memory_clock_mhz, device.maximum_memory_mhz)
        and (
            row.maximum_graphics_mhz is None
            or _near(row.maximum_graphics_mhz, device.maximum_graphics_mhz)
        )
    )


def _near(expected: int | None, found: int | None) -> bool:
    if expected is None or found is None:
        return False
    return abs(found - expected) <= _CLOCK_TOLERANCE * expected
