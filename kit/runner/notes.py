"""The journal of a bundle in the making: every attempt is noted as it begins and as it ends."""

import time
from dataclasses import dataclass, field, replace

from kit.evidence import JournalEntry, JournalEvent, RunOutcome
from kit.runner.failure import recordable


@dataclass(slots=True)
class Notes:
    """Entries so far; `base_ns` is CLOCK_MONOTONIC at the bundle's start."""

    base_ns: int
    entries: list[JournalEntry] = field(default_factory=list)

    def bundle(self, event: JournalEvent) -> None:
        """Note that the bundle was opened or closed."""
        self.entries.append(self._entry(event))

    def begun(self, case: str, device: str, number: int) -> None:
        """Note that an attempt began."""
        self._note("run_started", case, device, number)

    def ended(self, case: str, outcome: RunOutcome) -> None:
        """Note how an attempt ended."""
        self._note("run_ended", case, outcome.device, outcome.number, outcome)

    def of(self, case: str, device: str, number: int) -> tuple[JournalEvent, ...]:
        """What was noted of an attempt."""
        attempt = (case, device, number)
        return tuple(
            entry.event
            for entry in self.entries
            if (entry.case, entry.device, entry.run) == attempt
        )

    def _note(
        self,
        event: JournalEvent,
        case: str,
        device: str,
        number: int,
        outcome: RunOutcome | None = None,
    ) -> None:
        entry = replace(self._entry(event), case=case, device=device, run=number)
        if outcome is not None:
            entry = replace(entry, status=outcome.status, reason=recordable(outcome.reason) or None)
        self.entries.append(entry)

    def _entry(self, event: JournalEvent) -> JournalEntry:
        now_ns = time.monotonic_ns() - self.base_ns
        return JournalEntry(len(self.entries), now_ns, event, None, None, None, None, None)
