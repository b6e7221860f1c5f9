"""A GPU is called by one product's name and has another one's figures.

## What it checks
Where a GPU's name holds the name of products in the kit's table, its compute capability, SMs, bus
width and clocks are those of one of them. Figures of another product in the table, two of them or
more, contradict the name, and so do more SMs than the largest of that name has, beyond the
edition's part. Others are a departure: the table may lack a variant.

## Why it matters
Speed of light follows from these figures. One SM more or less makes the product unknown, and a name
alone is what readers compare by.

## How to fix
Measure again; nobody types these facts. If your part is a variant of a known product, ask for a row
in `kit/gpu_table.csv`.

## Clause
M18 (SOL of the hardware at hand), M26 (results name the device that gave them).

## Example
Passes: `NVIDIA H200` with 132 SMs, 6016 bits, 3201 and 1980 MHz.
Fails: `NVIDIA H200` with 131 SMs, or with 1,319; or `NVIDIA H100 PCIe` with the figures of an H200.
"""

from collections.abc import Iterator

from kit.bundle.layout import ENVIRONMENT
from kit.bundle.reader import Bundle
from kit.checker.rule import Finding, methodology_severity, rule
from kit.checker.runs import only_on_gpu
from kit.evidence import DeviceFacts
from kit.gpu_table import GpuRow, row_for, rows_named
from kit.ruleset import Ruleset


@rule("GK109", "device-unlike-product", clauses=("M18", "M26"), since="2026.1")
def check(bundle: Bundle, rules: Ruleset) -> Iterator[Finding]:
    """Look every GPU up by its name and by its figures."""
    only_on_gpu(bundle, "a GPU product's figures")
    for number, device in enumerate(bundle.environment.devices):
        named = rows_named(device.name)
        found = row_for(device)
        if not named or found in named:
            continue
        place = f"{ENVIRONMENT}: devices[{number}]"
        figures = _of_device(device)
        required = " or ".join(f"{row.product}: {_shown(_of_row(row))}" for row in named)
        severity = methodology_severity(bundle)
        if found is not None and min(_differences(figures, row) for row in named) > 1:
            required = f"{required}; the figures are those of {found.product}"
            severity = "fail"
        most_sms = max(row.sm_count or 0 for row in named)
        if most_sms and (device.sm_count or 0) > (1 + rules.sms_beyond_product) * most_sms:
            severity = "fail"
        yield Finding(place, f"{device.name}: {_shown(figures)}", required, severity)


def _differences(figures: tuple[object, ...], row: GpuRow) -> int:
    return sum(found != wanted for found, wanted in zip(figures, _of_row(row), strict=True))


def _of_device(device: DeviceFacts) -> tuple[object, ...]:
    return (
        device.compute_capability, device.sm_count, device.memory_bus_bits,
        device.maximum_memory_mhz, device.maximum_graphics_mhz,
    )  # fmt: skip


def _of_row(row: GpuRow) -> tuple[object, ...]:
    return (
        row.compute_capability, row.sm_count, row.memory_bus_bits,
        row.memory_clock_mhz, row.maximum_graphics_mhz,
    )  # fmt: skip


def _shown(figures: tuple[object, ...]) -> str:
    capability, sms, bits, memory_mhz, graphics_mhz = figures
    return f"{capability}, {sms} SMs, {bits} bits, {memory_mhz} and {graphics_mhz} MHz"
