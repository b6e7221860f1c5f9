"""Rerun a measured case under a profiler and return what its hardware counters say.

The rerun is a process of its own, after the timed run: a profiler drains the device around every
kernel, so nothing that was timed may have run under one.
"""

import os
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from statistics import fmean

from kit import own_process
from kit.bundle.documents import parse_document
from kit.bundle.layout import RUN
from kit.counters import (
    BYTES,
    DRAM_READ,
    DRAM_UTILISATION,
    DRAM_WRITE,
    L2_BYTES,
    L2_HIT_RATE,
    L2_UTILISATION,
    MILLIPERCENT,
    MULTICAST,
    SM_ACTIVE,
    SM_UTILISATION,
    Counter,
    CountingStatus,
    DeviceCounters,
    without,
)
from kit.evidence import Run
from kit.plan import DispatchMode
from kit.records import encode
from kit.runner import ncu
from kit.runner.child import stop
from kit.runner.counted import Counted, CountJob, Series, read
from kit.runner.failure import recordable
from kit.runner.job import Job
from kit.runner.process import worker_environment

NCU_COUNTERS = (
    DRAM_READ, DRAM_WRITE, L2_BYTES, L2_HIT_RATE, SM_UTILISATION, DRAM_UTILISATION, L2_UTILISATION,
)  # fmt: skip
XLA_COUNTERS = (
    DRAM_READ, DRAM_WRITE, SM_ACTIVE, DRAM_UTILISATION, SM_UTILISATION, L2_BYTES, L2_HIT_RATE,
)  # fmt: skip
"""The proof first: where `ncu` cannot count it, the others are not tried."""

Phase = Callable[[str], None]


def count(job: Job, on_phase: Phase) -> DeviceCounters:
    """The counters of the case that `job` has measured, or the reason why there are none.

    The processes are gone when this returns, also after KeyboardInterrupt.
    """
    tool = job.plan.counters.tool
    if tool == "none":
        return nothing(job, "not_asked", "counters=none")
    if job.plan.backend.platform != "cuda":
        return nothing(job, "not_applicable", "a CPU host has no GPU counters")
    return rerun(job, on_phase)


def nothing(job: Job, status: CountingStatus, reason: str) -> DeviceCounters:
    """The document that says why nothing was counted."""
    tool = job.plan.counters.tool
    return DeviceCounters(job.case, job.device, tool, None, status, reason, None, None, ())


def rerun(job: Job, on_phase: Phase) -> DeviceCounters:
    """Count under the plan's tool, whatever the platform."""
    path = Path(job.run_folder) / RUN
    measured = parse_document(Run, path.read_bytes(), str(path))
    with tempfile.TemporaryDirectory(prefix="gemm-kit-count-") as folder:
        again = _Rerun(job, measured, Path(folder), on_phase)
        return again.by_ncu() if job.plan.counters.tool == "ncu" else again.by_xla()


