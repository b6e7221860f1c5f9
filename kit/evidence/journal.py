"""`journal.json`: every attempt in order, and the clocks that the kit locked."""

from dataclasses import dataclass
from typing import Literal

from kit.evidence.status import MetricStatus, Status

JournalEvent = Literal["bundle_started", "run_started", "run_ended", "bundle_ended"]


@dataclass(frozen=True, slots=True)
class JournalEntry:
    """One line of the append-only journal of every attempt. `run` is null for the bundle itself."""

    sequence: int
    t_ns: int
    event: JournalEvent
    case: str | None
    device: str | None
    run: int | None
    status: Status | None
    reason: str | None


@dataclass(frozen=True, slots=True)
class ClockLock:
    """How the kit locked one device's graphics clock and reset it, as NVML answered.

    `reset_by` is who reset it: the guard process that held the lock, or the launcher because the
    guard had died. Memory clocks are never locked.
    """

    device: str
    requested_mhz: int
    set_ns: int
    set_status: MetricStatus
    set_reason: str
    reset_ns: int
    reset_status: MetricStatus
    reset_reason: str
    reset_by: Literal["guard", "launcher"]


@dataclass(frozen=True, slots=True)
class Journal:
    """Every attempt of the bundle in order, failed ones included; `started_utc` is RFC 3339.

    `clock_locks` holds one entry for each device whose clock the kit locked.
    """

    started_utc: str
    entries: tuple[JournalEntry, ...]
    clock_locks: tuple[ClockLock, ...]
