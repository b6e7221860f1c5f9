"""The process that traces a finished run's kernels: `python -m kit.runner.tracer JOB FD`.

It compiles and fills what the run did, warms up as long, and records a bounded number of calls.
The profiler may end a process or slow it down, so it never shares one with the measurement.
"""

import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from kit.backends import Backend, Build, backend
from kit.bundle.documents import parse_document
from kit.bundle.layout import RUN, TRACE
from kit.bundle.writer import write_document, write_table
from kit.errors import MeasurementError
from kit.evidence import KernelTrace, Run
from kit.kernels import figures
from kit.plan import RunPlan
from kit.ruleset import Ruleset, ruleset
from kit.runner import worker
from kit.runner.job import Job
from kit.system import DeviceAddress
from kit.telemetry.sampler import Sampler
from kit.timing import Clock
from kit.trace import CLOCKS, KERNELS, Table

MOST_EVENTS = 8_000
"""Rows that a trace should not exceed by much: 160 kB in a bundle. One call may have more."""
_SPAN_NS = 1.5e9
"""Device time to trace: a power-capped clock wanders within a second."""
_LEAD_NS = 1.5e9
"""Device time under the profiler before that. The device rests while the profiler starts, and a
rested one runs up to 3 % faster until its power average, over a second, has caught up (H200)."""
_MOST_LEAD_EVENTS = 400_000
"""Kernels of the lead that the profiler has to remember, below the two million that XLA lets it."""
_LONGEST_WARM_UP_S = 5.0
_BURST_NS = 50e6


@dataclass(frozen=True, slots=True)
class Recording:
    """The kernels of `calls` calls, which ran between about these two host times."""

    names: tuple[str, ...]
    table: Table
    calls: int
    start_ns: int
    end_ns: int


def main() -> int:
    """Run the job on the command line."""
    return worker.main(_trace)


def _trace(job: Job, report: Callable[[str], None]) -> None:
    """Trace the run in the job's run folder; writes `kernels.csv` and `trace.json` beside it."""
    plan, case, folder = job.plan, job.plan.case(job.case), Path(job.run_folder)
    run = parse_document(Run, (folder / RUN).read_bytes(), f"{folder.name}/{RUN}")

    def clock() -> int:
        return time.monotonic_ns() - job.base_ns

    report("trace: start")
    gemms = backend(plan.backend.name, plan.backend.platform, case)
    worker.machine(job)
    with (
        tempfile.TemporaryDirectory(prefix="gemm-kit-") as scratch,
        Sampler.start(
            plan.telemetry.source,
            DeviceAddress(job.pci_bus_id, job.uuid),
            worker.periods_ms(plan),
            capacity_s=plan.timeout_s,
            base_ns=job.base_ns,
            folder=Path(scratch),
        ) as telemetry,
    ):
        report("trace: compile")
        compile_again(gemms, run, Path(job.case_folder))
        found = record_calls(gemms, plan, run, clock, report)
        clocks = telemetry.read(CLOCKS.file)
    write_table(folder, KERNELS, found.table.columns)
    shown = figures(found.names, found.table)
    trace = KernelTrace(
        status="ok",
        reason="",
        calls=found.calls,
        launches=shown.gemms,
        names=found.names,
        gemm_name=shown.gemm_name,
        graphics_mhz=mean_mhz(clocks, found.start_ns, found.end_ns),
    )
    write_document(folder / TRACE, trace)


def compile_again(gemms: Backend, run: Run, case_folder: Path) -> None:
    """Compile what the run launched, from the same autotune results.

    Raises:
        MeasurementError: another executable came out.
    """
    tuned = run.executable.autotune
    build = Build(
        run.executable.implementation,
        load_from=None if tuned is None else str(case_folder / tuned),
    )
    executable, _ = gemms.compile(run.dispatch.mode, run.rotation.sets, build)
    for name in ("gemms_per_call", "options", "alias_bytes"):
        found, wanted = getattr(executable, name), getattr(run.executable, name)
        if found != wanted:
            raise MeasurementError(f"the tracer compiled {name} {found}, the run had {wanted}")


def record_calls(
    gemms: Backend, plan: RunPlan, run: Run, clock: Clock, report: Callable[[str], None]
) -> Recording:
    """Fill as the run did, warm up, and record some calls.

    Raises:
        MeasurementError: the profiler shows no kernels.
    """
    gemms.allocate(run.rotation.sets, plan.test_type.fill, run.fill_seed)

    def work(calls: int) -> None:
        gemms.wait_for(gemms.enqueue(calls))

    report("trace: warm-up")
    work(2)
    # The first session loads the profiler; the second one follows the warm-up without a pause.
    _, first = gemms.record_kernels(lambda: work(1))
    call_ns = _warm_up(gemms, min(plan.phases.warm_up_min_s, _LONGEST_WARM_UP_S), clock)
    per_call, sets = run.executable.gemms_per_call, run.rotation.sets
    calls = calls_to_trace(per_call, sets, len(first), call_ns, ruleset(plan.edition))
    lead = min(int(_LEAD_NS / call_ns), _MOST_LEAD_EVENTS // len(first))
    report("trace: record")
    ends_ns = []

    def lead_and_calls() -> None:
        work(lead + calls)
        ends_ns.append(clock())

    names, table = gemms.record_kernels(lead_and_calls, last=calls * len(first))
    start_ns = ends_ns[0] - int(table["start_ns"][-1] + table["duration_ns"][-1])
    return Recording(names, table, calls, start_ns, ends_ns[0])


def _warm_up(gemms: Backend, seconds: float, clock: Clock) -> float:
    """Keep the device busy for so long; returns the host's estimate of one call's time in ns."""
    start_ns = clock()
    gemms.wait_for(gemms.enqueue(1))
    burst = max(1, int(_BURST_NS / max(1, clock() - start_ns)))
    start_ns, calls = clock(), 0
    while not calls or clock() - start_ns < seconds * 1e9:
        gemms.enqueue(burst)
        calls += burst
    gemms.drain()
    return (clock() - start_ns) / calls


def calls_to_trace(
    gemms_per_call: int, sets: int, events_per_call: int, call_ns: float, rules: Ruleset
) -> int:
    """How many calls to trace: enough rotations, GEMMs and time, with not too many events."""
    gemms = max(rules.minimum_traced_gemms, rules.traced_rotations * sets)
    least = -(-gemms // gemms_per_call)
    most = MOST_EVENTS // max(1, events_per_call)
    return max(1, least, min(int(_SPAN_NS / max(1.0, call_ns)), most))


def mean_mhz(clocks: Table, start_ns: int, end_ns: int) -> float | None:
    """Mean of the graphics clock's samples between two host times; None if there is none."""
    if "graphics_mhz" not in clocks:
        return None
    inside = (clocks["t_ns"] >= start_ns) & (clocks["t_ns"] < end_ns)
    return float(np.mean(clocks["graphics_mhz"][inside])) if inside.any() else None


if __name__ == "__main__":
    raise SystemExit(main())
