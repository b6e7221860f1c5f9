"""Is a sampled output the product of the seed's operands? Positions, reference, allowed error."""

import math
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
    batch, rows, columns = _draws(seed, workload, sets, np.array([buffer_set], np.uint32))
    return Grid(int(batch[0]), *(tuple(np.unique(drawn).tolist()) for drawn in (rows, columns)))


def _draws(
    seed: str, workload: Workload, sets: int, chosen: NDArray[np.uint32]
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Matrix (S,), rows and columns (S, side) of S buffers; both sorted, and may hold repeats."""
    side = grid_side(sets)
    counters = np.arange(2 * side + 1, dtype=np.uint32)[np.newaxis]
    bits, _ = threefry(folds(key_of(seed), chosen), np.zeros_like(counters), counters)
    draws = bits.astype(np.int64)
    rows = np.sort(draws[:, :side] % workload.m, axis=1)
    columns = np.sort(draws[:, side : 2 * side] % workload.n, axis=1)
    return draws[:, -1] % workload.batch, rows, columns


def _is_first(sorted_draws: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Where a sorted draw is not the one before it."""
    first = np.ones(sorted_draws.shape, np.bool_)
    first[:, 1:] = sorted_draws[:, 1:] != sorted_draws[:, :-1]
    return first


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
    chosen = np.arange(sets)
    batch, rows, columns = _draws(seed, operands.workload, sets, chosen.astype(np.uint32))
    kept = _is_first(rows)[:, :, np.newaxis] & _is_first(columns)[:, np.newaxis, :]
    places = {
        "set": chosen[:, np.newaxis, np.newaxis],
        "batch": batch[:, np.newaxis, np.newaxis],
        "row": rows[:, :, np.newaxis],
        "column": columns[:, np.newaxis, :],
    }
    for name, place in places.items():
        if not np.array_equal(outputs[name], np.broadcast_to(place, kept.shape)[kept]):
            raise ValueError("the sampled positions are not those that plan and run number draw")
    values = output_values(outputs["bits_high"], outputs["bits_low"], operands.number_format)
    piece = max(1, _PIECE // (rows.shape[1] * operands.workload.k))
    reference, allowed = np.empty(kept.shape), np.empty(kept.shape)
    for first in range(0, sets, piece):
        part = slice(first, first + piece)
        reference[part], allowed[part] = _reference(
            operands, chosen[part], batch[part], rows[part], columns[part]
        )
    return Comparison(values, reference[kept], allowed[kept])


def _reference(
    operands: Operands,
    sets: NDArray[np.int64],
    batch: NDArray[np.int64],
    rows: NDArray[np.int64],
    columns: NDArray[np.int64],
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Exact products of some sets and their allowed errors, both (sets, rows, columns)."""
    left = operands.rows_of_a(sets, batch, rows)
    right = operands.columns_of_b(sets, batch, columns).transpose(0, 2, 1)
    reference, k = left @ right, operands.workload.k
    if operands.number_format.is_integer:
        return reference, allowed_error(operands.number_format, reference, 0.0, k)
    rms = np.sqrt(np.square(left) @ np.square(right) / k)
    return reference, allowed_error(operands.number_format, reference, rms, k)
