"""Which launches an external profiler records: those between cudaProfilerStart and Stop.

Nsight Systems and Nsight Compute wait for these calls when told to (`-c cudaProfilerApi`,
`--profile-from-start off`). Without a tool they do nothing.
"""

import ctypes
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from kit.cuda_driver import enter_primary_context
from kit.errors import MeasurementError

_LIBRARIES = (
    ("libcudart.so.13", "cudaProfilerStart", "cudaProfilerStop"),
    ("libcudart.so.12", "cudaProfilerStart", "cudaProfilerStop"),
    ("libcuda.so.1", "cuProfilerStart", "cuProfilerStop"),
)
"""The runtime that JAX's plugin has loaded is found by its soname; the driver is always there."""


@contextmanager
def profiled() -> Iterator[None]:
    """Let an attached profiler record what is launched inside; the caller drains the device.

    Raises:
        MeasurementError: CUDA cannot be loaded, or refuses the call.
    """
    start, stop = _calls()
    start()
    try:
        yield
    finally:
        stop()


def _calls() -> tuple[Callable[[], None], Callable[[], None]]:
    enter_primary_context()
    for name, start, stop in _LIBRARIES:
        try:
            library = ctypes.CDLL(name)
        except OSError:
            continue
        return _checked(library, start), _checked(library, stop)
    raise MeasurementError("no CUDA library offers cudaProfilerStart", hint="install the driver")


def _checked(library: ctypes.CDLL, name: str) -> Callable[[], None]:
    function = library[name]

    def call() -> None:
        code = function()
        if code:
            raise MeasurementError(f"{name} returned CUDA error {code}")

    return call
