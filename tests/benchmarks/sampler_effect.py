"""What the telemetry sampler costs the launches: periods with it over periods without it.

    python tests/benchmarks/sampler_effect.py [--m M --n N --k K] [--format F] [--json FILE]

One process keeps one GPU busy. Stretches of two seconds with a sampler at the kit's own periods
alternate with stretches in which it is stopped (SIGSTOP), so that a drift of clocks meets both
alike; CUDA events time each stretch. The card never rests between them: a rested one is faster
until its power average, over a second, has caught up. The ratio is that of the medians.
"""

import argparse
import json
import os
import signal
import statistics
import tempfile
import time
from pathlib import Path

from kit import cuda_driver
from kit.backends import Build, backend
from kit.fill import fill_seed
from kit.number_format import number_format
from kit.plan import Backend, Case
from kit.rotation import input_bytes, sets_required
from kit.ruleset import CURRENT, ruleset
from kit.runner.dispatch import Chooser, Trial, pilot
from kit.system import DeviceAddress
from kit.telemetry.sampler import Sampler
from kit.timing import timer
from kit.trace import CLOCKS, ENERGY, HOST, POWER
from kit.workload import Workload

PERIODS_MS = {CLOCKS.file: 20, POWER.file: 50, ENERGY.file: 200, HOST.file: 50}
WARM_UP_S, LEAD_S, STRETCH_S, PAIRS = 5.0, 0.5, 2.0, 10
CAPACITY_S = 120.0


def settled(gemms, clock, call_ns, lead_s=LEAD_S):
    """Mean time of a call in ns over a stretch of launches behind its lead, by CUDA events."""
    clock.boundary(gemms.enqueue(max(1, int(lead_s * 1e9 / call_ns))))
    calls = max(1, int(STRETCH_S * 1e9 / call_ns))
    last = gemms.enqueue(calls)
    clock.boundary(last)
    clock.finish(last)
    return clock.durations_ns()[-1] / calls


def main():
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for name, default in (("m", 16), ("n", 8192), ("k", 8192)):
        arguments.add_argument(f"--{name}", type=int, default=default)
    arguments.add_argument("--format", default="bf16")
    arguments.add_argument("--json", type=Path)
    given = arguments.parse_args()
    row = number_format(given.format)
    work = Workload("benchmark", given.m, given.n, given.k, 1, row.default_layout)
    gemms = backend("jax_gemm", "cuda", Case("benchmark", work, row.name))
    cuda = cuda_driver.describe()
    address = DeviceAddress(cuda.pci_bus_id, None)
    seed = fill_seed(0, None, "benchmark")
    fewest = sets_required(input_bytes(work, row), cuda.l2_bytes)
    plan = Backend("jax_gemm", "cuda", "auto", "library", 0)
    chooser = Chooser(plan, ruleset(CURRENT), time.monotonic_ns, lambda _: None)
    handover = chooser.choose(gemms, Trial("library", fewest, "uniform", seed))
    executable, _ = gemms.compile(handover.mode, handover.sets, Build("library"))
    gemms.allocate(handover.sets, "uniform", seed)
    per_call = executable.gemms_per_call
    clock = timer("cuda_events", gemms, time.monotonic_ns)
    clock.start()
    call_ns = pilot(gemms, per_call, time.monotonic_ns).period_ns
    periods = {True: [], False: []}
    with tempfile.TemporaryDirectory() as folder:
        now_ns = time.monotonic_ns()
        with Sampler.start(
            "nvml", address, PERIODS_MS, CAPACITY_S, now_ns, Path(folder)
        ) as sampler:
            call_ns = settled(gemms, clock, call_ns, WARM_UP_S)
            for pair in range(PAIRS):
                for sampled in (True, False) if pair % 2 else (False, True):
                    os.kill(sampler.pid, signal.SIGCONT if sampled else signal.SIGSTOP)
                    periods[sampled].append(settled(gemms, clock, call_ns) / per_call)
            os.kill(sampler.pid, signal.SIGCONT)
            samples = len(sampler.read(CLOCKS.file))
    with_it, without = (statistics.median(periods[sampled]) for sampled in (True, False))
    found = {
        "shape": [given.m, given.n, given.k],
        "format": row.name,
        "dispatch": handover.mode,
        "sampled_ns": periods[True],
        "unsampled_ns": periods[False],
        "ratio": with_it / without,
        "clock_samples": samples,
        "cpus": os.cpu_count(),
    }
    print(f"{'shape':>20} {'with µs':>10} {'without µs':>11} {'ratio':>8}")
    shape = f"{given.m}x{given.n}x{given.k}"
    print(f"{shape:>20} {with_it / 1e3:10.3f} {without / 1e3:11.3f} {found['ratio']:8.5f}")
    if given.json:
        given.json.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
