"""What `trace.json` says of a run just measured: its kernels, or why there are none."""

from collections.abc import Callable
from pathlib import Path

from kit.bundle.documents import parse_document
from kit.bundle.layout import TRACE
from kit.bundle.writer import write_document
from kit.errors import KitError
from kit.evidence import KernelTrace, no_trace
from kit.runner.failure import recordable
from kit.runner.job import Job
from kit.runner.process import run_job
from kit.trace import KERNELS

TRACER = "kit.runner.tracer"


def trace_kernels(job: Job, on_phase: Callable[[str], None]) -> bool:
    """Trace the job's run in a process of its own, whose end never costs the run itself.

    Writes `trace.json` in any case. Returns false if the operator stopped it by Ctrl-C.
    """
    folder, goes_on = Path(job.run_folder), True
    found = None
    if not job.plan.evidence.kernel_trace:
        found = no_trace("not_asked", "evidence.kernel_trace is false in the plan")
    elif job.plan.backend.platform == "cpu":
        found = no_trace("not_applicable", "a CPU host has no GPU kernels")
    else:
        try:
            report = run_job(job, on_phase, TRACER)
            reason = f"{report.status or 'crashed'}: {report.reason}"
            failed = report.status != "measured"
        except (KitError, OSError, ValueError) as error:
            reason, failed = str(error), True
        except KeyboardInterrupt:
            reason, failed, goes_on = "interrupted: stopped by the operator", True, False
        if failed:
            (folder / KERNELS.file).unlink(missing_ok=True)
            found = no_trace("failed", recordable(reason))
    if found is not None:
        write_document(folder / TRACE, found)
    return goes_on


def written_trace(folder: Path) -> KernelTrace:
    """Read the trace's document back from the run's folder."""
    return parse_document(KernelTrace, (folder / TRACE).read_bytes(), f"{folder.name}/{TRACE}")
