"""What a kernel trace shows: which kernels are the GEMM's, how long they take, and the gaps.

Kernels are classified by how often they run, not by a vendor's naming: the GEMM is what takes most
of the time, and its helpers (clearing a workspace, adding partial sums) run with every GEMM.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kit.evidence import KernelTrace
from kit.remembered import remembered
from kit.trace import KERNELS, Table

COMPILER_WORDS = ("fusion", "wrapped_", "memcpy", "copy", "transpose", "convert")
"""Words in the names of work that XLA adds: such a kernel is no library GEMM and no helper of one.

XLA names kernels after HLO instructions, such as `loop_transpose_fusion`, and copies `MemcpyD2D`.
"""
PRODUCT_WORDS = ("gemm", "dot")
"""Words by which XLA's own products, such as `gemm_fusion_dot`, are known all the same."""
REDUCTION_WORD = "reduce"
"""Partial sums of a split K are added by a kernel so named, a library's or XLA's."""
_P99 = 0.99

Times = NDArray[np.int64]
Rows = NDArray[np.intp]


@dataclass(frozen=True, slots=True)
class Auxiliary:
    """A kernel that belongs to no GEMM: how often it ran and its share of the busy time."""

    name: str
    count: int
    share: float


@dataclass(frozen=True, slots=True)
class KernelFigures:
    """What one trace shows. Times in ns, shares as fractions.

    `kernel_ns` is the median over the GEMMs of the device time of a GEMM's kernel and its helpers;
    time in which two kernels overlap counts once, for the earlier. `kernels_per_gemm` counts the
    kernel and its helpers; `is_steady` says that the same helpers stand between every two GEMMs.
    Gaps run from the end of all kernels before to the next start, and are negative where kernels
    overlap. `gap_share` and `gap_mean_ns` leave out the one per cent that is longer than
    `gap_p99_ns`: the profiler itself interrupts now and then, and the first calls catch up.
    `overlap_median_ns` is the median of how far a kernel overlaps the one right before it, negative
    where they lie apart.
    """

    gemm_name: str
    gemms: int
    helpers: tuple[str, ...]
    kernels_per_gemm: int
    is_steady: bool
    auxiliary: tuple[Auxiliary, ...]
    kernel_ns: float
    gap_median_ns: float
    overlap_median_ns: float
    gap_p99_ns: int
    gap_mean_ns: float
    gap_share: float

    @property
    def auxiliary_share(self) -> float:
        """Share of the busy time that is no GEMM's."""
        return sum(entry.share for entry in self.auxiliary)


def is_named(trace: KernelTrace, table: Table) -> bool:
    """Whether every row of `table` has one of the trace's names."""
    return _highest_name(table) < len(trace.names)


@remembered
def _highest_name(table: Table) -> int:
    return int(table["name"].max())


def kernel_figures(trace: KernelTrace | None, tables: dict[str, Table]) -> KernelFigures | None:
    """The figures of a run's trace; None where there is none, or its names are incomplete."""
    table = tables.get(KERNELS.file)
    if trace is None or trace.status != "ok" or table is None or not is_named(trace, table):
        return None
    return figures(trace.names, table)


def figures(names: tuple[str, ...], table: Table) -> KernelFigures:
    """Derive everything from the rows of `kit.trace.KERNELS`; `names` covers their indices."""
    return _figures(table, names)


