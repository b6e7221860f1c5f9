"""The host's monotonic clock, read after waiting for each window's last output.

Exact where the host does the work itself. On a GPU its every window carries the host's start-up
and wake-up, so it is never called events there.
"""

from itertools import pairwise
from typing import Any

from kit.evidence import Anchor, Control
from kit.plan import TimingMethod
from kit.timing import Clock


class HostClock:
    """See `kit.timing.Timer`."""

    method: TimingMethod = "host_clock"

    def __init__(self, backend: Any, clock: Clock) -> None:
        self._backend = backend
        self._clock = clock
        self._edges: list[int] = []
        self.drains = 0

    def start(self) -> Anchor:
        self._backend.drain()
        now = self._clock()
        self._edges = [now]
        return Anchor(now, now)

    def boundary(self, last_output: Any) -> None:
        self._backend.wait_for(last_output)
        self.drains += 1
        self._edges.append(self._clock())

    def open_control(self, last_output: Any) -> None:
        """The host clock has no second opinion of itself."""

    def close_control(self, last_output: Any, launches: int) -> None:
        """See `open_control`."""

    def finish(self, last_output: Any) -> Anchor:
        del last_output
        return Anchor(self._edges[-1], self._edges[-1])

    def durations_ns(self) -> list[int]:
        return [later - earlier for earlier, later in pairwise(self._edges)]

    def controls(self) -> tuple[Control, ...]:
        return ()


def connect(backend: Any, clock: Clock) -> HostClock:
    """A host clock for `backend`."""
    return HostClock(backend, clock)
