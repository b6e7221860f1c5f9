"""Lock and reset a GPU's graphics clock. The only module that sets anything on a device.

Locking needs root. Success says that NVML took the request, not that the device runs at that
clock: the samples say so. Memory clocks are never locked; a limit on them was reported to cost up
to a third of the bandwidth of one product.
"""

import time
from typing import Any

from kit.errors import UsageError
from kit.system.identity import DeviceAddress
from kit.system.nvml import Refusal, attempt, device, session

LOCK_REMEDY = (
    "run as root, in a container with CAP_SYS_ADMIN; or lock the clock yourself with "
    "nvidia-smi -lgc and leave test_type.lock=false"
)
_RESET_TRIES = 3
_RESET_PAUSE_S = 0.5


def require_clock(address: DeviceAddress, clock_mhz: int, *, among_supported: bool) -> None:
    """Refuse a clock that the GPU cannot run at.

    `among_supported` also asks for the list of supported clocks, which is left alone otherwise:
    on one consumer product that query was reported to crash the GPU's firmware. A device that
    gives neither maximum nor list is not refused.

    Raises:
        UsageError: the clock is above the maximum or is none of the supported ones.
        MeasurementError: NVML does not start or has no such GPU.
    """
    with session() as nvml:
        handle = device(nvml, address)
        maximum = attempt(nvml, nvml.nvmlDeviceGetMaxClockInfo, handle, nvml.NVML_CLOCK_GRAPHICS)
        if not isinstance(maximum, Refusal) and clock_mhz > maximum:
            raise UsageError(
                f"test_type.clock_mhz is {clock_mhz}: the GPU's graphics clock ends at {maximum}",
                hint=f"ask for {maximum} MHz or less",
            )
        supported = _supported(nvml, handle) if among_supported else []
    if supported and clock_mhz not in supported:
        below = max((mhz for mhz in supported if mhz < clock_mhz), default=min(supported))
        above = min((mhz for mhz in supported if mhz > clock_mhz), default=max(supported))
        raise UsageError(
            f"test_type.clock_mhz is {clock_mhz}: the GPU has no such clock",
            hint=f"the nearest ones are {below} and {above} MHz",
        )


def _supported(nvml: Any, handle: Any) -> list[int]:
    memory = attempt(nvml, nvml.nvmlDeviceGetSupportedMemoryClocks, handle)
    if isinstance(memory, Refusal) or not memory:
        return []
    graphics = attempt(nvml, nvml.nvmlDeviceGetSupportedGraphicsClocks, handle, max(memory))
    return [] if isinstance(graphics, Refusal) else [int(mhz) for mhz in graphics]


def set_clock(nvml: Any, handle: Any, clock_mhz: int) -> Refusal | None:
    """Lock the graphics clock at `clock_mhz`; None, or why NVML refused."""
    done = attempt(nvml, nvml.nvmlDeviceSetGpuLockedClocks, handle, clock_mhz, clock_mhz)
    return done if isinstance(done, Refusal) else None


def reset_clock(nvml: Any, handle: Any) -> Refusal | None:
    """Let the graphics clock go again, in several tries; None, or why NVML refused the last."""
    for _ in range(_RESET_TRIES - 1):
        done = attempt(nvml, nvml.nvmlDeviceResetGpuLockedClocks, handle)
        if not isinstance(done, Refusal):
            return None
        if done.status != "error":
            return done
        time.sleep(_RESET_PAUSE_S)
    last = attempt(nvml, nvml.nvmlDeviceResetGpuLockedClocks, handle)
    return last if isinstance(last, Refusal) else None


def reset_clock_of(address: DeviceAddress) -> Refusal | None:
    """`reset_clock` in a session of its own.

    Raises:
        MeasurementError: NVML does not start or has no such GPU.
    """
    with session() as nvml:
        return reset_clock(nvml, device(nvml, address))