@remembered
def _figures(table: Table, names: tuple[str, ...]) -> KernelFigures:
    index = table["name"]
    own_ns, gaps_ns, overlaps_ns = _busy(table)
    counts = np.bincount(index, minlength=len(names))
    present = np.flatnonzero(counts).tolist()
    gemm = _gemm(names, index, own_ns, present)
    gemms, gemm_rows = int(counts[gemm]), np.flatnonzero(index == gemm)
    per_gemm_ns = own_ns[gemm_rows]
    helpers, others, is_steady = [], [], True
    for number in present:
        if number == gemm:
            continue
        if counts[number] % gemms or not _helps(names[number]):
            others.append(number)
            continue
        rows = np.flatnonzero(index == number)
        per_gemm_ns += own_ns[rows].reshape(gemms, -1).sum(axis=1)
        is_steady = is_steady and _is_steady(gemm_rows, rows)
        helpers.append(number)
    busy_ns = max(1, int(own_ns.sum()))
    gap_median_ns, p99_ns, kept_ns = _usual(gaps_ns)
    waiting_ns = int(np.maximum(kept_ns, 0).sum())
    return KernelFigures(
        gemm_name=names[gemm],
        gemms=gemms,
        helpers=tuple(names[helper] for helper in helpers),
        kernels_per_gemm=1 + sum(int(counts[helper]) // gemms for helper in helpers),
        is_steady=is_steady,
        auxiliary=tuple(
            Auxiliary(names[n], int(counts[n]), int(own_ns[index == n].sum()) / busy_ns)
            for n in others
        ),
        kernel_ns=_middle(_ordered_at(per_gemm_ns)),
        gap_median_ns=gap_median_ns,
        overlap_median_ns=(
            -gap_median_ns if overlaps_ns is None else _middle(_ordered_at(overlaps_ns))
        ),
        gap_p99_ns=p99_ns,
        gap_mean_ns=waiting_ns / max(1, len(kept_ns)),
        gap_share=waiting_ns / (waiting_ns + busy_ns),
    )


def _busy(table: Table) -> tuple[Times, Times, Times | None]:
    """Each kernel's time that no earlier kernel covers, and the gap before each but the first.

    Last, how far each but the last one overlaps the next; None where that is the gaps turned round,
    since no kernel ends before an earlier one does.
    """
    start_ns, own_ns = table["start_ns"], table["duration_ns"].copy()
    end_ns, overlaps_ns = start_ns + own_ns, None
    if (end_ns[1:] < end_ns[:-1]).any():
        overlaps_ns = end_ns[:-1] - start_ns[1:]
        end_ns = np.maximum.accumulate(end_ns)
    gaps_ns = start_ns[1:] - end_ns[:-1]
    own_ns[1:] += np.minimum(gaps_ns, 0)
    return np.maximum(own_ns, 0, out=own_ns), gaps_ns, overlaps_ns


def _gemm(names: tuple[str, ...], index: Times, own_ns: Times, present: list[int]) -> int:
    """The most time-consuming kernel, before those that XLA names as work of its own."""
    products = [number for number in present if not _is_compilers(names[number])] or present
    if len(products) == 1:
        return products[0]
    total_ns = np.bincount(index, weights=own_ns, minlength=len(names))
    return max(products, key=lambda number: total_ns[number])


def _is_compilers(name: str) -> bool:
    lower = name.lower()
    return any(word in lower for word in COMPILER_WORDS) and not any(
        word in lower for word in PRODUCT_WORDS
    )


def _helps(name: str) -> bool:
    return REDUCTION_WORD in name.lower() or not _is_compilers(name)


def _is_steady(gemm_rows: Rows, helper_rows: Rows) -> bool:
    """Whether equally many of the helper's kernels stand between every two GEMMs."""
    each, spaces = len(helper_rows) // len(gemm_rows), len(gemm_rows) - 1
    first = int(np.searchsorted(helper_rows, gemm_rows[0]))
    end = first + each * spaces
    if end > len(helper_rows):
        return False
    between, after = helper_rows[first:end].reshape(spaces, each), helper_rows[end : end + 1]
    return bool(
        (between[:, 0] > gemm_rows[:-1]).all()
        and (between[:, -1] < gemm_rows[1:]).all()
        and (after > gemm_rows[-1]).all()
    )


def _usual(gaps_ns: Times) -> tuple[float, int, Times]:
    """Median and 99th percentile of the gaps, the largest always left out, and all up to that."""
    if not len(gaps_ns):
        return 0.0, 0, gaps_ns
    place = int(_P99 * (len(gaps_ns) - 1))
    ordered = _ordered_at(gaps_ns, place)
    return _middle(ordered), int(ordered[place]), ordered[: place + 1]


def _ordered_at(values: Times, *places: int) -> Times:
    """The values in such an order that those in the middle and at `places` are where they belong.

    NumPy looks for several places at once; for one alone, among many equal values, it takes longer.
    """
    return np.partition(values, [(len(values) - 1) // 2, len(values) // 2, *places])


def _middle(ordered: Times) -> float:
    """The median of what `_ordered_at` gives."""
    return (int(ordered[(len(ordered) - 1) // 2]) + int(ordered[len(ordered) // 2])) / 2
