"""What the launcher hands to a worker process, and what comes back from it."""

from dataclasses import dataclass

from kit.evidence import Candidate, Environment, Status
from kit.plan import Implementation, RunPlan
from kit.runner.dispatch import Handover


@dataclass(frozen=True, slots=True)
class Tuning:
    """What the tuner settled for a case and device, so that every run launches the same program.

    `autotune` names the file of results beside `case.json`; null for the reason in
    `autotune_reason`, and then each run tunes for itself.
    """

    implementation: Implementation
    handover: Handover
    autotune: str | None
    autotune_reason: str
    candidates: tuple[Candidate, ...]


@dataclass(frozen=True, slots=True)
class Job:
    """One run. Paths are absolute; `base_ns` is CLOCK_MONOTONIC at the bundle's start.

    `pci_bus_id` and `uuid` name the GPU (null on a CPU); `case_folder` takes the HLO text,
    `run_folder` the run's document and tables. `tuning` is null where no tuner ran before.
    """

    plan: RunPlan
    case: str
    device: str
    pci_bus_id: str | None
    uuid: str | None
    number: int
    base_ns: int
    case_folder: str
    run_folder: str
    tuning: Tuning | None


@dataclass(frozen=True, slots=True)
class Report:
    """One message of a worker: a phase it has entered, or how it ended."""

    phase: str | None
    status: Status | None
    reason: str
    environment: Environment | None


def entered(phase: str) -> Report:
    """The message that a phase has begun."""
    return Report(phase, None, "", None)


def ended(status: Status, reason: str, environment: Environment | None = None) -> Report:
    """The message that the run is over."""
    return Report(None, status, reason, environment)
