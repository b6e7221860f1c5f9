"""The kernels that the GPU ran while a function did its work, by JAX's profiler.

While a profiler is on, XLA may hand kernels over one by one that would otherwise go as a CUDA
graph, so nothing measured here is ever the headline.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from kit.backends.jax_profiler import gpu_planes, profiled
from kit.errors import MeasurementError
from kit.trace import KERNELS, Table

_STREAM = "Stream #"
_LONGEST_NAME = 512
_EXACT_NS = 2.0**53
"""Times come as floating-point numbers; beyond this they are no longer whole nanoseconds."""


def record(work: Callable[[], None], last: int | None = None) -> tuple[tuple[str, ...], Table]:
    """Run `work`, which waits for the device, under the profiler; see `read`."""
    profiles = profiled(work)
    if len(profiles) != 1:
        raise MeasurementError(f"the profiler wrote {len(profiles)} profiles instead of one")
    return read(profiles[0], last)


def read(profile: Any, last: int | None = None) -> tuple[tuple[str, ...], Table]:
    """Names in the order of their first start, and the rows of `kit.trace.KERNELS`.

    `last` keeps so many kernels from the end and leaves out what ran before them.

    Raises:
        MeasurementError: the profile shows no GPU, no kernel, or more GPUs than one.
    """
    planes = gpu_planes(profile)
    if len(planes) != 1:
        raise MeasurementError(f"the profile shows {len(planes)} GPUs instead of one")
    events = [
        (event.start_ns, event.duration_ns, event.name)
        for line in planes[0].lines
        if line.name.startswith(_STREAM)
        for event in line.events
    ]
    if not events:
        raise MeasurementError("the profile of the GPU holds no kernel")
    events.sort()
    events = events[-last:] if last else events
    first_ns = events[0][0]
    if events[-1][0] > _EXACT_NS:
        raise MeasurementError("the profile's times are too coarse: they count from the epoch")
    numbers: dict[str, int] = {}
    rows = [
        (
            numbers.setdefault(name[:_LONGEST_NAME] or "unnamed", len(numbers)),
            round(start_ns - first_ns),
            max(1, round(duration_ns)),
        )
        for start_ns, duration_ns, name in events
    ]
    columns = np.array(rows, np.int64).T
    names = [column.name for column in KERNELS.columns]
    return tuple(numbers), Table(dict(zip(names, columns, strict=True)))
