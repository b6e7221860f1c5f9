"""Is a sampled output the product of the seed's operands? Positions, reference, allowed error."""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kit.fill import Operands, fold_in, key_of, threefry
from kit.number_format import NumberFormat
from kit.trace import Table
from kit.workload import Workload

_SAFETY = 6.0
"""Standard deviations of the random-walk error model that an honest output may be off."""


@dataclass(frozen=True, slots=True)
class Grid:
    """Sampled positions of one output buffer: all crossings of `rows` and `columns`."""

    batch: int
    rows: tuple[int, ...]
    columns: tuple[int, ...]


def grid_side(sets: int) -> int:
    """Rows (and columns) sampled per buffer: fewer where there are many buffers."""
    return 4 if sets <= 8 else 2 if sets <= 64 else 1


def sample_grid(seed: str, workload: Workload, sets: int, buffer_set: int) -> Grid:
    """Positions to sample in one output buffer, drawn from the run's sample seed."""
    side = grid_side(sets)
    key = fold_in(key_of(seed), buffer_set)
    counters = np.arange(2 * side + 1, dtype=np.uint32)
    draws, _ = threefry(key, np.zeros_like(counters), counters)
    rows = sorted({int(draw) % workload.m for draw in draws[:side]})
    columns = sorted({int(draw) % workload.n for draw in draws[side : 2 * side]})
    return Grid(int(draws[-1]) % workload.batch, tuple(rows), tuple(columns))


def output_bits(values: NDArray[np.generic]) -> NDArray[np.uint64]:
    """Bit patterns of output elements, as unsigned integers of their own width."""
    width = values.dtype.itemsize
    return values.view(np.dtype(f"u{width}")).astype(np.uint64)


def output_values(
    high: NDArray[np.int64], low: NDArray[np.int64], number_format: NumberFormat
) -> NDArray[np.float64]:
    """float64 values of output elements from their bit patterns.

    Raises:
        ValueError: a pattern is wider than the output's type.
    """
    bits = (high.astype(np.uint64) << np.uint64(32)) | low.astype(np.uint64)
    dtype = np.dtype(number_format.output)
    if dtype.itemsize < 8 and int(bits.max(initial=0)) >> (8 * dtype.itemsize):
        raise ValueError(f"a bit pattern is wider than {number_format.output}")
    return bits.astype(f"u{dtype.itemsize}").view(dtype).astype(np.float64)


@dataclass(frozen=True, slots=True)
class Comparison:
    """Sampled outputs against their reference: values, float64 reference and allowed error."""

    values: NDArray[np.float64]
    reference: NDArray[np.float64]
    allowed: NDArray[np.float64]

    @property
    def worst(self) -> int:
        """Index of the element farthest beyond (or nearest to) its allowed error."""
        return int(np.argmax(np.nan_to_num(self._excess, nan=math.inf)))

    @property
    def agrees(self) -> bool:
        """Whether every element is within its allowed error; NaN never is."""
        return bool(np.all(np.abs(self.values - self.reference) <= self.allowed))

    @property
    def _excess(self) -> NDArray[np.float64]:
        return np.abs(self.values - self.reference) - self.allowed


def allowed_error(
    number_format: NumberFormat, reference: NDArray[np.float64], product_rms: float, k: int
) -> NDArray[np.float64]:
    """How far an output may lie from its exact value.

    The last rounding adds half a unit of the output type. Each of K additions rounds a partial sum
    that grows like sqrt(k)·rms, and each product carries the operands' extra rounding; taken as
    independent, both sum to at most accumulator_epsilon·K·rms and operand_epsilon·sqrt(K)·rms in
    standard deviation (Higham & Mary, 2019, on probabilistic error). `_SAFETY` of them are allowed.
    Integer formats are exact.
    """
    if number_format.is_integer:
        return np.zeros_like(reference)
    walk = number_format.accumulator_epsilon * k + number_format.operand_epsilon * math.sqrt(k)
    return number_format.output_epsilon * np.abs(reference) + _SAFETY * walk * product_rms


def compare(operands: Operands, sets: int, seed: str, outputs: Table) -> Comparison:
    """Recompute every sampled output from the seed.

    Args:
        operands: what the seed says the buffers hold.
        sets: rotation sets of the run; every one must be sampled.
        seed: the run's sample seed.
        outputs: table `kit.trace.OUTPUTS`.

    Raises:
        ValueError: the positions are not those that the seed draws, in order.
    """
    wanted: list[tuple[int, int, int, int]] = []
    references: list[NDArray[np.float64]] = []
    allowed: list[NDArray[np.float64]] = []
    workload = operands.workload
    for buffer_set in range(sets):
        grid = sample_grid(seed, workload, sets, buffer_set)
        rows = np.stack([operands.a_row(buffer_set, grid.batch, row) for row in grid.rows])
        columns = np.stack([operands.b_column(buffer_set, grid.batch, col) for col in grid.columns])
        reference = (rows @ columns.T).ravel()
        rms = float(np.sqrt(np.mean(np.square(rows)) * np.mean(np.square(columns))))
        references.append(reference)
        allowed.append(allowed_error(operands.number_format, reference, rms, workload.k))
        wanted.extend(
            (buffer_set, grid.batch, row, col) for row in grid.rows for col in grid.columns
        )
    names = ("set", "batch", "row", "column")
    found = np.column_stack([outputs[name] for name in names])
    if found.shape != (len(wanted), 4) or not np.array_equal(found, np.array(wanted)):
        raise ValueError("the sampled positions are not those that plan and run number draw")
    values = output_values(outputs["bits_high"], outputs["bits_low"], operands.number_format)
    return Comparison(values, np.concatenate(references), np.concatenate(allowed))
