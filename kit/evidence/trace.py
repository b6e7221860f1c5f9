"""`trace.json`: the kernels of a few calls, traced after the run, or why there are none."""

from dataclasses import dataclass
from typing import Literal

TraceStatus = Literal["ok", "not_asked", "not_applicable", "failed"]


@dataclass(frozen=True, slots=True)
class KernelTrace:
    """The kernels of a few calls, traced in a process of its own after the run (`trace.json`).

    `names` are what `name` of `kit.trace.KERNELS` counts into. `launches` is how often the GEMM's
    kernel `gemm_name` ran in the `calls` traced. `graphics_mhz` is the mean clock meanwhile, null
    where it was not read. Without a trace the counts are 0, `names` is empty, and `reason` says
    why there is none.
    """

    status: TraceStatus
    reason: str
    calls: int
    launches: int
    names: tuple[str, ...]
    gemm_name: str | None
    graphics_mhz: float | None


def no_trace(status: TraceStatus, reason: str) -> KernelTrace:
    """The record that nothing was traced, and why."""
    return KernelTrace(status, reason, 0, 0, (), None, None)
