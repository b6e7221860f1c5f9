"""NumPy's BLAS on the same CPU and workloads as a bundle's cases: time ratios.

    python tests/benchmarks/against_numpy.py BUNDLE [--json FILE]

NumPy multiplies over as many buffer sets as the bundle rotated, into buffers of its own. A ratio
above 1 means that the bundle's launches were faster. Left out are types that NumPy has no BLAS for.
"""

import argparse
import json
import statistics
import time
from pathlib import Path

import numpy as np

from kit.bundle.reader import parse, read_container
from kit.checker.recomputed import recompute

TYPES = {"fp64": np.float64, "fp32": np.float32}
BLOCKS, BLOCK_S = 7, 0.3


def numpy_period_ns(case, sets):
    """Median over several blocks of one product's time."""
    kind, row = TYPES[case.number_format], np.random.default_rng(0)
    pools = []
    for _ in range(sets):
        a, b = (row.random(case.workload.shape(name)) * 2 - 1 for name in "ab")
        a, b = a.astype(kind), b.astype(kind)
        a = a.T if case.workload.layout[0] == "t" else a
        b = b.T if case.workload.layout[1] == "t" else b
        pools.append((a, b, np.empty(case.workload.output_shape, kind)))
    blocks = []
    for block in range(BLOCKS + 1):
        launches, start = 0, time.perf_counter()
        while time.perf_counter() - start < BLOCK_S:
            for a, b, d in pools:
                np.matmul(a, b, out=d)
            launches += sets
        if block:  # the first one warms up
            blocks.append((time.perf_counter() - start) / launches * 1e9)
    return statistics.median(blocks)


def main():
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("bundle", type=Path)
    arguments.add_argument("--json", type=Path)
    given = arguments.parse_args()
    rows = []
    print(f"{'case':38} {'kit µs':>10} {'numpy µs':>10} {'ratio':>7}")
    for case in recompute(parse(read_container(given.bundle))):
        if case.case.number_format not in TYPES or case.metrics.period_ns is None:
            continue
        ours = case.metrics.period_ns
        theirs = numpy_period_ns(case.case, case.runs[0].run.document.rotation.sets)
        rows.append(
            {"case": case.case.id, "kit_ns": ours, "numpy_ns": theirs, "ratio": theirs / ours}
        )
        print(f"{case.case.id:38} {ours / 1e3:10.2f} {theirs / 1e3:10.2f} {theirs / ours:7.3f}")
    if given.json:
        given.json.write_text(json.dumps({"numpy": np.__version__, "rows": rows}, indent=1) + "\n")


if __name__ == "__main__":
    main()
