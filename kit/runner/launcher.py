"""Measure a plan: every case, device and replicate in a fresh process, into one sealed bundle."""

import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path

from kit.bundle import layout
from kit.bundle.writer import BundleWriter
from kit.checker.judge import judge
from kit.checker.printable import printable
from kit.errors import KitError, MeasurementError, UnwritableError, UsageError
from kit.evidence import (
    ClockLock,
    Environment,
    Journal,
    RunOutcome,
)
from kit.plan import Case, RunPlan
from kit.runner.counting import count, nothing
from kit.runner.failure import LONGEST, failure, recordable
from kit.runner.frequency import frequency_advice, hold_clocks
from kit.runner.job import Job
from kit.runner.kernel_trace import trace_kernels
from kit.runner.notes import Notes
from kit.runner.preflight import preflight
from kit.runner.progress import Progress
from kit.runner.signals import undisturbed
from kit.runner.tuning import Tunings
from kit.runner.whole import write_whole
from kit.runner.written import read_run
from kit.system import GpuAddress, device_lock, gpus, hide_uuids, select


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a plan: the sealed bundle, and the exit code that its verdict makes.

    `interrupted` where the operator cut it short.
    """

    bundle: Path
    exit_code: int
    interrupted: bool


@dataclass(frozen=True, slots=True)
class Target:
    """One device to measure on: its id in the bundle and its names for CUDA and NVML."""

    id: str
    gpu: GpuAddress | None


def measure(
    plan: RunPlan,
    output: Path,
    name: str | None = None,
    sealed: Callable[[Path], None] = lambda _: None,
) -> Outcome:
    """Measure `plan` and write a bundle below `output`.

    The bundle lies at `<division>/<submitter>/<system_id>/<name>` below it. Ctrl-C ends the run
    in progress and seals what was measured before it. `sealed` is told the bundle's place before
    the bundle is judged, which may be interrupted. Where nothing was measured nothing is left.

    Raises:
        UsageError: the plan or the environment asks for something that cannot be.
        MeasurementError: nothing could be measured; the reasons of every case are in the text.
    """
    preflight(plan)
    targets = _targets(plan)
    plan.require_runs(len(targets))
    plan = _without_uuids(plan)
    parent = output / plan.submission.folder
    started, base_ns = datetime.now(UTC), time.monotonic_ns()
    with ExitStack() as locks:
        for target in targets:
            locks.enter_context(device_lock(target.id))
        gpus_used = tuple(target.gpu for target in targets if target.gpu is not None)
        held = hold_clocks(plan, gpus_used, base_ns, locks)
        writer = _writer(parent, name or started.strftime("%Y%m%dt%H%M%Sz"))
        campaign = _Campaign(plan, writer, targets, Notes(base_ns))
        try:
            writer.write_record(layout.PLAN, plan)
            campaign.run_all()
            with undisturbed():
                bundle = campaign.seal(started, tuple(lock.release() for lock in held))
                sealed(bundle)
        except BaseException as error:
            if campaign.environment is None:
                writer.abandon()
            elif isinstance(error, UnwritableError):
                kept = f"what was written so far lies unsealed in {writer.partial}"
                raise UnwritableError(error.problem, hint=f"{error.hint}; {kept}") from error
            raise
    verdict = judge(bundle)
    # A checker that broke down has not judged: that is the kit's fault, not the measurement's.
    code = verdict.exit_code if verdict.exit_code in (0, KitError.exit_code) else 1
    return Outcome(bundle, code, campaign.interrupted)


def _writer(parent: Path, name: str) -> BundleWriter:
    try:
        return BundleWriter(parent, name)
    except UnwritableError as error:  # before anything ran: another place has to be named
        raise UsageError(error.problem, hint=error.hint) from None


def _without_uuids(plan: RunPlan) -> RunPlan:
    """The plan as a bundle may hold it: GPUs under their ids instead of their raw UUIDs."""
    return replace(
        plan,
        devices=hide_uuids(plan.devices),
        overrides=tuple(hide_uuids(override) for override in plan.overrides),
    )


def _targets(plan: RunPlan) -> tuple[Target, ...]:
    if plan.backend.platform == "cpu":
        return (Target("cpu", None),)
    return tuple(Target(gpu.id, gpu) for gpu in select(gpus(), plan.devices))


@dataclass(slots=True)
class _Campaign:
    """All runs of a plan, and what they have given so far: journal, outcomes, environment.

    The outcomes' reasons are for the operator's eyes until they are sealed.
    """

    plan: RunPlan
    writer: BundleWriter
    targets: tuple[Target, ...]
    notes: Notes
    outcomes: dict[str, list[RunOutcome]] = field(default_factory=dict)
    environment: Environment | None = None
    tunings: Tunings = field(default_factory=Tunings)
    interrupted: bool = False

    def run_all(self) -> None:
        """Every case, replicate and device in turn; a failed run does not stop the others."""
        runs = len(self.plan.cases) * self.plan.replicates * len(self.targets)
        progress = Progress(runs)
        self.notes.bundle("bundle_started")
        for case, number, target in self._runs():
            try:
                self._attend(case, number, target, progress)
            except KeyboardInterrupt:
                self.interrupted = True
                with undisturbed():
                    self._cut_short(case, number, target)
        self.notes.bundle("bundle_ended")

    def _attend(self, case: Case, number: int, target: Target, progress: Progress) -> None:
        progress.begin(case.id, target.id, number, self.plan.replicates)
        if self.interrupted:
            outcome = RunOutcome(target.id, number, "interrupted", "stopped before this run")
            self.notes.begun(case.id, target.id, number)
        else:
            outcome = self._run(case, number, target, progress)
        known = self.outcomes.setdefault(case.id, [])
        is_first = outcome.status == "measured" and not _measured_on(target.id, known)
        known.append(outcome)
        self.notes.ended(case.id, outcome)
        if is_first:
            self._count(self._job(case, number, target), progress)
        said = (outcome.status, printable(outcome.reason, LONGEST), self._advice(case, outcome))
        progress.end(": ".join(filter(None, said)))

    def _cut_short(self, case: Case, number: int, target: Target) -> None:
        """Record the run that an interrupt came across, unless it had ended before."""
        job = self._job(case, number, target)
        known = self.outcomes.setdefault(case.id, [])
        outcome = RunOutcome(target.id, number, "interrupted", "stopped by the operator")
        if not any((run.device, run.number) == (target.id, number) for run in known):
            shutil.rmtree(job.run_folder, ignore_errors=True)
            known.append(outcome)
        noted = self.notes.of(case.id, target.id, number)
        if "run_started" not in noted:
            self.notes.begun(case.id, target.id, number)
        if "run_ended" not in noted:
            self.notes.ended(case.id, known[-1])

    def _runs(self) -> Iterator[tuple[Case, int, Target]]:
        for case in self.plan.cases:
            for number in range(1, self.plan.replicates + 1):
                for target in self.targets:
                    yield case, number, target

    def _job(self, case: Case, number: int, target: Target) -> Job:
        case_folder = self.writer.folder(layout.case_folder(case.id))
        run_folder = self.writer.partial / layout.run_folder(case.id, target.id, number)
        return Job(
            plan=self.plan,
            case=case.id,
            device=target.id,
            pci_bus_id=target.gpu.pci_bus_id if target.gpu else None,
            uuid=target.gpu.uuid if target.gpu else None,
            number=number,
            base_ns=self.notes.base_ns,
            case_folder=str(case_folder),
            run_folder=str(run_folder),
            tuning=None,
        )

    def _count(self, job: Job, progress: Progress) -> None:
        """Count in a rerun of what was just measured; a failure is part of the document."""
        found = nothing(job, "failed", "stopped by the operator")
        try:
            if not self.interrupted or self.plan.counters.tool == "none":
                found = count(job, progress.phase)
        except KeyboardInterrupt:
            self.interrupted = True
        except Exception as error:  # noqa: BLE001 - counting must never cost what was measured
            found = nothing(job, "failed", recordable(str(error)))
        self.writer.write_record(layout.counters_file(job.case, job.device), found)

    def _run(self, case: Case, number: int, target: Target, progress: Progress) -> RunOutcome:
        job = self._job(case, number, target)
        run_folder = Path(job.run_folder)
        self.notes.begun(case.id, target.id, number)
        try:
            report = self.tunings.run(job, progress.phase)
        except KeyboardInterrupt:
            self.interrupted = True
            shutil.rmtree(run_folder, ignore_errors=True)
            return RunOutcome(target.id, number, "interrupted", "stopped by the operator")
        except (OSError, ValueError) as error:  # no room, no process, no report: the others stay
            shutil.rmtree(run_folder, ignore_errors=True)
            return RunOutcome(target.id, number, *failure(error))
        status = report.status or "crashed"
        if status != "measured" or report.environment is None:
            shutil.rmtree(run_folder, ignore_errors=True)
            return RunOutcome(target.id, number, status, report.reason)
        self._remember(report.environment)
        self.interrupted |= not trace_kernels(job, progress.phase)
        return RunOutcome(target.id, number, "measured", "")

    def _advice(self, case: Case, outcome: RunOutcome) -> str:
        held = self.plan.test_type.clock_mhz is not None
        if not held or outcome.status != "measured" or self.environment is None:
            return ""
        devices = {device.id: device for device in self.environment.devices}
        try:
            document, tables, _ = read_run(self.writer.partial, case.id, outcome)
            return frequency_advice(self.plan, devices[outcome.device], document.timing, tables)
        except (KitError, OSError, ValueError):
            return ""  # a word on stderr; sealing will say what is wrong with the files

    def _remember(self, found: Environment) -> None:
        """Keep the first environment and every device; a changed one shows in the runs' digests."""
        if self.environment is None:
            self.environment = found
            return
        known = {device.id for device in self.environment.devices}
        new = tuple(device for device in found.devices if device.id not in known)
        self.environment = replace(self.environment, devices=self.environment.devices + new)

    def seal(self, started: datetime, clock_locks: tuple[ClockLock, ...]) -> Path:
        """Write the documents about the whole, seal, and return the bundle's place."""
        environment = self.environment
        if environment is None:
            reasons = {
                f"{case}: {outcome.status}: {outcome.reason}"
                for case, outcomes in self.outcomes.items()
                for outcome in outcomes
            }
            if self.interrupted:
                raise KeyboardInterrupt
            raise MeasurementError("nothing was measured: " + "; ".join(sorted(reasons)))
        started_utc = started.strftime("%Y-%m-%dT%H:%M:%SZ")
        journal = Journal(started_utc, tuple(self.notes.entries), clock_locks)
        outcomes = {
            case: [replace(outcome, reason=recordable(outcome.reason)) for outcome in ended]
            for case, ended in self.outcomes.items()
        }
        write_whole(self.writer, self.plan, environment, journal, outcomes)
        return self.writer.seal()


def _measured_on(device: str, outcomes: list[RunOutcome]) -> bool:
    return any(entry.device == device and entry.status == "measured" for entry in outcomes)