@dataclass(frozen=True, slots=True)
class _Rerun:
    """One case under one tool; files of the reruns lie in `folder`."""

    job: Job
    measured: Run
    folder: Path
    on_phase: Phase

    def by_ncu(self) -> DeviceCounters:
        """One rerun for each counter, one GEMM a launch."""
        tool = ncu.find_ncu(os.environ.get("PATH"))
        if tool is None:
            reason = "Nsight Compute (ncu) is not on PATH and not in /usr/local/cuda or /opt/nvidia"
            return nothing(self.job, "no_tool", reason)
        counters = tuple(self._ncu_counters(tool))
        return self._document(ncu.version_of(tool), "single", counters)

    def _ncu_counters(self, tool: Path) -> Iterator[Counter]:
        for name in NCU_COUNTERS:
            found = self._ncu_counter(tool, name)
            yield found
            if found.status == "no_permission" or (name == DRAM_READ and found.status != "ok"):
                return
        multicast = ncu.multicast_counter(tool)
        if multicast is not None:
            yield self._ncu_counter(tool, multicast)
        else:
            reason = "Nsight Compute lists no counter of multicast for this GPU"
            yield without(MULTICAST, "count", "not_available", reason)

    def _ncu_counter(self, tool: Path, name: str) -> Counter:
        self.on_phase(f"counters: {name}")
        log = self.folder / "ncu.log"
        log.unlink(missing_ok=True)
        printed, answer = self._run("single", (), lambda child: ncu.command(tool, name, log, child))
        # A tool that cannot even start says so on its standard output, or in the log it was given.
        text = log.read_text(encoding="utf-8", errors="replace") if log.exists() else printed
        try:
            found = ncu.parse(text, name)
            sets = [(answer.first_set + i) % self._sets for i in range(answer.launches)]
            return ncu.counter_of(name, found, sets)
        except ncu.NcuError as error:
            gone_wrong = answer.problem if error.status == "failed" else ""
            return without(name, _unit(name), error.status, recordable(gone_wrong or str(error)))

    def by_xla(self) -> DeviceCounters:
        """One rerun in the mode of the measured run, its counters sampled one after the other."""
        self.on_phase("counters")
        mode = self.measured.dispatch.mode
        _, answer = self._run(mode, XLA_COUNTERS, lambda child: child)
        series = {entry.counter: entry for entry in answer.series}
        reason = answer.problem or "the process ended before this counter"
        counters = tuple(
            sampled(series.get(name, Series(name, (), 0, reason))) for name in XLA_COUNTERS
        )
        return self._document(version("jax"), mode, counters)

    @property
    def _sets(self) -> int:
        return self.measured.rotation.sets

    def _document(
        self, tool_version: str | None, mode: DispatchMode, counters: tuple[Counter, ...]
    ) -> DeviceCounters:
        proof = next(counter for counter in counters if counter.name == DRAM_READ)
        status: CountingStatus = "failed" if proof.status == "not_available" else proof.status
        return DeviceCounters(
            case=self.job.case,
            device=self.job.device,
            tool=self.job.plan.counters.tool,
            version=tool_version,
            status=status,
            reason=proof.reason,
            mode=mode,
            rotation_sets=self._sets,
            counters=counters,
        )

    def _run(
        self,
        mode: DispatchMode,
        counters: tuple[str, ...],
        under: Callable[[list[str]], Sequence[str]],
    ) -> tuple[str, Counted]:
        """Run the counted process under a tool; (what was printed, its answer)."""
        report, path = self.folder / "report.json", self.folder / "job.json"
        report.unlink(missing_ok=True)
        tool = self.job.plan.counters.tool
        launched = self.measured.executable
        tuned = launched.autotune and str(Path(self.job.case_folder) / launched.autotune)
        build = (launched.implementation, tuned)
        asked = CountJob(self.job, tool, mode, self._sets, *build, counters, str(report))
        path.write_bytes(encode(asked))
        child = own_process.command("kit.runner.counted", str(path))
        # Nsight Compute and the samplers need device memory of their own.
        environment = worker_environment(self.job, os.environ) | {
            "XLA_PYTHON_CLIENT_PREALLOCATE": "false",
            "LC_ALL": "C",
        }
        printed, problem = _run(under(child), environment, self.job.plan.timeout_s)
        answer = read(report)
        if answer is None:
            last = (printed.strip().splitlines() or ["it said nothing"])[-1]
            answer = Counted(problem or f"the counted process gave no answer: {last}", 0, 0, ())
        return printed, answer


def _run(command: Sequence[str], environment: dict[str, str], timeout_s: float) -> tuple[str, str]:
    """Run a command to its end, or to the timeout's; (what it printed, what went wrong)."""
    problem = ""
    with tempfile.TemporaryFile("w+", errors="replace") as log:
        try:
            process = subprocess.Popen(
                command,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        except OSError as error:
            return "", f"{command[0]} cannot be started: {error.strerror}"
        try:
            process.wait(timeout=timeout_s)
        except subprocess.TimeoutExpired:
            problem = f"counting took longer than timeout_s={timeout_s:g}"
        finally:
            stop(process)
        log.seek(0)
        return log.read(), problem


def sampled(found: Series) -> Counter:
    """One value for all launches: the bytes' sum, or the mean percentage while the device worked.

    The sampler's first and last readings see an idle device; those below half of the highest one do
    not count for a mean.
    """
    unit = _unit(found.counter)
    if not found.readings or not found.launches:
        return without(
            found.counter, unit, "not_available", recordable(found.reason or "no reading")
        )
    if unit == BYTES:
        value = round(sum(found.readings))
    else:
        highest = max(found.readings)
        value = round(1000 * fmean(r for r in found.readings if r >= highest / 2))
    return Counter(
        name=found.counter,
        unit=unit,
        status="ok",
        reason="",
        passes=1,
        launches_per_value=found.launches,
        samples=len(found.readings),
        kernels=(),
        sets=(0,),
        values=(value,),
    )


def _unit(name: str) -> str:
    return MILLIPERCENT if "pct" in name else BYTES if "bytes" in name else "count"
