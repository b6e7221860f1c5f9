"""Hardware counters that JAX's own profiler samples while the device works.

The profiler's GPU plane then carries a line `_counters_` whose every event is one reading of one
counter. Needs no tool beside JAX, but CUPTI's permission to read counters.
"""

import time
from collections.abc import Callable, Iterator
from typing import Any

from kit.backends.jax_profiler import gpu_planes, profiled
from kit.errors import MeasurementError

_INTERVAL_US = 500
_LINE = "_counters_"
_TAIL_S = 0.02
"""Idle time that lets the sampler read what the last launches did."""


def sample(counter: str, work: Callable[[], None]) -> tuple[float, ...]:
    """Readings of one counter while `work` runs and the device drains, in order of time.

    Bytes are what was moved since the reading before, percentages the mean over that time.

    Raises:
        MeasurementError: the profiler delivered no reading of this counter.
    """

    def sampled() -> None:
        work()
        time.sleep(_TAIL_S)

    profiles = profiled(
        sampled, gpu_pm_sample_counters=counter, gpu_pm_sample_interval_us=_INTERVAL_US
    )
    readings = tuple(value for profile in profiles for value in series(profile, counter))
    if not readings:
        raise MeasurementError(f"JAX's profiler delivered no reading of {counter}")
    return readings


def series(profile: Any, counter: str) -> Iterator[float]:
    """The readings of `counter` in a `jax.profiler.ProfileData`."""
    for plane in gpu_planes(profile):
        for line in plane.lines:
            if line.name == _LINE:
                yield from _readings(line, counter)


def _readings(line: Any, counter: str) -> Iterator[float]:
    for event in line.events:
        if event.name == counter:
            for name, value in event.stats:
                if name == counter:
                    yield float(value)
