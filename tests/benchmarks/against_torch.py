"""Torch on the same GPU, workloads, rotation and fill range as a bundle's cases: time ratios.

    python tests/benchmarks/against_torch.py BUNDLE [--json FILE]

Torch multiplies over as many buffer sets as the bundle rotated, all of them captured in one CUDA
graph, so that its launches cost the host nothing. Each case warms up for three seconds and is timed
with CUDA events for five. A ratio above 1 means that the bundle's launches were faster.
"""

import argparse
import json
import time
from pathlib import Path

import torch

from kit.bundle.reader import parse, read_container
from kit.metrics import derive_run

WARM_UP_S, TIMED_S = 3.0, 5.0
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


def torch_period_ns(case, sets):
    """Settled mean time of one product in a graph that goes round all sets."""
    torch.backends.cuda.matmul.allow_tf32 = case.number_format == "tf32"
    launches = [product(case, *operands(case)) for _ in range(sets)]
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        for launch in launches:
            launch()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, stream=stream):
        for launch in launches:
            launch()

    def span_s(seconds):
        first, last = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        rounds, start = 0, time.monotonic()
        first.record()
        while time.monotonic() - start < seconds:
            for _ in range(10):
                graph.replay()
            rounds += 10
            torch.cuda.current_stream().synchronize() if rounds % 100 == 0 else None
        last.record()
        last.synchronize()
        return first.elapsed_time(last) * 1e-3, rounds

    span_s(WARM_UP_S)
    seconds, rounds = span_s(TIMED_S)
    return seconds / (rounds * sets) * 1e9


def main():
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("bundle", type=Path)
    arguments.add_argument("--json", type=Path)
    given = arguments.parse_args()
    bundle = parse(read_container(given.bundle))
    devices = {device.id: device for device in bundle.environment.devices}
    rows = []
    print(f"{'case':44} {'kit µs':>10} {'torch µs':>10} {'ratio':>7}")
    for case in bundle.plan.cases:
        for run in bundle.cases[case.id].runs[:1]:
            found = run.document
            hlo = bundle.cases[case.id].hlo.get(found.executable.hlo)
            ours = derive_run(case, devices[found.device], found, run.tables, hlo)
            theirs = torch_period_ns(case, found.rotation.sets)
            ratio = theirs / ours.mean_period_ns
            rows.append(
                {"case": case.id, "kit_ns": ours.mean_period_ns, "torch_ns": theirs, "ratio": ratio}
            )
            print(
                f"{case.id:44} {ours.mean_period_ns / 1e3:10.2f} {theirs / 1e3:10.2f} {ratio:7.3f}",
                flush=True,
            )
            torch.cuda.empty_cache()
            time.sleep(3)
    if given.json:
        given.json.write_text(
            json.dumps({"torch": torch.__version__, "rows": rows}, indent=1) + "\n"
        )


if __name__ == "__main__":
    main()
