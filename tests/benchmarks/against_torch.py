"""A bundle's programs against torch on this GPU, in turn: time ratios.

    python tests/benchmarks/against_torch.py BUNDLE... [--case ID]... [--json FILE]

For each case a process launches the bundle's program as its runs did, and another one torch in a
CUDA graph over as many buffer sets (`entrant.py`). They take turns, second by second, so that both
meet the same card in the same state; torch launched eagerly comes after them. A ratio above 1 means
that the kit's launches were faster, by medians. The card may be another one than the bundle's.
Batched cases and those of number formats that torch has no product for are left out, with `--case`
all but those named. `--json` keeps what FILE says of other cases; `kernel` is that of the bundle's
first trace.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import asdict
from importlib import import_module
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

from kit.bundle.reader import parse, read_container
from kit.checker.recomputed import recompute
from kit.kernels import kernel_figures
from kit.runner.process import steered

ENTRANT = Path(__file__).with_name("entrant.py")
TORCH_FORMATS = ("fp64", "fp32", "tf32", "bf16", "fp16", "e4m3", "int8")
ROUNDS, UNSETTLED, TURN_S = 6, 1, 1.0
"""Turns of each, the first of which, while clocks still fall, is left out."""


class EntrantError(Exception):
    """An entrant ended before it had answered."""


@contextmanager
def entrant(way, given):
    """A function that asks the entrant and returns what it answers; it ends with the context.

    It lives in the environment of a run's worker, on the GPU that this process would use.
    """
    uuid = os.environ.get("CUDA_VISIBLE_DEVICES")
    environment = steered("cuda", given["number_format"], uuid, os.environ)
    environment["XLA_PYTHON_CLIENT_PREALLOCATE"] = "false"
    command = [sys.executable, str(ENTRANT), way, json.dumps(given)]
    with subprocess.Popen(
        command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:

        def heard():
            line = process.stdout.readline()
            if not line:
                status = process.wait()
                raise EntrantError(f"{given['case']}: {way} ended with {status}, as it says above")
            return json.loads(line)

        def ask(wanted):
            with suppress(BrokenPipeError):  # heard() tells
                os.write(process.stdin.fileno(), f"{wanted}\n".encode())
            return heard()

        try:
            heard()
            yield ask
        finally:
            process.kill()


def specification(case, folder):
    """What an entrant needs to know of a case, with its autotune results written to `folder`."""
    run = case.runs[0].run.document
    autotune = None
    if run.executable.autotune is not None:
        autotune = folder / run.executable.autotune
        autotune.write_text(case.evidence.autotune[run.executable.autotune])
    return {
        "case": case.case.id,
        "workload": asdict(case.case.workload),
        "number_format": case.case.number_format,
        "mode": run.dispatch.mode,
        "sets": run.rotation.sets,
        "implementation": run.executable.implementation,
        "autotune": autotune and str(autotune),
        "fill_seed": run.fill_seed,
        "period_ns": case.metrics.period_ns,
    }


def race(given):
    """A row of the table: medians of the kit's and of torch's times, and their ratios."""
    with ExitStack() as living:
        kit, graph = (living.enter_context(entrant(way, given)) for way in ("kit", "graph"))
        times = {kit: [], graph: []}
        for number in range(ROUNDS):
            for ask in (kit, graph) if number % 2 else (graph, kit):
                times[ask].append(ask(TURN_S))
        kit_ns, graph_ns = (statistics.median(times[ask][UNSETTLED:]) for ask in (kit, graph))
    with entrant("eager", given) as eager:
        eager_ns = statistics.median([eager(TURN_S) for _ in range(UNSETTLED + 3)][UNSETTLED:])
        kernel = eager("kernel")
    return {
        "case": given["case"],
        "kit_ns": kit_ns,
        "graph_ns": graph_ns,
        "graph_ratio": graph_ns / kit_ns,
        "eager_ns": eager_ns,
        "eager_ratio": eager_ns / kit_ns,
        "torch_kernel": kernel,
    }


def raced(cases, wanted):
    """A row, or why there is none, for each case that was measured and torch has a product for."""
    for case in cases:
        compared = case.case.number_format in TORCH_FORMATS and case.case.workload.batch == 1
        if wanted and case.case.id not in wanted:
            continue
        if not compared or case.metrics.period_ns is None:
            continue
        evidence = case.runs[0].run.evidence
        kernels = kernel_figures(evidence.trace, evidence.tables)
        with tempfile.TemporaryDirectory(prefix="gemm-kit-benchmark-") as folder:
            try:
                row = race(specification(case, Path(folder)))
            except EntrantError as error:
                yield error
            else:
                yield row | {"kernel": kernels and kernels.gemm_name, "torch": version("torch")}


def main():
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("bundles", type=Path, nargs="+")
    arguments.add_argument("--case", action="append", default=[])
    arguments.add_argument("--json", type=Path)
    given = arguments.parse_args()
    bundles = [recompute(parse(read_container(path))) for path in given.bundles]
    there = {case.case.id for cases in bundles for case in cases}
    if not there.issuperset(given.case):
        arguments.error(f"no bundle has --case {min(set(given.case) - there)}")
    if find_spec("torch") is None or not import_module("torch").cuda.is_available():
        arguments.error("torch and a GPU that it finds are needed")
    rows = {}
    if given.json and given.json.exists():
        rows = {row["case"]: row for row in json.loads(given.json.read_text())["rows"]}
    fresh, failed = [], False
    print(f"{'case':38} {'kit µs':>9} {'graph µs':>9} {'ratio':>6} {'eager µs':>9} {'ratio':>6}")
    for cases in bundles:
        for row in raced(cases, given.case):
            if isinstance(row, EntrantError):
                print(row, file=sys.stderr)
                failed = True
                continue
            fresh.append(row)
            rows[row["case"]] = row
            print(
                f"{row['case']:38} {row['kit_ns'] / 1e3:9.3f} {row['graph_ns'] / 1e3:9.3f} "
                f"{row['graph_ratio']:6.3f} {row['eager_ns'] / 1e3:9.3f} {row['eager_ratio']:6.3f}",
                flush=True,
            )
            if given.json:
                given.json.write_text(json.dumps({"rows": list(rows.values())}, indent=1) + "\n")
    for way in ("graph", "eager") if fresh else ():
        mean = statistics.geometric_mean(row[f"{way}_ratio"] for row in fresh)
        print(f"geometric mean of the ratios: {way} {mean:.3f}")
    return 1 if failed else 0


if __name__ == "__main__":
    raise SystemExit(main())
