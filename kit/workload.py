"""The GEMM problem: D[M,N] = A[M,K] · B[K,N], its shapes, operations and sizes.

A layout letter says how an operand lies in memory (row-major): `n` as the formula writes it, `t`
transposed. So `nt` is A[M,K]·B[N,K], both operands contiguous along K.
"""

from dataclasses import dataclass
from typing import Literal

Layout = Literal["nn", "nt", "tn", "tt"]
Operand = Literal["a", "b"]


@dataclass(frozen=True, slots=True)
class Workload:
    """One problem size. `m`, `n`, `k` count elements; `batch` counts independent products."""

    name: str
    m: int
    n: int
    k: int
    batch: int
    layout: Layout

    @property
    def flops(self) -> int:
        """Floating-point (or integer) operations of one launch: 2·M·N·K·batch, exact."""
        return 2 * self.m * self.n * self.k * self.batch

    def shape(self, operand: Operand) -> tuple[int, int]:
        """Shape in memory of one matrix of `operand`, (rows, columns)."""
        rows, columns = (self.m, self.k) if operand == "a" else (self.k, self.n)
        transposed = self.layout["ab".index(operand)] == "t"
        return (columns, rows) if transposed else (rows, columns)

    @property
    def output_shape(self) -> tuple[int, int]:
        """Shape in memory of one matrix of D: (M, N)."""
        return (self.m, self.n)

    def elements(self, operand: Literal["a", "b", "d"]) -> int:
        """Elements of one buffer of `operand`, all of the batch."""
        sizes = {"a": self.m * self.k, "b": self.k * self.n, "d": self.m * self.n}
        return sizes[operand] * self.batch
