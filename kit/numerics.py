"""Is a sampled output the product of the seed's operands? Positions, reference, allowed error."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np
from numpy.typing import NDArray

from kit.fill import BufferKeys, Operands, buffer_numbers
from kit.number_format import NumberFormat
from kit.surfaces import inputs
from kit.threefry import fold_in, folds, key_of
from kit.trace import Table
from kit.workload import Workload

_PIECE = 2**16
"""Elements of A and B that are recomputed at once, about: what a processor's cache holds."""
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


@dataclass(frozen=True, slots=True)
class Sampling:
    """What decides a sample: the operands, the rotation's sets, the run's sample seed."""

    operands: Operands
    sets: int
    seed: str


@dataclass(frozen=True, slots=True)
class Sample:
    """Where one run's S output buffers are sampled, and with what keys its inputs were filled.

    The matrix of each is `batch` (S,); its `rows` and `columns` (S, side) are sorted, and may hold
    repeats. One product is recomputed for every crossing of them.
    """

    operands: Operands
    keys: BufferKeys
    batch: NDArray[np.int64]
    rows: NDArray[np.int64]
    columns: NDArray[np.int64]


def sample_grid(seed: str, workload: Workload, sets: int, buffer_set: int) -> Grid:
    """Positions to sample in one output buffer, drawn from the run's sample seed."""
    key = fold_in(key_of(seed), buffer_set)
    bits, _ = folds(key, np.arange(2 * grid_side(sets) + 1, dtype=np.uint32))
    batch, rows, columns = _positions(bits[np.newaxis], workload)
    return Grid(int(batch[0]), *(tuple(np.unique(drawn).tolist()) for drawn in (rows, columns)))


def samples(asked: Sequence[Sampling]) -> list[Sample]:
    """The samples of many runs, drawn together: a few draws take as long as some thousand."""
    if not asked:
        return []
    sets = [run.sets for run in asked]
    chosen = _counted(sets)
    most = max(len(inputs(run.operands.number_format)) for run in asked)
    # First the keys of each set: that of its positions, then those of its inputs.
    numbers = np.vstack([chosen, buffer_numbers(chosen)[:most]])
    seeds = [[key_of(run.seed), *most * [key_of(run.operands.seed)]] for run in asked]
    words = np.repeat(np.array(seeds, np.uint32), sets, axis=0).T
    keys = np.stack(folds((words[0], words[1]), numbers))
    # Then with the first of them what decides the positions.
    draws = [2 * grid_side(count) + 1 for count in sets]
    of_each = np.repeat(draws, sets)
    own = np.repeat(keys[:, 0], of_each, axis=1)
    bits, _ = folds((own[0], own[1]), _counted(of_each))
    found = []
    for run, count in zip(asked, draws, strict=True):
        mine, keys = np.split(keys, [run.sets], axis=2)
        drawn, bits = np.split(bits, [run.sets * count])
        place = _positions(drawn.reshape(run.sets, count), run.operands.workload)
        found.append(Sample(run.operands, mine[:, 1:], *place))
    return found


def sample_of(operands: Operands, sets: int, seed: str) -> Sample:
    """The sample of one run."""
    return samples([Sampling(operands, sets, seed)])[0]


def _counted(lengths: Sequence[int] | NDArray[np.int64]) -> NDArray[np.uint32]:
    """0 up to below each of the lengths, one after the other."""
    ends = np.cumsum(lengths)
    return (np.arange(sum(lengths)) - np.repeat(ends - lengths, lengths)).astype(np.uint32)


def _positions(
    bits: NDArray[np.uint32], workload: Workload
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Matrix, rows and columns that the draws (S, 2 side + 1) of S buffers choose."""
    draws = bits.astype(np.int64)
    side = draws.shape[1] // 2
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


def compare(sample: Sample, outputs: Table) -> Comparison:
    """Recompute every sampled output from the seed.

    Args:
        sample: what the seeds draw.
        outputs: table `kit.trace.OUTPUTS`; every set must be sampled.

    Raises:
        ValueError: the positions are not those that the seed draws, in order.
    """
    rows, columns = sample.rows[:, :, np.newaxis], sample.columns[:, np.newaxis, :]
    kept = _is_first(sample.rows)[:, :, np.newaxis] & _is_first(sample.columns)[:, np.newaxis, :]
    places = {
        "set": np.arange(len(kept))[:, np.newaxis, np.newaxis],
        "batch": sample.batch[:, np.newaxis, np.newaxis],
        "row": rows,
        "column": columns,
    }
    for name, place in places.items():
        if not np.array_equal(outputs[name], np.broadcast_to(place, kept.shape)[kept]):
            raise ValueError("the sampled positions are not those that plan and run number draw")
    row = sample.operands.number_format
    values = output_values(outputs["bits_high"], outputs["bits_low"], row)
    reference, rms = _products(sample)
    allowed = allowed_error(row, reference, rms, sample.operands.workload.k)
    return Comparison(values, reference[kept], allowed[kept])


def _products(sample: Sample) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Exact products, and the root mean square of what each adds up: both (S, side, side)."""
    operands, k = sample.operands, sample.operands.workload.k
    sets, side = sample.rows.shape
    reference, squares = np.zeros((2, sets, side, side))
    block = operands.number_format.block or 1
    # Pieces of one size: of sets, and where one set is too large for a piece, of K in whole blocks.
    sets_each = -(-sets // max(1, round(sets * 2 * side * k / _PIECE)))
    k_each = block * -(-k // block // max(1, round(2 * side * k / _PIECE)))
    places = np.stack([sample.rows, sample.columns])
    for first, start in product(range(0, sets, sets_each), range(0, k, k_each)):
        some, part = slice(first, first + sets_each), slice(start, start + k_each)
        left, right = operands.vectors(
            ("a", "b"), sample.keys[:, :, some], sample.batch[some], places[:, some], part
        )
        right = right.transpose(0, 2, 1)
        reference[some] += left @ right
        if not operands.number_format.is_integer:
            squares[some] += np.square(left, left) @ np.square(right, right)
    return reference, np.sqrt(squares / k)
