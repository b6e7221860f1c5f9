"""The process of one run: `python -m kit.runner.worker JOB FD`, reporting on the file descriptor.

Everything that decides how JAX behaves is in the environment before this starts, and the GPU is
the only one visible. Whatever goes wrong becomes a reported status, not a traceback.
"""

import os
import sys
import tempfile
import time
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from kit import cuda_driver
from kit.backends import backend
from kit.bundle.durable import writable
from kit.bundle.layout import RUN, hlo_name
from kit.bundle.writer import write_document, write_table
from kit.errors import MeasurementError
from kit.evidence import (
    DeviceFacts,
    Environment,
    Identity,
    Limits,
    Run,
    environment_digest,
)
from kit.fill import fill_seed, sample_seed
from kit.plan import RunPlan
from kit.records import decode, encode
from kit.ruleset import ruleset
from kit.runner.failure import failure
from kit.runner.job import Job, Report, ended, entered
from kit.runner.program import Replay
from kit.runner.session import Seeds, Session
from kit.system import (
    DeviceAddress,
    GpuAttributes,
    cpu_facts,
    driver_versions,
    environment,
    gpu_facts,
    limits,
    no_limits,
    nvml_address,
    pci_bus_id,
    settings,
    uuid_hash,
    uuid_text,
)
from kit.telemetry.sampler import Sampler
from kit.timing import timer
from kit.trace import CLOCKS, ENERGY, HOST, POWER, TABLES

if TYPE_CHECKING:
    from collections.abc import Callable

    Task = Callable[[Job, Callable[[str], None]], Environment | None]


def main(task: "Task | None" = None) -> int:
    """Run the job on the command line; the exit code only says whether a status was reported.

    `task` is what to do with it: measure, unless another process module says otherwise.
    """
    job = decode(Job, Path(sys.argv[1]).read_bytes())
    with os.fdopen(int(sys.argv[2]), "wb") as reports:

        def send(report: Report) -> None:
            reports.write(encode(report))
            reports.flush()

        try:
            found = (task or _run)(job, lambda phase: send(entered(phase)))
        except Exception as error:  # noqa: BLE001 - JAX raises many kinds; all become a status
            send(ended(*failure(error)))
        else:
            send(ended("measured", "", found))
    return 0


def _run(job: Job, report: "Callable[[str], None]") -> Environment:
    """Measure the job's case and write the run's files; returns the environment it ran in."""
    plan, case = job.plan, job.plan.case(job.case)
    started_utc = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")

    def clock() -> int:
        return time.monotonic_ns() - job.base_ns

    started_ns = clock()
    report("start")
    gemms = backend(plan.backend.name, plan.backend.platform, case)
    here = machine(job)
    found = environment(
        {**here.libraries, **gemms.libraries()},
        {**_shared_settings(), **gemms.settings()},
        (here.device,),
    )
    limits_before = here.limits()
    seeds = Seeds(
        fill_seed(plan.seed, plan.submission.challenge, case.id),
        sample_seed(plan.seed, plan.submission.challenge, case.id, here.device.id, job.number),
    )
    with (
        tempfile.TemporaryDirectory(prefix="gemm-kit-") as scratch,
        Sampler.start(
            plan.telemetry.source,
            DeviceAddress(job.pci_bus_id, job.uuid),
            periods_ms(plan),
            capacity_s=plan.timeout_s,
            base_ns=job.base_ns,
            folder=Path(scratch),
        ) as telemetry,
    ):
        measured = Session(
            plan=plan,
            case=case,
            seeds=seeds,
            cache_bytes=here.device.cache_bytes,
            rules=ruleset(plan.edition),
            backend=gemms,
            make_timer=lambda: timer(plan.timing.method, gemms, clock),
            telemetry=telemetry,
            clock=clock,
            report=report,
            replay=Replay(job.tuning, Path(job.case_folder)) if job.tuning else None,
        ).run()
        record = telemetry.stop()
        tables = {**measured.tables, **telemetry.tables()}
    name = hlo_name(measured.hlo)
    run = Run(
        case=case.id,
        device=here.device.id,
        number=job.number,
        started_utc=started_utc,
        started_ns=started_ns,
        ended_ns=clock(),
        fill_seed=seeds.fill,
        sample_seed=seeds.sample,
        environment_sha256=environment_digest(found),
        identity=here.identity,
        executable=replace(measured.executable, hlo=name),
        dispatch=measured.dispatch,
        rotation=measured.rotation,
        loops=measured.loops,
        timing=measured.timing,
        phases=measured.phases,
        telemetry=record,
        limits_before=limits_before,
        limits_after=here.limits(),
    )
    folder = Path(job.run_folder)
    with writable(folder):
        (Path(job.case_folder) / name).write_text(measured.hlo, encoding="utf-8")
        folder.mkdir(parents=True)
    for file, table in tables.items():
        write_table(folder, TABLES[file], table.columns)
    write_document(folder / RUN, run)
    return found


