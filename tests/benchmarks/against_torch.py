"""Torch on the same GPU, workloads, rotation and fill range as a bundle's cases: time ratios.

    python tests/benchmarks/against_torch.py BUNDLE [--json FILE]

Torch multiplies over as many buffer sets as the bundle rotated: in a CUDA graph of one or more
rotations, whose launches cost the host nothing, and eagerly, one call a launch. Each way warms up
for three seconds and is timed with CUDA events for five. A ratio above 1 means that the bundle's
launches were faster, by the median of its runs. Cases of number formats that torch has no product
for are left out.
"""

import argparse
import json
import statistics
import time
from pathlib import Path

import torch

from kit.bundle.reader import parse, read_container
from kit.checker.recomputed import recompute

WARM_UP_S, TIMED_S = 3.0, 5.0
GRAPH_LAUNCHES = 512
TYPES = {
    "fp64": torch.float64,
    "fp32": torch.float32,
    "tf32": torch.float32,
    "bf16": torch.bfloat16,
    "fp16": torch.float16,
    "e4m3": torch.float8_e4m3fn,
    "int8": torch.int8,
}


def operands(case):
    """A and B as torch wants them: B as a transposed view where the layout says so."""
    made = []
    for name in "ab":
        values = torch.rand(case.workload.shape(name), device="cuda") * 2 - 1
        kind = TYPES[case.number_format]
        made.append((values * 127).round().to(kind) if kind is torch.int8 else values.to(kind))
    a, b = made
    return (
        a.t() if case.workload.layout[0] == "t" else a,
        b.t() if case.workload.layout[1] == "t" else b,
    )


def product(case, a, b):
    """A function that launches one product into a buffer of its own."""
    shape = case.workload.output_shape
    if case.number_format == "e4m3":
        one = torch.ones((), device="cuda")
        out = torch.empty(shape, device="cuda", dtype=torch.bfloat16)
        return lambda: torch._scaled_mm(
            a, b, one, one, out_dtype=torch.bfloat16, use_fast_accum=False, out=out
        )
    if case.number_format == "int8":
        out = torch.empty(shape, device="cuda", dtype=torch.int32)
        return lambda: torch._int_mm(a, b, out=out)
    out = torch.empty(shape, device="cuda", dtype=TYPES[case.number_format])
    return lambda: torch.mm(a, b, out=out)


def torch_period_ns(case, sets, *, eager):
    """Settled mean time of one product, in a graph that goes round all sets or launched eagerly."""
    torch.backends.cuda.matmul.allow_tf32 = case.number_format == "tf32"
    launches = [product(case, *operands(case)) for _ in range(sets)]
    rotations = max(1, GRAPH_LAUNCHES // sets)

    def rotate():
        for launch in launches:
            launch()

    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        rotate()
    torch.cuda.synchronize()
    step, per_step = rotate, sets
    if not eager:
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, stream=stream):
            for _ in range(rotations):
                rotate()
        step, per_step = graph.replay, sets * rotations

    def span_s(seconds):
        """(seconds of device time, launches) of about so many seconds of work."""
        first, last = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        done, start = 0, time.monotonic()
        first.record()
        while time.monotonic() - start < seconds:
            mark = torch.cuda.Event()
            for _ in range(4):
                step()
            mark.record()
            done += 4 * per_step
            # Two batches ahead: the device never waits, and the loop ends in time.
            marks.append(mark)
            if len(marks) > 2:
                marks.pop(0).synchronize()
        last.record()
        last.synchronize()
        return first.elapsed_time(last) * 1e-3, done

    marks = []
    span_s(WARM_UP_S)
    seconds, done = span_s(TIMED_S)
    return seconds / done * 1e9


def main():
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("bundle", type=Path)
    arguments.add_argument("--json", type=Path)
    given = arguments.parse_args()
    rows = []
    print(f"{'case':38} {'kit µs':>9} {'graph µs':>9} {'ratio':>6} {'eager µs':>9} {'ratio':>6}")
    for case in recompute(parse(read_container(given.bundle))):
        if case.case.number_format not in TYPES or case.metrics.period_ns is None:
            continue
        sets, ours = case.runs[0].run.document.rotation.sets, case.metrics.period_ns
        row = {"case": case.case.id, "kit_ns": ours}
        for way in ("graph", "eager"):
            theirs = torch_period_ns(case.case, sets, eager=way == "eager")
            row |= {f"{way}_ns": theirs, f"{way}_ratio": theirs / ours}
            torch.cuda.empty_cache()
            time.sleep(2)
        rows.append(row)
        print(
            f"{row['case']:38} {ours / 1e3:9.3f} {row['graph_ns'] / 1e3:9.3f} "
            f"{row['graph_ratio']:6.3f} {row['eager_ns'] / 1e3:9.3f} {row['eager_ratio']:6.3f}",
            flush=True,
        )
    means = {
        way: statistics.geometric_mean(row[f"{way}_ratio"] for row in rows)
        for way in ("graph", "eager")
    }
    print(f"geometric mean of the ratios: graph {means['graph']:.3f}, eager {means['eager']:.3f}")
    if given.json:
        given.json.write_text(
            json.dumps({"torch": torch.__version__, "rows": rows}, indent=1) + "\n"
        )


if __name__ == "__main__":
    main()
