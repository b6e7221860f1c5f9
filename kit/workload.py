"""The GEMM problem: D[M,N] = A[M,K] · B[K,N], its shapes, operations and sizes.

A layout letter says how an operand lies in memory (row-major): `n` as the formula writes it, `t`
transposed. So `nt` is A[M,K]·B[N,K], both operands contiguous along K.
"""

import re
from dataclasses import dataclass, replace
from typing import Literal

Layout = Literal["nn", "nt", "tn", "tt"]
Operand = Literal["a", "b"]

_FOUR = re.compile(r"_(\d{1,10})x(\d{1,10})x(\d{1,10})x(\d{1,10})\Z", re.ASCII)
_THREE = re.compile(r"_(\d{1,10})x(\d{1,10})x(\d{1,10})\Z", re.ASCII)
_SQUARE = re.compile(r"square_(\d{1,10})\Z", re.ASCII)
_NUMBER = re.compile(r"\d{3,}", re.ASCII)
_BATCH = re.compile(r"_batch(\d{1,10})\Z", re.ASCII)


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


def sizes_said(name: str) -> tuple[int, int, int, int] | None:
    """Batch, M, N and K that a workload's name says; None if it says none.

    `square_512`, `prefill_64x7168x2048`, either with `_batch8` behind it, `batched_8x512x512x512`.
    """
    if four := _FOUR.search(name):
        batch, m, n, k = map(int, four.groups())
        return batch, m, n, k
    said = _BATCH.search(name)
    batch = int(said[1]) if said else 1
    rest = name[: said.start()] if said else name
    if three := _THREE.search(rest):
        m, n, k = map(int, three.groups())
        return batch, m, n, k
    square = _SQUARE.search(rest)
    return None if square is None else (batch, *(int(square[1]),) * 3)


def misnamed(work: Workload) -> str:
    """What the workload's name would have to say instead of other sizes than it has; "" if none."""
    wanted = (work.batch, work.m, work.n, work.k)
    said = sizes_said(work.name)
    if said == wanted or (said is None and _is_free(work.name, wanted)):
        return ""
    batch = f"batch {work.batch}, " if work.batch > 1 else ""
    return f"a name that says {batch}M {work.m}, N {work.n}, K {work.k}, or no sizes"


def _is_free(name: str, sizes: tuple[int, ...]) -> bool:
    """Whether a name that says no sizes cannot be read as if it did."""
    if name.startswith("square") and any(sign.isdigit() for sign in name):
        return False
    return all(number[0] in map(str, sizes) for number in _NUMBER.finditer(name))


def with_batch(work: Workload) -> Workload:
    """The workload, its batch in its name if that says the sizes of a single product."""
    said = sizes_said(work.name)
    if work.batch == 1 or said is None or said[0] != 1:
        return work
    return replace(work, name=f"{work.name}_batch{work.batch}")