def _shared_settings() -> dict[str, str]:
    """The environment's settings, without those that the launcher decides for each run."""
    decided = ("CUDA_VISIBLE_DEVICES", "JAX_ENABLE_X64")
    return {name: value for name, value in settings().items() if name not in decided}


@dataclass(frozen=True, slots=True)
class _Machine:
    """The device of this process and how to ask after its limits."""

    device: DeviceFacts
    identity: Identity
    libraries: dict[str, str]
    limits: "Callable[[], Limits]"


def machine(job: Job) -> _Machine:
    """The device of this process, checked to be the job's.

    Raises:
        MeasurementError: another GPU than the job's is visible, or several are.
    """
    return _on_gpu(job) if job.plan.backend.platform == "cuda" else _on_cpu()


def _on_cpu() -> _Machine:
    reason = "a CPU host has no device limits that the kit can read"
    return _Machine(cpu_facts(), Identity(None, None, None, None), {}, lambda: no_limits(reason))


def _on_gpu(job: Job) -> _Machine:
    """Identify the one visible GPU by CUDA and by NVML, and refuse if they are not the same.

    Raises:
        MeasurementError: another GPU than the job's is visible, or several are.
    """
    if cuda_driver.visible_devices() != 1:
        raise MeasurementError(f"CUDA shows {cuda_driver.visible_devices()} devices instead of one")
    cuda = cuda_driver.describe()
    address = DeviceAddress(job.pci_bus_id, job.uuid)
    nvml = nvml_address(address)
    uuid = uuid_text(cuda.uuid)
    identity = Identity(
        cuda_uuid_hash=uuid_hash(uuid),
        cuda_pci_bus_id=pci_bus_id(cuda.pci_bus_id),
        nvml_uuid_hash=uuid_hash(str(nvml.uuid)),
        nvml_pci_bus_id=pci_bus_id(str(nvml.pci_bus_id)),
    )
    if identity.cuda_uuid_hash != identity.nvml_uuid_hash:
        raise MeasurementError(
            f"CUDA runs on {cuda.pci_bus_id} while NVML watches {nvml.pci_bus_id}",
            hint="unset CUDA_VISIBLE_DEVICES and CUDA_DEVICE_ORDER",
        )
    attributes = GpuAttributes(
        compute_capability=cuda.compute_capability,
        sm_count=cuda.sm_count,
        l2_bytes=cuda.l2_bytes,
        memory_bus_bits=cuda.memory_bus_bits,
    )
    return _Machine(
        device=gpu_facts(cuda.pci_bus_id, attributes),
        identity=identity,
        libraries=driver_versions(),
        limits=lambda: limits(address, (os.getpid(),)),
    )


def periods_ms(plan: RunPlan) -> dict[str, int]:
    """Sampling period of every table."""
    telemetry = plan.telemetry
    return {
        CLOCKS.file: telemetry.clock_period_ms,
        POWER.file: telemetry.power_period_ms,
        ENERGY.file: telemetry.energy_period_ms,
        HOST.file: telemetry.power_period_ms,
    }


if __name__ == "__main__":
    raise SystemExit(main())
