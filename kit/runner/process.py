"""Start a worker process, listen to it, and make sure that it ends."""

import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from selectors import EVENT_READ, DefaultSelector
from typing import BinaryIO

from kit.evidence import Status
from kit.number_format import number_format
from kit.runner.job import Job, Report, ended

_OURS = ("JAX_", "XLA_", "TF_", "PJRT_", "CUDA_VISIBLE_DEVICES", "CUDA_DEVICE_ORDER")
_KILL_AFTER_S = 5.0
_TAIL = 2000


def worker_environment(job: Job, environment: Mapping[str, str]) -> dict[str, str]:
    """The worker's environment: the caller's, without what steers JAX, and with what we decide."""
    kept = {name: value for name, value in environment.items() if not name.startswith(_OURS)}
    platform = job.plan.backend.platform
    x64 = number_format(job.plan.case(job.case).number_format).needs_x64
    kept |= {
        "JAX_PLATFORMS": platform,
        "JAX_ENABLE_X64": "1" if x64 else "0",
        "JAX_ENABLE_COMPILATION_CACHE": "0",
        "PJRT_GPU_ENABLE_ASYNC_DISPATCH": "0",
        "XLA_CLIENT_MEM_FRACTION": "0.9",
        "TF_CPP_MIN_LOG_LEVEL": "2",
        "PYTHONUNBUFFERED": "1",
    }
    if job.uuid is not None:
        kept["CUDA_VISIBLE_DEVICES"] = job.uuid
    package = str(Path(__file__).resolve().parents[2])
    kept["PYTHONPATH"] = os.pathsep.join(filter(None, (package, environment.get("PYTHONPATH"))))
    return kept


def run_job(job: Job, on_phase: Callable[[str], None], module: str = "kit.runner.worker") -> Report:
    """Run one job in a fresh process of `module` and return how it ended.

    The process is gone when this returns, also after KeyboardInterrupt.
    """
    read_end, write_end = os.pipe()
    with (
        tempfile.TemporaryDirectory(prefix="gemm-kit-job-") as folder,
        tempfile.TemporaryFile("w+", errors="replace") as log,
        os.fdopen(read_end, "rb") as reports,
    ):
        path = Path(folder) / "job.json"
        path.write_text(job.dumps(), encoding="utf-8")
        process = subprocess.Popen(
            [sys.executable, "-m", module, str(path), str(write_end)],
            env=worker_environment(job, os.environ),
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            pass_fds=(write_end,),
            start_new_session=True,
        )
        os.close(write_end)
        try:
            last = _listen(reports, job.plan.timeout_s, on_phase)
            if last is None:
                limit = f"timeout_s={job.plan.timeout_s:g}"
                return ended("timed_out", f"the run took longer than {limit}")
            if last.status is not None:
                return last
            with suppress(subprocess.TimeoutExpired):
                process.wait(timeout=_KILL_AFTER_S)
        finally:
            stop(process)
        log.seek(0)
        return ended(*post_mortem(process.returncode, log.read()))


def _listen(reports: BinaryIO, timeout_s: float, on_phase: Callable[[str], None]) -> Report | None:
    """Read reports until the last one or the pipe's end; None if time ran out."""
    deadline = time.monotonic() + timeout_s
    buffered = b""
    last = Report(None, None, "", None)
    with DefaultSelector() as selector:
        selector.register(reports, EVENT_READ)
        while True:
            if not selector.select(max(0.0, deadline - time.monotonic())):
                return None
            chunk = os.read(reports.fileno(), 65536)
            if not chunk:
                return last
            *lines, buffered = (buffered + chunk).split(b"\n")
            for line in lines:
                last = Report.loads(line.decode())
                if last.phase is not None:
                    on_phase(last.phase)


def post_mortem(code: int | None, log: str) -> tuple[Status, str]:
    """How a process ended that said nothing, and the last line of its log."""
    lines = [line.strip() for line in log[-_TAIL:].splitlines() if line.strip()]
    cause = f": {lines[-1][:300]}" if lines else ""
    if code is not None and code < 0:
        return "crashed", f"the worker was killed by {signal.Signals(-code).name}{cause}"
    return "crashed", f"the worker ended with code {code} and said nothing{cause}"


def stop(process: "subprocess.Popen[bytes]") -> None:
    """End the worker and everything it started."""
    try:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGTERM)
            with suppress(subprocess.TimeoutExpired):
                process.wait(timeout=_KILL_AFTER_S)
    finally:
        # The group outlives its leader as long as a child of it lives.
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
