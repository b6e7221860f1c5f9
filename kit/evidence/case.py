"""`case.json`: how each attempt at one case ended."""

from dataclasses import dataclass

from kit.evidence.status import Status


@dataclass(frozen=True, slots=True)
class RunOutcome:
    """How one attempt ended. A run with status `measured` has a folder, others only this line."""

    device: str
    number: int
    status: Status
    reason: str


@dataclass(frozen=True, slots=True)
class CaseRecord:
    """One case and the outcome of each of its attempts (`case.json`)."""

    id: str
    runs: tuple[RunOutcome, ...]
