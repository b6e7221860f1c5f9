"""What the launcher and a tuner process say to each other, as lines of JSON."""

from dataclasses import dataclass

from kit.evidence import Candidate, Status
from kit.plan import Implementation
from kit.runner.dispatch import Handover
from kit.runner.job import Job


@dataclass(frozen=True, slots=True)
class Request:
    """What one tuner process compiles.

    `handover` is null for the first one, which settles the mode. Autotune results go into `folder`;
    where `load_from` names some, they are compiled from and nothing is tuned.
    """

    job: Job
    attempt: int
    implementations: tuple[Implementation, ...]
    handover: Handover | None
    folder: str
    load_from: str | None = None


@dataclass(frozen=True, slots=True)
class Stint:
    """One timing that is asked for: of what, for how long, and for how long it runs before."""

    implementation: Implementation
    lead_ms: int
    timed_ms: int


@dataclass(frozen=True, slots=True)
class Built:
    """What a tuner compiled. `results` are paths of autotune results by implementation."""

    handover: Handover
    candidates: tuple[Candidate, ...]
    results: dict[str, str]


@dataclass(frozen=True, slots=True)
class Message:
    """One message of a tuner: a phase, what it has built, a timing, or why it gives up."""

    phase: str | None = None
    built: Built | None = None
    period_ns: float | None = None
    status: Status | None = None
    reason: str = ""
