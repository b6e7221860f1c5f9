"""Which memory surfaces one GEMM touches: A, B, D and scales, with types, shapes and true sizes."""

from dataclasses import replace
from typing import Literal

from kit.number_format import BITS, NumberFormat
from kit.workload import Workload

Input = Literal["a", "b", "a_scale", "b_scale"]
Surface = Literal["a", "b", "d", "a_scale", "b_scale"]
SURFACES: tuple[Surface, ...] = ("a", "b", "d", "a_scale", "b_scale")
"""In the order of their codes in `buffers.csv`."""
OPERANDS: tuple[Surface, ...] = ("a", "b")
TITLES = ("A", "B", "D", "scales of A", "scales of B")


def inputs(row: NumberFormat) -> tuple[Input, ...]:
    """The surfaces that a GEMM reads, in the order of their codes."""
    return ("a", "b", "a_scale", "b_scale") if row.block else ("a", "b")


def surfaces(row: NumberFormat) -> tuple[Surface, ...]:
    """All surfaces, in the order of their codes."""
    return SURFACES if row.block else SURFACES[:3]


def element_type(row: NumberFormat, surface: Surface) -> str:
    """`ml_dtypes`/NumPy name of a surface's elements."""
    types = {"a": row.a, "b": row.b, "d": row.output}
    return types.get(surface, row.scale)


def shape(workload: Workload, row: NumberFormat, surface: Surface) -> tuple[int, int]:
    """Shape in memory of one matrix of a surface, (rows, columns).

    Scales lie as their operand does, with one element for each block along K.
    """
    if surface == "d":
        return workload.output_shape
    scaled = workload if surface in OPERANDS else replace(workload, k=workload.k // row.block)
    return scaled.shape("a" if surface.startswith("a") else "b")


def elements(workload: Workload, row: NumberFormat, surface: Surface) -> int:
    """Elements of one buffer of a surface, all of the batch."""
    rows, columns = shape(workload, row, surface)
    return workload.batch * rows * columns


def byte_size(workload: Workload, row: NumberFormat, surface: Surface) -> int:
    """Bytes of one buffer of a surface, with 4-bit elements packed."""
    return -(-elements(workload, row, surface) * BITS[element_type(row, surface)] // 8)
