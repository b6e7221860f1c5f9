"""How a GPU's NVML registers behave: `gpu_registers.csv` as typed rows, and which row a device has.

Only what was read on real parts stands in the table. A device without a row is not judged by it.
"""

import csv
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from kit.evidence import DeviceFacts
from kit.gpu_table import row_for

_TABLE = Path(__file__).with_name("gpu_registers.csv")


@dataclass(frozen=True, slots=True)
class Registers:
    """The registers of some products of one compute capability.

    `average_power_step_ms` is the time after which both power registers change. Graphics clocks
    lie whole `graphics_clock_step_mhz` below the device's maximum. Whoever is held by its power cap
    draws at least `capped_power_share` of the limit on average when operands are uniform; None
    where that is not known.
    """

    compute_capability: str
    products: tuple[str, ...]
    average_power_step_ms: int
    graphics_clock_step_mhz: int
    capped_power_share: float | None


@cache
def _rows() -> tuple[Registers, ...]:
    with _TABLE.open(newline="", encoding="utf-8") as file:
        return tuple(
            Registers(
                cells["compute_capability"],
                tuple(cells["products"].split(";")),
                int(cells["average_power_step_ms"]),
                int(cells["graphics_clock_step_mhz"]),
                float(cells["capped_power_share"]) if cells["capped_power_share"] else None,
            )
            for cells in csv.DictReader(file)
        )


def registers_of(device: DeviceFacts | None) -> Registers | None:
    """The registers of a device, found through its product; None where they are not known."""
    row = None if device is None else row_for(device)
    if row is None:
        return None
    return next((found for found in _rows() if row.product in found.products), None)
