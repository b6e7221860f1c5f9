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
_PARITY = 0x1BD11BDA

Key = tuple[int, int]


def threefry(
    key: Key, high: NDArray[np.uint32], low: NDArray[np.uint32]
) -> tuple[NDArray[np.uint32], NDArray[np.uint32]]:
    """Threefry-2x32 with 20 rounds over vectors of counters (high, low)."""
    schedule = (key[0], key[1], key[0] ^ key[1] ^ _PARITY)
    x0 = high + np.uint32(schedule[0])
    x1 = low + np.uint32(schedule[1])
    for block in range(5):
        for rotation in _ROTATIONS[block % 2]:
            x0 += x1
            x1 = (x1 << np.uint32(rotation)) | (x1 >> np.uint32(32 - rotation))
            x1 ^= x0
        x0 += np.uint32(schedule[(block + 1) % 3])
        x1 += np.uint32((schedule[(block + 2) % 3] + block + 1) % 2**32)
    return x0, x1


def fold_in(key: Key, data: int) -> Key:
    """A new key from `key` and a number below 2^32, as `jax.random.fold_in` makes it."""
    x0, x1 = threefry(key, np.zeros(1, np.uint32), np.array([data], np.uint32))
    return int(x0[0]), int(x1[0])


def uniform(key: Key, counters: NDArray[np.uint64]) -> NDArray[np.float32]:
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

    def a_row(self, buffer_set: int, batch: int, row: int) -> NDArray[np.float64]:
        """A[row, :] of the formula (K values), whatever its layout in memory."""
        return self._vector("a", buffer_set, batch, row)

    def b_column(self, buffer_set: int, batch: int, column: int) -> NDArray[np.float64]:
        """B[:, column] of the formula (K values), whatever its layout in memory."""
        return self._vector("b", buffer_set, batch, column)

    def _vector(
        self, operand: Operand, buffer_set: int, batch: int, index: int
    ) -> NDArray[np.float64]:
        rows, columns = self.workload.shape(operand)
        along_k = np.arange(self.workload.k, dtype=np.uint64)
        k_is_contiguous = (operand == "a") == (self.workload.layout["ab".index(operand)] == "n")
        offset = batch * rows * columns
        if k_is_contiguous:
            counters = along_k + np.uint64(offset + index * columns)
        else:
            counters = along_k * np.uint64(columns) + np.uint64(offset + index)
        return self.elements(operand, buffer_set, counters).astype(np.float64)

    def elements(
        self, operand: Operand, buffer_set: int, counters: NDArray[np.uint64]
    ) -> NDArray[np.generic]:
        """Elements of one buffer at flat positions in memory, in the operand's type."""
        if self.fill == "zero":
            return np.zeros(len(counters), np.dtype(self.number_format.operand))
        key = buffer_key(self.seed, operand, buffer_set)
        return quantize(uniform(key, counters), self.number_format)
