"""CUDA events on JAX's own compute stream, one per window boundary, never waiting in between.

JAX launches a single-device executable inline on one stream, so an event recorded there after a
call returns lies exactly behind that call's kernels. The control takes another way to the same
boundaries: DLPack makes a stream of our own wait for D, and an event is recorded there.
"""

from itertools import pairwise
from typing import Any

from kit.cuda_driver import Event, create_stream, enter_primary_context
from kit.evidence import Anchor, Control
from kit.plan import TimingMethod
from kit.timing import Clock


class CudaEvents:
    """See `kit.timing.Timer`."""

    method: TimingMethod = "cuda_events"

    def __init__(self, backend: Any, clock: Clock) -> None:
        enter_primary_context()
        self._backend = backend
        self._clock = clock
        self._stream = backend.compute_stream()
        self._own_stream = create_stream()
        self._events: list[Event] = []
        self._spare = [Event() for _ in range(64)]
        self._control = (Event(), Event())
        self._control_launches = 0
        self._recorded_ns = 0
        self.drains = 0

    def _record(self) -> Event:
        event = self._spare.pop() if self._spare else Event()
        event.record(self._stream)
        self._events.append(event)
        return event

    def start(self) -> Anchor:
        self._backend.drain()
        before = self._clock()
        self._record().synchronize()
        return Anchor(before, self._clock())

    def boundary(self, last_output: Any) -> None:
        del last_output  # the stream's order puts the event behind it
        self._recorded_ns = self._clock()
        self._record()

    def _record_behind(self, last_output: Any, event: Event) -> None:
        # The capsule must be gone before this buffer is donated again.
        capsule = last_output.__dlpack__(stream=self._own_stream)
        del capsule
        event.record(self._own_stream)

    def open_control(self, last_output: Any) -> None:
        self._record_behind(last_output, self._control[0])

    def close_control(self, last_output: Any, launches: int) -> None:
        self._record_behind(last_output, self._control[1])
        self._control_launches = launches

    def finish(self, last_output: Any) -> Anchor:
        del last_output
        # Polled, so that the anchor is as narrow as two reads of the clock.
        before = self._recorded_ns
        now = self._clock()
        while not self._events[-1].has_happened():
            before, now = now, self._clock()
        return Anchor(before, self._clock())

    def durations_ns(self) -> list[int]:
        return [earlier.elapsed_ns(later) for earlier, later in pairwise(self._events)]

    def controls(self) -> tuple[Control, ...]:
        if not self._control_launches:
            return ()
        first, last = self._control
        last.synchronize()
        return (Control("dlpack_events", self._control_launches, first.elapsed_ns(last)),)


def connect(backend: Any, clock: Clock) -> CudaEvents:
    """Events for a backend that offers `compute_stream()`."""
    return CudaEvents(backend, clock)
