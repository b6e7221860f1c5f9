"""What the operands hold: counter-based Threefry values that any row can be recomputed from.

A value is Threefry-2x32 bits (Salmon et al., SC11) at counter i, as JAX draws them with
partitionable keys: 23 bits become a float32 v in [0, 1). A and B hold u = 2v - 1, cast to the
operand's type; `int8` holds round(127·u), the quantised image of [-1, 1]. Scales hold v itself,
cast to the scale's type. The powers of two of `float8_e8m0fnu` have no zero: they are the power
nearest to max(v, 2^-23), the higher of two that are as near. A zero fill zeroes A and B and leaves
every scale at one. JAX on a GPU, JAX on a CPU and this module agree bit for bit;
`tests/test_fill.py` holds the vectors.
"""

import hashlib
from dataclasses import dataclass
from typing import Any

import ml_dtypes  # noqa: F401 - registers bfloat16 and float8 with NumPy
import numpy as np
from numpy.typing import NDArray

from kit.number_format import NumberFormat
from kit.plan import Fill
from kit.surfaces import Input, element_type, shape
from kit.workload import Workload

_ROTATIONS = ((13, 15, 26, 6), (17, 29, 16, 24))
_PARITY = np.uint32(0x1BD11BDA)
_STREAMS: dict[Input, int] = {"a": 0, "b": 1, "a_scale": 2**31, "b_scale": 2**31 + 1}
"""Added to twice the set's number: what a buffer's key is folded with."""
SMALLEST_POWER = 2.0**-23
"""Least draw above zero, which stands in for zero where a type has none."""

Key = tuple[int, int]
Keys = tuple[NDArray[np.uint32], NDArray[np.uint32]]
"""Many keys: both words as columns, to be used with one row of counters for each key."""
Counters = NDArray[np.unsignedinteger[Any]]
"""Flat element numbers, uint32 or uint64. 32 bits are enough for most buffers, and less work."""


def threefry(
    key: Key | Keys, high: NDArray[np.uint32], low: NDArray[np.uint32]
) -> tuple[NDArray[np.uint32], NDArray[np.uint32]]:
    """Threefry-2x32 with 20 rounds over arrays of counters (high, low)."""
    first, second = (np.atleast_1d(np.asarray(word, np.uint32)) for word in key)
    schedule = (first, second, first ^ second ^ _PARITY)
    x1 = low + schedule[1]
    x0 = np.broadcast_to(high + schedule[0], x1.shape).copy()
    shifted = np.empty_like(x1)
    for block in range(5):
        for rotation in _ROTATIONS[block % 2]:
            x0 += x1
            np.left_shift(x1, np.uint32(rotation), out=shifted)
            x1 >>= np.uint32(32 - rotation)
            x1 |= shifted
            x1 ^= x0
        x0 += schedule[(block + 1) % 3]
        x1 += schedule[(block + 2) % 3] + np.uint32(block + 1)
    return x0, x1


def fold_in(key: Key, data: int) -> Key:
    """A new key from `key` and a number below 2^32, as `jax.random.fold_in` makes it."""
    x0, x1 = threefry(key, np.zeros(1, np.uint32), np.array([data], np.uint32))
    return int(x0[0]), int(x1[0])


def folds(key: Key, data: NDArray[np.uint32]) -> Keys:
    """The keys that `fold_in` makes of many numbers."""
    x0, x1 = threefry(key, np.zeros_like(data), data)
    return x0[:, np.newaxis], x1[:, np.newaxis]


def counter_type(elements: int) -> type[np.unsignedinteger[Any]]:
    """The narrowest type of `Counters` for a buffer of so many elements."""
    return np.uint32 if elements <= 2**32 else np.uint64


def unit(key: Key | Keys, counters: Counters) -> NDArray[np.float32]:
    """float32 values in [0, 1) at the given flat element numbers."""
    high = np.zeros(1, np.uint32)
    if counters.dtype == np.uint64:
        high = (counters >> np.uint64(32)).astype(np.uint32)
    bits, other = threefry(key, high, counters.astype(np.uint32, copy=False))
    bits ^= other
    bits >>= np.uint32(9)
    bits |= np.uint32(0x3F800000)
    values = bits.view(np.float32)
    values -= np.float32(1.0)
    return values


def uniform(key: Key | Keys, counters: Counters) -> NDArray[np.float32]:
    """float32 values in [-1, 1) at the given flat element numbers."""
    values = unit(key, counters)
    values *= np.float32(2.0)
    values -= np.float32(1.0)
    return values


