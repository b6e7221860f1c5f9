"""CUDA events, with the profiling windows laid open to a profiler that is attached from outside.

Nsight Systems (`nsys profile -c cudaProfilerApi --capture-range-end=stop`) and Nsight Compute (`ncu
--profile-from-start off`) then record exactly the profiling launches, in ranges called `warm-up`
and `profiling` where the `nvtx` package is installed (`environment.json` says whether it is). The
device is drained once between both loops, as the tools need, and a tool slows every launch down:
these times are to be looked at, not compared.
"""

from contextlib import ExitStack
from importlib import import_module
from typing import Any

from kit.cuda_profiler import profiled
from kit.evidence import Anchor
from kit.plan import TimingMethod
from kit.timing import Clock
from kit.timing.cuda_events import CudaEvents


class ExternalProfiler(CudaEvents):
    """See `kit.timing.Timer`."""

    method: TimingMethod = "external_profiler"

    def __init__(self, backend: Any, clock: Clock) -> None:
        super().__init__(backend, clock)
        self._nvtx = _nvtx()
        self._open = ExitStack()

    def start(self) -> Anchor:
        anchor = super().start()
        self._enter("warm-up")
        return anchor

    def open_control(self, last_output: Any) -> None:
        self._backend.wait_for(last_output)
        self.drains += 1
        self._open.close()
        self._open.enter_context(profiled())
        self._enter("profiling")
        super().open_control(last_output)

    def finish(self, last_output: Any) -> Anchor:
        anchor = super().finish(last_output)
        self._open.close()
        return anchor

    def _enter(self, name: str) -> None:
        if self._nvtx is not None:
            self._open.enter_context(self._nvtx.annotate(name, domain="gemm-kit"))


def _nvtx() -> Any:
    try:
        return import_module("nvtx")
    except ImportError:
        return None


def connect(backend: Any, clock: Clock) -> ExternalProfiler:
    """Events for a backend that offers `compute_stream()`."""
    return ExternalProfiler(backend, clock)
