"""What the operands hold: counter-based Threefry values that any row can be recomputed from.

Element i of a buffer is made of the draw at counter i (`kit.threefry`), 23 bits that become a
float32 v in [0, 1). A and B hold u = 2v - 1, cast to the
operand's type; `int8` holds round(127·u), the quantised image of [-1, 1]. Scales hold v itself,
cast to the scale's type. The powers of two of `float8_e8m0fnu` have no zero: they are the power
nearest to max(v, 2^-23), the higher of two that are as near. A zero fill zeroes A and B and leaves
every scale at one. JAX on a GPU, JAX on a CPU and this module agree bit for bit;
`tests/test_fill.py` holds the vectors.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import ml_dtypes
import numpy as np
from numpy.typing import NDArray

from kit.number_format import NumberFormat
from kit.plan import Fill
from kit.surfaces import Input, element_type, inputs, shape
from kit.threefry import (
    ZERO,
    Counters,
    Key,
    Keys,
    counter_type,
    fold_in,
    folds,
    key_of,
    uniform,
    unit,
)
from kit.workload import Workload

_POWER = np.array(np.inf, np.float32).view(np.uint32)
"""The bits of a float32 that say which power of two it begins with."""
_FRACTION_BITS = 23
"""Of a float32; a draw keeps as many."""
_STREAMS: dict[Input, int] = {"a": 0, "b": 1, "a_scale": 2**31, "b_scale": 2**31 + 1}
"""Added to twice the set's number: what a buffer's key is folded with."""
SMALLEST_POWER = 2.0**-23
"""Least draw above zero, which stands in for zero where a type has none."""

BufferKeys = NDArray[np.uint32]
"""Both words (axis 0) of the key of each input (axis 1) of many buffer sets (axis 2)."""


def quantize(values: NDArray[np.float32], kind: str) -> NDArray[np.generic]:
    """Cast float32 draws to the element type `kind`, rounding to nearest even."""
    if kind == "float8_e8m0fnu":
        bits = np.maximum(values, np.float32(SMALLEST_POWER)).view(np.uint32)
        exponents = (bits + np.uint32(0x400000)) >> np.uint32(23)
        return exponents.astype(np.uint8).view(np.dtype(kind))
    is_int8 = kind == "int8"
    scaled: NDArray[np.float32] = np.rint(values * np.float32(127.0)) if is_int8 else values
    return scaled.astype(np.dtype(kind))


def rounded(values: NDArray[np.float32], kind: str) -> NDArray[np.float32]:
    """Float32 draws as `quantize` would cast them, still as float32 and in place; -0.0 becomes 0.0.

    A cast to a narrow type and back takes many times as long as adding a number so large that the
    sum keeps no more digits than the type does, and taking it away again: both round to even.
    """
    if kind == "float8_e8m0fnu":
        values[...] = quantize(values, kind)
        return values
    if kind == "int8":
        np.multiply(values, np.float32(127.0), values)
        return np.rint(values, values)
    limits = ml_dtypes.finfo(kind)  # type: ignore[no-untyped-call]
    if limits.nmant < _FRACTION_BITS:
        large = np.bitwise_and(values.view(np.uint32), _POWER).view(np.float32)
        if limits.smallest_subnormal > SMALLEST_POWER:  # else every small draw is exact
            np.maximum(large, np.float32(limits.smallest_normal), out=large)
        np.multiply(large, np.float32(1.5 * 2 ** (_FRACTION_BITS - limits.nmant)), large)
        np.add(values, large, values)
        np.subtract(values, large, values)
    return values


def drawn(
    surface: Input, key: Key | Keys, counters: Counters, start: Counters = ZERO
) -> NDArray[np.float32]:
    """Draws of one surface, not yet cast: signed operands, unsigned scales (clause M20)."""
    draw = unit if surface.endswith("scale") else uniform
    return draw(key, counters, start)


def fill_seed(seed: int, challenge: str | None, case: str) -> str:
    """Hexadecimal 64-bit seed of a case's operands, from plan, auditor's challenge and case."""
    return _digest("fill", seed, challenge, case)


def sample_seed(seed: int, challenge: str | None, case: str, device: str, number: int) -> str:
    """Hexadecimal 64-bit seed of a run's output sample positions."""
    return _digest("sample", seed, challenge, case, device, number)