def quantize(values: NDArray[np.float32], kind: str) -> NDArray[np.generic]:
    """Cast float32 draws to the element type `kind`, rounding to nearest even."""
    if kind == "float8_e8m0fnu":
        bits = np.maximum(values, np.float32(SMALLEST_POWER)).view(np.uint32)
        exponents = (bits + np.uint32(0x400000)) >> np.uint32(23)
        return exponents.astype(np.uint8).view(np.dtype(kind))
    is_int8 = kind == "int8"
    scaled: NDArray[np.float32] = np.rint(values * np.float32(127.0)) if is_int8 else values
    return scaled.astype(np.dtype(kind))


def drawn(surface: Input, key: Key | Keys, counters: Counters, kind: str) -> NDArray[np.generic]:
    """Elements of one surface in its type: signed operands, unsigned scales (clause M20)."""
    draw = unit if surface.endswith("scale") else uniform
    return quantize(draw(key, counters), kind)


def fill_seed(seed: int, challenge: str | None, case: str) -> str:
    """Hexadecimal 64-bit seed of a case's operands, from plan, auditor's challenge and case."""
    return _digest("fill", seed, challenge, case)


def sample_seed(seed: int, challenge: str | None, case: str, device: str, number: int) -> str:
    """Hexadecimal 64-bit seed of a run's output sample positions."""
    return _digest("sample", seed, challenge, case, device, number)


def _digest(purpose: str, *parts: object) -> str:
    text = "\n".join(["gemm-kit", purpose, *map(str, parts)])
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def key_of(seed: str) -> Key:
    """The Threefry key of a 64-bit hexadecimal seed: its upper and lower 32 bits."""
    return int(seed[:8], 16), int(seed[8:], 16)


def buffer_key(seed: str, surface: Input, buffer_set: int) -> Key:
    """Key of one input buffer; it does not depend on how many sets there are."""
    return fold_in(key_of(seed), 2 * buffer_set + _STREAMS[surface])


@dataclass(frozen=True, slots=True)
class Operands:
    """The operand buffers of one case, as the seed defines them, without any of them in memory."""

    workload: Workload
    number_format: NumberFormat
    fill: Fill
    seed: str

    def rows_of_a(
        self, sets: NDArray[np.int64], batch: NDArray[np.int64], rows: NDArray[np.int64]
    ) -> NDArray[np.float64]:
        """A[row, :] of the formula, whatever its layout in memory, times its scales.

        Args:
            sets: rotation set of each of S buffers.
            batch: matrix within each of them, (S,).
            rows: the same number of rows of each, (S, R).

        Returns:
            Values of shape (S, R, K).
        """
        return self._scaled(("a", "a_scale"), sets, batch, rows)

    def columns_of_b(
        self, sets: NDArray[np.int64], batch: NDArray[np.int64], columns: NDArray[np.int64]
    ) -> NDArray[np.float64]:
        """B[:, column] of the formula, as `rows_of_a`: shape (S, C, K)."""
        return self._scaled(("b", "b_scale"), sets, batch, columns)

    def _scaled(self, names: tuple[Input, Input], *place: NDArray[np.int64]) -> NDArray[np.float64]:
        values = self._vectors(names[0], *place)
        if not self.number_format.block:
            return values
        scales = self._vectors(names[1], *place)
        return values * np.repeat(scales, self.number_format.block, axis=-1)

    def _vectors(
        self,
        surface: Input,
        sets: NDArray[np.int64],
        batch: NDArray[np.int64],
        indices: NDArray[np.int64],
    ) -> NDArray[np.float64]:
        rows, columns = shape(self.workload, self.number_format, surface)
        is_a = surface.startswith("a")
        k_is_contiguous = is_a == (self.workload.layout[0 if is_a else 1] == "n")
        k = columns if k_is_contiguous else rows
        if self.fill == "zero":
            return np.full((*indices.shape, k), _constant(surface))
        along_k, across = (1, columns) if k_is_contiguous else (columns, 1)
        first = batch[:, np.newaxis] * (rows * columns) + indices * across
        kind = counter_type(self.workload.batch * rows * columns)
        steps = (np.arange(k) * along_k).astype(kind)
        counters = first.astype(kind)[:, :, np.newaxis] + steps
        numbers = 2 * sets + _STREAMS[surface]
        keys = folds(key_of(self.seed), numbers.astype(np.uint32))
        flat = counters.reshape(len(sets), -1)
        values = drawn(surface, keys, flat, element_type(self.number_format, surface))
        return values.astype(np.float64).reshape(counters.shape)

    def elements(self, surface: Input, buffer_set: int, counters: Counters) -> NDArray[np.generic]:
        """Elements of one buffer at flat positions in memory, in the surface's type."""
        kind = element_type(self.number_format, surface)
        if self.fill == "zero":
            return np.full(len(counters), _constant(surface), np.dtype(kind))
        return drawn(surface, buffer_key(self.seed, surface, buffer_set), counters, kind)


def _constant(surface: Input) -> float:
    """What every element holds in a zero fill."""
    return 1.0 if surface.endswith("scale") else 0.0
