"""One table, read at absolute deadlines in a thread of its own.

The energy counter takes 2 to 15 ms a call on a loaded GPU. NVML's binding gives up Python's lock
during a call, so a slow table does not hold up the others.
"""

from collections.abc import Callable
from dataclasses import dataclass
from threading import Event
from time import monotonic_ns

from kit.telemetry import BurstFailedError, Reader
from kit.telemetry.sampler.series import SeriesWriter

Clock = Callable[[], int]
_TRIAL_BURSTS = 20
_TRIAL_LIMIT_NS = 2_000_000_000
_DOUBLED_BELOW_NS = 1_000_000_000
_BURST_SHARE = 5
"""A burst may take one part in so many of its period; polling more would change the patient."""


class Cadence:
    """Deadlines at whole multiples of a period after a start; a missed one is never made up for."""

    def __init__(self, start_ns: int, period_ns: int) -> None:
        self.deadline_ns = start_ns
        self._period_ns = period_ns

    def advance(self, now_ns: int) -> int:
        """Move to the first deadline after `now_ns`; returns how many were missed on the way."""
        turns = max(1, (now_ns - self.deadline_ns) // self._period_ns + 1)
        self.deadline_ns += turns * self._period_ns
        return turns - 1


def sustainable_period_ns(read: Reader, period_ns: int, clock: Clock = monotonic_ns) -> int:
    """Double the period until the 95th percentile of trial bursts takes at most a fifth of it.

    A second or more is not doubled, so that doubling stays below 2 s. Trial bursts that fail say
    nothing about their cost and are left out.
    """
    costs = []
    begin = clock()
    for _ in range(_TRIAL_BURSTS):
        start = clock()
        try:
            read()
        except BurstFailedError:
            continue
        costs.append(clock() - start)
        if clock() - begin > _TRIAL_LIMIT_NS:
            break
    cost = sorted(costs)[len(costs) * 95 // 100 - 1] if costs else 0
    while cost * _BURST_SHARE > period_ns and period_ns < _DOUBLED_BELOW_NS:
        period_ns *= 2
    return period_ns


@dataclass(frozen=True, slots=True)
class Lane:
    """One table on its way into its series. Times there count from `base_ns`.

    `failed` hears the reason of every burst that gave no row.
    """

    read: Reader
    series: SeriesWriter
    cadence: Cadence
    base_ns: int
    failed: Callable[[str], None]

    def run(self, stop: Event) -> None:
        """Take bursts until `stop` is set."""
        while not stop.wait(max(0, self.cadence.deadline_ns - monotonic_ns()) / 1e9):
            start = monotonic_ns()
            self.series.beat(start)
            try:
                values = self.read()
            except BurstFailedError as error:
                end = monotonic_ns()
                self.series.fail()
                self.failed(error.reason)
            else:
                end = monotonic_ns()
                self.series.append([start - self.base_ns, end - start, *values])
            self.series.overrun(self.cadence.advance(end))
            self.series.beat(end)
