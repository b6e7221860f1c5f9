"""What a kernel trace shows: which kernels are the GEMM's, how long they take, and the gaps.

Kernels are classified by how often they run, not by a vendor's naming: the GEMM is what takes most
of the time, and its helpers (clearing a workspace, adding partial sums) run with every GEMM.
"""

from dataclasses import dataclass
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from kit.evidence import KernelTrace
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
    """

    gemm_name: str
    gemms: int
    helpers: tuple[str, ...]
    kernels_per_gemm: int
    is_steady: bool
    auxiliary: tuple[Auxiliary, ...]
    kernel_ns: float
    gap_median_ns: float
    gap_p99_ns: int
    gap_mean_ns: float
    gap_share: float

    @property
    def auxiliary_share(self) -> float:
        """Share of the busy time that is no GEMM's."""
        return sum(entry.share for entry in self.auxiliary)


def is_named(trace: KernelTrace, table: Table) -> bool:
    """Whether every row of `table` has one of the trace's names."""
    return bool(table["name"].max() < len(trace.names))


def kernel_figures(trace: KernelTrace | None, tables: dict[str, Table]) -> KernelFigures | None:
    """The figures of a run's trace; None where there is none, or its names are incomplete."""
    table = tables.get(KERNELS.file)
    if trace is None or trace.status != "ok" or table is None or not is_named(trace, table):
        return None
    return figures(trace.names, table)


_KNOWN: WeakKeyDictionary[Table, dict[tuple[str, ...], KernelFigures]] = WeakKeyDictionary()


def figures(names: tuple[str, ...], table: Table) -> KernelFigures:
    """Derive everything from the rows of `kit.trace.KERNELS`; `names` covers their indices.

    Several rules and the headline ask, so the answer is kept as long as the table.
    """
    known = _KNOWN.setdefault(table, {})
    if names not in known:
        known[names] = _figures(names, table)
    return known[names]


def _figures(names: tuple[str, ...], table: Table) -> KernelFigures:
    index = table["name"]
    own_ns, gaps_ns = _busy(table)
    counts = np.bincount(index, minlength=len(names))
    gemm = _gemm(names, index, own_ns, counts)
    gemms = int(counts[gemm])
    helpers = [
        number
        for number in np.flatnonzero(counts).tolist()
        if number != gemm and counts[number] % gemms == 0 and _helps(names[number])
    ]
    per_gemm_ns = own_ns[index == gemm].copy()
    for helper in helpers:
        per_gemm_ns += own_ns[index == helper].reshape(gemms, -1).sum(axis=1)
    busy_ns = max(1, int(own_ns.sum()))
    others = [n for n in np.flatnonzero(counts).tolist() if n != gemm and n not in helpers]
    p99_ns, kept_ns = _usual(gaps_ns)
    waiting_ns = int(np.maximum(kept_ns, 0).sum())
    return KernelFigures(
        gemm_name=names[gemm],
        gemms=gemms,
        helpers=tuple(names[helper] for helper in helpers),
        kernels_per_gemm=1 + sum(int(counts[helper]) // gemms for helper in helpers),
        is_steady=all(_is_steady(index, gemm, helper) for helper in helpers),
        auxiliary=tuple(
            Auxiliary(names[n], int(counts[n]), int(own_ns[index == n].sum()) / busy_ns)
            for n in others
        ),
        kernel_ns=float(np.median(per_gemm_ns)),
        gap_median_ns=float(np.median(gaps_ns)) if len(gaps_ns) else 0.0,
        gap_p99_ns=p99_ns,
        gap_mean_ns=waiting_ns / max(1, len(kept_ns)),
        gap_share=waiting_ns / (waiting_ns + busy_ns),
    )


def _busy(table: Table) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Each kernel's time that no earlier kernel covers, and the gap before each but the first."""
    start_ns = table["start_ns"]
    end_ns = start_ns + table["duration_ns"]
    before_ns = np.concatenate([start_ns[:1], np.maximum.accumulate(end_ns)[:-1]])
    own_ns = np.maximum(0, end_ns - np.maximum(start_ns, before_ns))
    return own_ns, (start_ns - before_ns)[1:]


def _gemm(
    names: tuple[str, ...],
    index: NDArray[np.int64],
    own_ns: NDArray[np.int64],
    counts: NDArray[np.intp],
) -> int:
    """The most time-consuming kernel, before those that XLA names as work of its own."""
    total_ns = np.bincount(index, weights=own_ns, minlength=len(names))
    present = np.flatnonzero(counts).tolist()
    products = [number for number in present if not _is_compilers(names[number])] or present
    return int(max(products, key=lambda number: total_ns[number]))


def _is_compilers(name: str) -> bool:
    lower = name.lower()
    return any(word in lower for word in COMPILER_WORDS) and not any(
        word in lower for word in PRODUCT_WORDS
    )


def _helps(name: str) -> bool:
    return REDUCTION_WORD in name.lower() or not _is_compilers(name)


def _is_steady(index: NDArray[np.int64], gemm: int, helper: int) -> bool:
    """Whether equally many of the helper's kernels stand between every two GEMMs."""
    gemm_rows, helper_rows = np.flatnonzero(index == gemm), np.flatnonzero(index == helper)
    place = np.searchsorted(gemm_rows, helper_rows)
    between = np.bincount(place, minlength=len(gemm_rows) + 1)[1:-1]
    return bool(np.all(between == len(helper_rows) // len(gemm_rows)))


def _usual(gaps_ns: NDArray[np.int64]) -> tuple[int, NDArray[np.int64]]:
    """The 99th percentile of the gaps, the largest always left out, and all gaps up to it."""
    if not len(gaps_ns):
        return 0, gaps_ns
    place = int(_P99 * (len(gaps_ns) - 1))
    ordered = np.partition(gaps_ns, place)
    return int(ordered[place]), ordered[: place + 1]