def _digest(purpose: str, *parts: object) -> str:
    text = "\n".join(["gemm-kit", purpose, *map(str, parts)])
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def buffer_key(seed: str, surface: Input, buffer_set: int) -> Key:
    """Key of one input buffer; it does not depend on how many sets there are."""
    return fold_in(key_of(seed), 2 * buffer_set + _STREAMS[surface])


def buffer_numbers(sets: NDArray[np.integer[Any]]) -> NDArray[np.uint32]:
    """What a seed is folded with for the keys of A, B and their scales (axis 0), set by set."""
    streams = np.array([*_STREAMS.values()], np.int64)
    numbers: NDArray[np.int64] = streams[:, np.newaxis] + 2 * sets.astype(np.int64)
    return numbers.astype(np.uint32)


@dataclass(frozen=True, slots=True)
class Operands:
    """The operand buffers of one case, as the seed defines them, without any of them in memory."""

    workload: Workload
    number_format: NumberFormat
    fill: Fill
    seed: str

    def keys(self, sets: NDArray[np.integer[Any]]) -> BufferKeys:
        """The keys of each input of each of the sets."""
        numbers = buffer_numbers(sets)[: len(inputs(self.number_format))]
        return np.stack(folds(key_of(self.seed), numbers))

    def vectors(
        self,
        operands: Sequence[Input],
        keys: BufferKeys,
        batch: NDArray[np.int64],
        places: NDArray[np.int64],
        part: slice = slice(None),
    ) -> NDArray[np.float64]:
        """A[row, part] or B[part, column] of the formula, in any layout, times their scales.

        Args:
            operands: one of them, or both, which are drawn as one.
            keys: of S buffers.
            batch: matrix within each of them, (S,).
            places: the same number of rows of A, or of columns of B, of each, (operands, S, R).
            part: elements along K, whole blocks of scales.

        Returns:
            Values of shape (operands, S, R, length of the part).
        """
        first, end, _ = part.indices(self.workload.k)
        values = self._drawn(operands, keys, batch, places, range(first, end))
        block = self.number_format.block
        if block:
            blocks = range(first // block, end // block)
            scales: list[Input] = ["a_scale" if name == "a" else "b_scale" for name in operands]
            values *= np.repeat(self._drawn(scales, keys, batch, places, blocks), block, axis=-1)
        return values

    def _drawn(
        self,
        surfaces: Sequence[Input],
        keys: BufferKeys,
        batch: NDArray[np.int64],
        places: NDArray[np.int64],
        part: range,
    ) -> NDArray[np.float64]:
        if self.fill == "zero":
            return np.full((*places.shape, len(part)), _constant(surfaces[0]))
        strides = [self._strides(name) for name in surfaces]
        kind = counter_type(self.workload.batch * max(size for size, _, _ in strides))
        start = np.empty((*places.shape, 1), kind)
        steps = np.empty((len(surfaces), 1, 1, len(part)), kind)
        for i, (size, along_k, across) in enumerate(strides):
            first = batch * size + part.start * along_k
            start[i, ..., 0] = first[:, np.newaxis] + places[i] * across
            steps[i] = np.arange(0, len(part) * along_k, along_k)
        own = inputs(self.number_format).index(surfaces[0])
        key = keys[:, own : own + len(surfaces), :, np.newaxis, np.newaxis]
        draws = drawn(surfaces[0], (key[0], key[1]), steps, start)
        for name, values in zip(surfaces, draws, strict=True):
            rounded(values, element_type(self.number_format, name))
        return draws.astype(np.float64)

    def _strides(self, surface: Input) -> tuple[int, int, int]:
        """Elements of one matrix, and those from one to the next along K and across it."""
        rows, columns = shape(self.workload, self.number_format, surface)
        is_a = surface.startswith("a")
        k_is_contiguous = is_a == (self.workload.layout[0 if is_a else 1] == "n")
        return (rows * columns, *((1, columns) if k_is_contiguous else (columns, 1)))

    def elements(
        self, surface: Input, buffer_set: int, counters: Counters, start: Counters = ZERO
    ) -> NDArray[np.generic]:
        """Elements `start + counters` of one buffer, in memory's order and the surface's type."""
        kind = element_type(self.number_format, surface)
        if self.fill == "zero":
            return np.full(len(counters), _constant(surface), np.dtype(kind))
        key = buffer_key(self.seed, surface, buffer_set)
        return quantize(drawn(surface, key, counters, start), kind)


def _constant(surface: Input) -> float:
    """What every element holds in a zero fill."""
    return 1.0 if surface.endswith("scale") else 0.0
