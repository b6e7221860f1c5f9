"""Start a worker process, listen to it, and make sure that it ends."""

import os
import subprocess
import tempfile
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

from kit import own_process
from kit.lines import Lines
from kit.number_format import number_format
from kit.plan import Platform
from kit.records import decode, encode
from kit.runner.child import KILL_AFTER_S, reporting_child, stop
from kit.runner.job import Job, Report, ended

_OURS = ("JAX_", "XLA_", "TF_", "PJRT_", "CUDA_VISIBLE_DEVICES", "CUDA_DEVICE_ORDER")


def worker_environment(job: Job, environment: Mapping[str, str]) -> dict[str, str]:
    """The environment of a job's worker, which sees its GPU only."""
    return steered(
        job.plan.backend.platform, job.plan.case(job.case).number_format, job.uuid, environment
    )


def steered(
    platform: Platform, format_name: str, uuid: str | None, environment: Mapping[str, str]
) -> dict[str, str]:
    """The caller's environment, without what steers JAX, and with what the kit decides.

    It is for one number format and for the GPU `uuid`; without one JAX finds the devices itself.
    """
    kept = {key: value for key, value in environment.items() if not key.startswith(_OURS)}
    kept |= {
        "JAX_PLATFORMS": platform,
        "JAX_ENABLE_X64": "1" if number_format(format_name).needs_x64 else "0",
        "JAX_ENABLE_COMPILATION_CACHE": "0",
        "PJRT_GPU_ENABLE_ASYNC_DISPATCH": "0",
        "XLA_CLIENT_MEM_FRACTION": "0.9",
        "TF_CPP_MIN_LOG_LEVEL": "2",
        "PYTHONUNBUFFERED": "1",
    }
    if uuid is not None:
        kept["CUDA_VISIBLE_DEVICES"] = uuid
    return own_process.with_kit(kept)


def run_job(job: Job, on_phase: Callable[[str], None], module: str = "kit.runner.worker") -> Report:
    """Run one job in a fresh process of `module` and return how it ended.

    The process and its temporary files are gone when this returns, also after KeyboardInterrupt.
    """
    # What the child started may be writing still: that must not hide how the run ended.
    scratch = tempfile.TemporaryDirectory(prefix="gemm-kit-job-", ignore_cleanup_errors=True)
    with scratch as folder:
        path = Path(folder) / "job.json"
        path.write_bytes(encode(job))
        with reporting_child(module, path, worker_environment(job, os.environ)) as child:
            last = _listen(child.reports, job.plan.timeout_s, on_phase)
            if last is None:
                limit = f"timeout_s={job.plan.timeout_s:g}"
                return ended("timed_out", f"the run took longer than {limit}")
            if last.status is not None:
                return last
            with suppress(subprocess.TimeoutExpired):
                child.process.wait(timeout=KILL_AFTER_S)
            stop(child.process)
            return ended(*child.post_mortem())


def _listen(reports: BinaryIO, timeout_s: float, on_phase: Callable[[str], None]) -> Report | None:
    """Read reports until the last one or the pipe's end; None if time ran out."""
    deadline_s = time.monotonic() + timeout_s
    lines = Lines(reports.fileno())
    last = Report(None, None, "", None)
    while True:
        try:
            line = lines.next(deadline_s)
        except TimeoutError:
            return None
        if line is None:
            return last
        last = decode(Report, line)
        if last.phase is not None:
            on_phase(last.phase)
