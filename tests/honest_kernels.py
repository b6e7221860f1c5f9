"""Kernel traces as an H200 gives them, for a GEMM that is known to take a certain period."""

import numpy as np

from kit.evidence import KernelTrace
from kit.trace import Table

GEMM = "nvjet_sm90_tst_128x256_64x4_2x1_v_bz_coopA_NNT"
MEMSET, ADD, COPY = "Memset 0", "loop_add_fusion", "MemcpyD2D"
ADD_NS = 480
"""An H200 takes 1 to 1.4 µs, which the kit spreads over more sets than the bundles here rotate."""


def kernels(period_ns, calls, per_call, seed, *, sets=None, mhz=None):
    """`calls` calls of `per_call` GEMMs: (trace, table).

    With one GEMM a call a memset stands before each, as in front of large ones. With `sets` the
    call is a device loop round so many sets: a copy opens it, an addition closes each trip.
    """
    rng = np.random.default_rng(seed)
    rows, now = [], 0

    def run(name, took_ns, gap_ns):
        nonlocal now
        now += gap_ns if rows else 0
        rows.append((name, now, took_ns))
        now += took_ns

    for _ in range(calls):
        if sets:
            run(COPY, 1024, 900)
        for number in range(per_call):
            helper_ns = 0
            if per_call == 1:
                run(MEMSET, 832, 1700)
                helper_ns = 832 + 1700
            gap_ns = int(rng.integers(96, 161))
            noise = rng.normal(0.0, 0.001)
            run(GEMM, round((period_ns - gap_ns - helper_ns) * (1 + noise)), gap_ns)
            if sets and (number + 1) % sets == 0:
                run(ADD, ADD_NS, 1100)
    numbers = {}
    values = [(numbers.setdefault(name, len(numbers)), *times) for name, *times in rows]
    index, start_ns, duration_ns = np.array(values, np.int64).T
    table = Table({"name": index, "start_ns": start_ns, "duration_ns": duration_ns})
    return KernelTrace("ok", "", calls, calls * per_call, tuple(numbers), GEMM, mhz), table
