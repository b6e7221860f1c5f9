"""What the operands hold: counter-based Threefry values that any row can be recomputed from.

A value is Threefry-2x32 bits (Salmon et al., SC11) at counter i, as JAX draws them with
partitionable keys: 23 bits become a float32 u in [-1, 1), which is cast to the operand's type.
`int8` holds round(127·u), the quantised image of [-1, 1]. JAX on a GPU, JAX on a CPU and this
module agree bit for bit; `tests/test_fill.py` holds the vectors.
"""

import hashlib
from dataclasses import dataclass

import ml_dtypes  # noqa: F401 - registers bfloat16 and float8 with NumPy
import numpy as np
from numpy.typing import NDArray

from kit.number_format import NumberFormat
from kit.plan import Fill
from kit.workload import Operand, Workload

_ROTATIONS = ((13, 15, 26, 6), (17, 29, 16, 24))
_PARITY = np.uint32(0x1BD11BDA)

Key = tuple[int, int]
Keys = tuple[NDArray[np.uint32], NDArray[np.uint32]]
"""Many keys: both words as columns, to be used with one row of counters for each key."""


def threefry(
    key: Key | Keys, high: NDArray[np.uint32], low: NDArray[np.uint32]
) -> tuple[NDArray[np.uint32], NDArray[np.uint32]]:
    """Threefry-2x32 with 20 rounds over arrays of counters (high, low)."""
    first, second = (np.atleast_1d(np.asarray(word, np.uint32)) for word in key)
    schedule = (first, second, first ^ second ^ _PARITY)
    x0, x1 = high + schedule[0], low + schedule[1]
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


def uniform(key: Key | Keys, counters: NDArray[np.uint64]) -> NDArray[np.float32]:
    """float32 values in [-1, 1) at the given flat element numbers."""
    high = (counters >> np.uint64(32)).astype(np.uint32)
    low = counters.astype(np.uint32)
    x0, x1 = threefry(key, high, low)
    mantissa = ((x0 ^ x1) >> np.uint32(9)) | np.uint32(0x3F800000)
    unit = mantissa.view(np.float32) - np.float32(1.0)
    return unit * np.float32(2.0) - np.float32(1.0)


def quantize(values: NDArray[np.float32], number_format: NumberFormat) -> NDArray[np.generic]:
    """Cast float32 values in [-1, 1) to the operand's type, rounding to nearest even."""
    is_int8 = number_format.operand == "int8"
    scaled: NDArray[np.float32] = np.rint(values * np.float32(127.0)) if is_int8 else values
    return scaled.astype(np.dtype(number_format.operand))


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


def buffer_key(seed: str, operand: Operand, buffer_set: int) -> Key:
    """Key of one operand buffer; it does not depend on how many sets there are."""
    return fold_in(key_of(seed), 2 * buffer_set + "ab".index(operand))


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
        """A[row, :] of the formula, whatever its layout in memory.

        Args:
            sets: rotation set of each of S buffers.
            batch: matrix within each of them, (S,).
            rows: the same number of rows of each, (S, R).

        Returns:
            Values of shape (S, R, K).
        """
        return self._vectors("a", sets, batch, rows)

    def columns_of_b(
        self, sets: NDArray[np.int64], batch: NDArray[np.int64], columns: NDArray[np.int64]
    ) -> NDArray[np.float64]:
        """B[:, column] of the formula, as `rows_of_a`: shape (S, C, K)."""
        return self._vectors("b", sets, batch, columns)

    def _vectors(
        self,
        operand: Operand,
        sets: NDArray[np.int64],
        batch: NDArray[np.int64],
        indices: NDArray[np.int64],
    ) -> NDArray[np.float64]:
        shape = (*indices.shape, self.workload.k)
        if self.fill == "zero":
            return np.zeros(shape)
        rows, columns = self.workload.shape(operand)
        k_is_contiguous = (operand == "a") == (self.workload.layout["ab".index(operand)] == "n")
        along_k, across = (1, columns) if k_is_contiguous else (columns, 1)
        first = batch[:, np.newaxis] * (rows * columns) + indices * across
        counters = first[:, :, np.newaxis] + np.arange(self.workload.k) * along_k
        numbers = 2 * sets + "ab".index(operand)
        keys = folds(key_of(self.seed), numbers.astype(np.uint32))
        values = uniform(keys, counters.reshape(len(sets), -1).astype(np.uint64))
        return quantize(values, self.number_format).astype(np.float64).reshape(shape)

    def elements(
        self, operand: Operand, buffer_set: int, counters: NDArray[np.uint64]
    ) -> NDArray[np.generic]:
        """Elements of one buffer at flat positions in memory, in the operand's type."""
        if self.fill == "zero":
            return np.zeros(len(counters), np.dtype(self.number_format.operand))
        key = buffer_key(self.seed, operand, buffer_set)
        return quantize(uniform(key, counters), self.number_format)
