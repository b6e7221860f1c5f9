"""The process whose launches are counted: `python -m kit.runner.counted JOB`.

It compiles, fills the pools and warms up as a measured run does, then launches a few whole GEMMs
where the profiler looks. Its times are worth nothing: a profiler is watching.
"""

import math
import sys
import time
from contextlib import nullcontext
from dataclasses import dataclass, replace
from pathlib import Path

from kit import cuda_profiler
from kit.backends import Backend, Build, backend
from kit.errors import KitError
from kit.fill import fill_seed
from kit.plan import CounterTool, DispatchMode, Implementation
from kit.records import decode, encode
from kit.runner.failure import first_line
from kit.runner.job import Job

_MAXIMUM_LAUNCHES = 16
_ROTATIONS = 2
_SAMPLED_S = 0.2
"""Work under sampling: four hundred readings, so that the ends of the stretch do not matter."""


@dataclass(frozen=True, slots=True)
class CountJob:
    """What to rerun: a run's job in `mode` with `sets`; `report` is the file to answer in.

    `implementation` and `autotune`, the path of the autotune results, are those that the run
    launched: nothing is tuned anew, so that the counters are of the kernels that were timed.
    `counters` are sampled one after the other by `xla`; `ncu` counts from outside.
    """

    run: Job
    tool: CounterTool
    mode: DispatchMode
    sets: int
    implementation: Implementation
    autotune: str | None
    counters: tuple[str, ...]
    report: str


@dataclass(frozen=True, slots=True)
class Series:
    """Readings of one counter, or the reason why there are none."""

    counter: str
    readings: tuple[float, ...]
    launches: int
    reason: str


@dataclass(frozen=True, slots=True)
class Counted:
    """The answer: launches profiled, from which set on; `problem` is empty if all went well."""

    problem: str
    first_set: int
    launches: int
    series: tuple[Series, ...]


def read(path: Path) -> Counted | None:
    """The answer of a counted process; None if it gave none."""
    try:
        return decode(Counted, path.read_bytes())
    except (OSError, ValueError):
        return None


def main() -> int:
    """Run the job on the command line."""
    job = decode(CountJob, Path(sys.argv[1]).read_bytes())
    found = Counted("the process ended before its launches", 0, 0, ())
    try:
        found = _count(job)
    except KitError as error:
        found = replace(found, problem=str(error))
    except Exception as error:  # noqa: BLE001 - JAX raises many kinds; all become a reason
        found = replace(found, problem=first_line(error))
    _answer(job, found)
    return 0


def _answer(job: CountJob, found: Counted) -> None:
    Path(job.report).write_bytes(encode(found))


def _count(job: CountJob) -> Counted:
    plan = job.run.plan
    case = plan.case(job.run.case)
    gemms = backend(plan.backend.name, plan.backend.platform, case)
    executable, _ = gemms.compile(
        job.mode, job.sets, Build(job.implementation, load_from=job.autotune)
    )
    seed = fill_seed(plan.seed, plan.submission.challenge, case.id)
    gemms.allocate(job.sets, plan.test_type.fill, seed)
    per_call = executable.gemms_per_call
    calls = -(-job.sets // per_call)  # one whole rotation
    gemms.wait_for(gemms.enqueue(calls))
    gemms.drain()
    if job.tool == "xla":
        return _sampled(job, gemms, calls, per_call)
    launches = min(_ROTATIONS * job.sets, _MAXIMUM_LAUNCHES)
    on_gpu = plan.backend.platform == "cuda"
    with cuda_profiler.profiled() if on_gpu else nullcontext():
        gemms.enqueue(launches)
        gemms.drain()
    return Counted("", 0, launches, ())


def _sampled(job: CountJob, gemms: Backend, rotation: int, per_call: int) -> Counted:
    from kit.backends.jax_counters import sample  # noqa: PLC0415 - JAX is loaded by now

    start_s = time.monotonic()
    gemms.wait_for(gemms.enqueue(rotation))
    rotation_s = time.monotonic() - start_s
    calls = rotation * max(_ROTATIONS, math.ceil(_SAMPLED_S / rotation_s))

    def work() -> None:
        gemms.enqueue(calls)
        gemms.drain()

    series: list[Series] = []
    for counter in job.counters:
        try:
            found = Series(counter, sample(counter, work), calls * per_call, "")
        except Exception as error:  # noqa: BLE001 - one refused counter must not hide the others
            found = Series(counter, (), 0, first_line(error))
        series.append(found)
        # Answered after each one: CUPTI was seen to end processes.
        _answer(job, Counted("", 0, calls * per_call, tuple(series)))
    return Counted("", 0, calls * per_call, tuple(series))


if __name__ == "__main__":
    raise SystemExit(main())
