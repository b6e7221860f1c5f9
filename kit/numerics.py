"""Is a sampled output the product of the seed's operands? Positions, reference, allowed error."""

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kit.fill import Operands, folds, key_of, threefry
from kit.number_format import NumberFormat
from kit.trace import Table
from kit.workload import Workload

_PIECE = 2**16
"""Elements of A that are recomputed at once."""
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
    return _grids(seed, workload, sets, np.array([buffer_set], np.uint32))[0]


def _grids(seed: str, workload: Workload, sets: int, chosen: NDArray[np.uint32]) -> list[Grid]:
    side = grid_side(sets)
    counters = np.arange(2 * side + 1, dtype=np.uint32)[np.newaxis]
    draws, _ = threefry(folds(key_of(seed), chosen), np.zeros_like(counters), counters)
    return [
        Grid(
            batch=drawn[-1] % workload.batch,
            rows=tuple(sorted({draw % workload.m for draw in drawn[:side]})),
            columns=tuple(sorted({draw % workload.n for draw in drawn[side : 2 * side]})),
        )
        for drawn in draws.tolist()
    ]


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
    number_format: NumberFormat,
    reference: NDArray[np.float64],
    product_rms: NDArray[np.float64] | float,
    k: int,
) -> NDArray[np.float64]:
    """How far an output may lie from its exact value.

    The last rounding adds half a unit of the output type. Each of K additions rounds a partial sum
    that grows like sqrt(k)·rms, and each product carries the operands' extra rounding; taken as
    independent, both sum to at most accumulator_epsilon·K·rms and operand_epsilon·sqrt(K)·rms in
    standard deviation (Higham & Mary, 2019, on probabilistic error). `_SAFETY` of them are allowed.

    A tensor core cuts digits off instead of rounding, always towards zero, so that what K/step
    cuts lose adds up: on average a quarter of accumulator_epsilon·K·sqrt(K)/step·rms (half of a
    digit, times the mean of a partial sum's size over k). All of it is allowed, for sums that
    wander farther than most. Integer formats are exact.
    """
    if number_format.is_integer:
        return np.zeros_like(reference)
    walk = number_format.accumulator_epsilon * k + number_format.operand_epsilon * math.sqrt(k)
    step = number_format.truncated_every
    drift = number_format.accumulator_epsilon * k * math.sqrt(k) / step if step else 0.0
    spread = (_SAFETY * walk + drift) * product_rms
    return number_format.output_epsilon * np.abs(reference) + spread


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
    grids = _grids(seed, operands.workload, sets, np.arange(sets, dtype=np.uint32))
    wanted = [
        (number, grid.batch, row, column)
        for number, grid in enumerate(grids)
        for row in grid.rows
        for column in grid.columns
    ]
    names = ("set", "batch", "row", "column")
    found = np.column_stack([outputs[name] for name in names])
    if found.shape != (len(wanted), 4) or not np.array_equal(found, np.array(wanted)):
        raise ValueError("the sampled positions are not those that plan and run number draw")
    values = output_values(outputs["bits_high"], outputs["bits_low"], operands.number_format)
    references: list[NDArray[np.float64]] = [np.empty(0)] * sets
    allowed: list[NDArray[np.float64]] = [np.empty(0)] * sets
    for chosen in _alike(grids, operands.workload.k):
        reference, error = _reference(operands, chosen, [grids[number] for number in chosen])
        for number, exact, limit in zip(chosen, reference, error, strict=True):
            references[number], allowed[number] = exact.ravel(), limit.ravel()
    return Comparison(values, np.concatenate(references), np.concatenate(allowed))


def _alike(grids: list[Grid], k: int) -> Iterator[list[int]]:
    """Sets whose grids have one shape, in pieces that fit into a processor's cache."""
    by_shape: dict[tuple[int, int], list[int]] = {}
    for number, grid in enumerate(grids):
        by_shape.setdefault((len(grid.rows), len(grid.columns)), []).append(number)
    for (rows, _), numbers in by_shape.items():
        piece = max(1, _PIECE // (rows * k))
        for first in range(0, len(numbers), piece):
            yield numbers[first : first + piece]


def _reference(
    operands: Operands, chosen: list[int], grids: list[Grid]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Exact products of some sets and their allowed errors, both (sets, rows, columns)."""
    sets, batch = np.array(chosen), np.array([grid.batch for grid in grids])
    rows = operands.rows_of_a(sets, batch, np.array([grid.rows for grid in grids]))
    columns = operands.columns_of_b(sets, batch, np.array([grid.columns for grid in grids]))
    reference = rows @ columns.transpose(0, 2, 1)
    k = operands.workload.k
    rms = np.sqrt(np.square(rows) @ np.square(columns).transpose(0, 2, 1) / k)
    return reference, allowed_error(operands.number_format, reference, rms, k)
