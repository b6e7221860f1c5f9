"""Hardware counters that JAX's own profiler samples while the device works.

The profiler's GPU plane then carries a line `_counters_` whose every event is one reading of one
counter. Needs no tool beside JAX, but CUPTI's permission to read counters.
"""

import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import jax

from kit.errors import MeasurementError

_INTERVAL_US = 500
_LINE = "_counters_"
_PLANE = "/device:GPU:0"
_TAIL_S = 0.02
"""Idle time that lets the sampler read what the last launches did."""


def sample(counter: str, work: Callable[[], None]) -> tuple[float, ...]:
    """Readings of one counter while `work` runs and the device drains, in order of time.

    Bytes are what was moved since the reading before, percentages the mean over that time.

    Raises:
        MeasurementError: the profiler delivered no reading of this counter.
    """
    options = jax.profiler.ProfileOptions()
    options.host_tracer_level = 0
    options.python_tracer_level = 0
    options.enable_hlo_proto = False
    options.advanced_configuration = {
        "gpu_pm_sample_counters": counter,
        "gpu_pm_sample_interval_us": _INTERVAL_US,
    }
    with tempfile.TemporaryDirectory(prefix="gemm-kit-trace-") as folder:
        jax.profiler.start_trace(folder, profiler_options=options)
        try:
            work()
            time.sleep(_TAIL_S)
        finally:
            jax.profiler.stop_trace()
        traces = list(Path(folder).rglob("*.xplane.pb"))
        readings = tuple(
            value
            for trace in traces
            for value in series(jax.profiler.ProfileData.from_file(str(trace)), counter)
        )
    if not readings:
        raise MeasurementError(f"JAX's profiler delivered no reading of {counter}")
    return readings


def series(profile: Any, counter: str) -> Iterator[float]:
    """The readings of `counter` in a `jax.profiler.ProfileData`."""
    for plane in profile.planes:
        if plane.name == _PLANE:
            for line in plane.lines:
                if line.name == _LINE:
                    yield from _readings(line, counter)


def _readings(line: Any, counter: str) -> Iterator[float]:
    for event in line.events:
        if event.name == counter:
            for name, value in event.stats:
                if name == counter:
                    yield float(value)
