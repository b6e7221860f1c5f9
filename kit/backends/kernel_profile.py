"""The kernels that the GPU ran while a function did its work, by JAX's profiler.

Public API alone, and no TensorFlow. While a profiler is on, XLA may hand kernels over one by one
that would otherwise go as a CUDA graph, so nothing measured here is ever the headline.
"""

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import numpy as np
from jax.profiler import ProfileData, ProfileOptions

from kit.errors import MeasurementError
from kit.trace import KERNELS, Table

GPU_PLANE = "/device:GPU:"
STREAM = "Stream #"
_LONGEST_NAME = 512
_EXACT_NS = 2.0**53
"""Times come as floating-point numbers; beyond this they are no longer whole nanoseconds."""


def record(work: Callable[[], None], last: int | None = None) -> tuple[tuple[str, ...], Table]:
    """Run `work`, which waits for the device, under the profiler; see `read`."""
    options = ProfileOptions()
    options.host_tracer_level = 0
    options.python_tracer_level = 0
    options.enable_hlo_proto = False
    with tempfile.TemporaryDirectory(prefix="gemm-kit-profile-") as folder:
        jax.profiler.start_trace(folder, profiler_options=options)
        try:
            work()
        finally:
            jax.profiler.stop_trace()
        found = sorted(Path(folder).rglob("*.xplane.pb"))
        if len(found) != 1:
            raise MeasurementError(f"the profiler wrote {len(found)} profiles instead of one")
        return read(ProfileData.from_file(str(found[0])), last)


def read(profile: Any, last: int | None = None) -> tuple[tuple[str, ...], Table]:
    """Names in the order of their first start, and the rows of `kit.trace.KERNELS`.

    `last` keeps so many kernels from the end and leaves out what ran before them.

    Raises:
        MeasurementError: the profile shows no GPU, no kernel, or more GPUs than one.
    """
    planes = [plane for plane in profile.planes if plane.name.startswith(GPU_PLANE)]
    if len(planes) != 1:
        raise MeasurementError(f"the profile shows {len(planes)} GPUs instead of one")
    events = [
        (event.start_ns, event.duration_ns, event.name)
        for line in planes[0].lines
        if line.name.startswith(STREAM)
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
