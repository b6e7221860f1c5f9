"""One way of multiplying over a rotation of buffers, timed whenever standard input asks.

    python tests/benchmarks/entrant.py kit|graph|eager SPECIFICATION

`kit` launches the program of a bundle's case, from the case's autotune results. `graph` is torch in
a CUDA graph of whole rotations, whose launches cost the host nothing, `eager` torch with one call a
launch. All three have as many buffer sets and the same range of values. A line of seconds on
standard input is answered with the mean time of one product in ns over so much device time, by CUDA
events, behind a lead as long that is not timed: a rested card is faster until its power average,
over a second, has caught up. The line `kernel` is answered with the name of torch's kernel.
"""

import json
import sys
import time

GRAPH_LAUNCHES, GRAPH_S = 512, 0.05


def kit(given):
    """A function of seconds that times the bundle's program, and no kernel's name."""
    from kit.backends import Build, backend
    from kit.plan import Case
    from kit.timing import timer
    from kit.workload import Workload

    case = Case(given["case"], Workload(**given["workload"]), given["number_format"])
    gemms = backend("jax_gemm", "cuda", case)
    build = Build(given["implementation"], load_from=given["autotune"])
    executable, _ = gemms.compile(given["mode"], given["sets"], build)
    gemms.allocate(given["sets"], "uniform", given["fill_seed"])
    per_call = executable.gemms_per_call
    clock = timer("cuda_events", gemms, time.monotonic_ns)
    clock.start()
    gemms.wait_for(gemms.enqueue(2))  # makes the graphs, now that nothing else is compiled

    def period_ns(seconds):
        calls = max(2, int(seconds * 1e9 / (given["period_ns"] * per_call)))
        clock.boundary(gemms.enqueue(calls))
        last = gemms.enqueue(calls)
        clock.boundary(last)
        clock.finish(last)
        return clock.durations_ns()[-1] / (calls * per_call)

    return period_ns, lambda: ""


def torch_products(given):
    """One function for each buffer set, which launches its product into the set's own output."""
    import torch

    work, name = given["workload"], given["number_format"]
    kinds = {"fp64": "float64", "fp32": "float32", "tf32": "float32", "bf16": "bfloat16"}
    kinds |= {"fp16": "float16", "e4m3": "float8_e4m3fn", "int8": "int8"}
    kind = getattr(torch, kinds[name])
    torch.backends.cuda.matmul.allow_tf32 = name == "tf32"
    m, n, k = work["m"], work["n"], work["k"]

    def filled(rows, columns, transposed):
        shape = (columns, rows) if transposed else (rows, columns)
        values = torch.rand(shape, device="cuda") * 2 - 1
        made = (values * 127).round().to(kind) if kind is torch.int8 else values.to(kind)
        return made.t() if transposed else made

    def product():
        a = filled(m, k, work["layout"][0] == "t")
        b = filled(k, n, work["layout"][1] == "t")
        output = {"e4m3": torch.bfloat16, "int8": torch.int32}.get(name, kind)
        out = torch.empty((m, n), device="cuda", dtype=output)
        if name == "int8":
            return lambda: torch._int_mm(a, b, out=out)
        if name == "e4m3":
            one = torch.ones((), device="cuda")
            # As XLA does for products of no stated algorithm and default precision.
            return lambda: torch._scaled_mm(
                a, b, one, one, out_dtype=output, use_fast_accum=True, out=out
            )
        return lambda: torch.mm(a, b, out=out)

    return [product() for _ in range(given["sets"])]


def torch_way(given, *, eager):
    """A function of seconds that times torch, and one that names its kernel."""
    import torch

    products = torch_products(given)

    def rotate():
        for launch in products:
            launch()

    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        rotate()
    torch.cuda.synchronize()
    step, per_step = rotate, len(products)
    if not eager:
        launches = min(GRAPH_LAUNCHES, int(GRAPH_S * 1e9 / given["period_ns"]))
        rotations = max(1, launches // len(products))
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, stream=stream):
            for _ in range(rotations):
                rotate()
        step, per_step = graph.replay, per_step * rotations

    def span(seconds):
        """(ns of device time, launches) of about so many seconds of work."""
        first, last = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        marks, done, start_s = [], 0, time.monotonic()
        first.record()
        while time.monotonic() - start_s < seconds:
            step()
            done += per_step
            marks.append(torch.cuda.Event())
            marks[-1].record()
            # Some steps ahead: the device never waits, and the loop ends in time.
            if len(marks) > 8:
                marks.pop(0).synchronize()
        last.record()
        return first, last, done

    def period_ns(seconds):
        span(seconds)
        first, last, done = span(seconds)
        last.synchronize()
        return first.elapsed_time(last) * 1e6 / done

    def kernel():
        with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]) as profile:
            products[0]()
            torch.cuda.synchronize()
        return max(profile.key_averages(), key=lambda row: row.device_time_total).key

    return period_ns, kernel


def main():
    way, specification = sys.argv[1:]
    given = json.loads(specification)
    period_ns, kernel = kit(given) if way == "kit" else torch_way(given, eager=way == "eager")
    print(json.dumps("ready"), flush=True)
    for line in sys.stdin:
        wanted = line.strip()
        print(json.dumps(kernel() if wanted == "kernel" else period_ns(float(wanted))), flush=True)


if __name__ == "__main__":
    main()
