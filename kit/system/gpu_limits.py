"""Which settings of a GPU must not change under a run, and who else computes on it?

Read before the first and after the last launch, never inside a window: the process list alone
was seen to take 4.5 ms on a consumer card.
"""

from collections.abc import Collection
from typing import Any

from kit.evidence import Limits
from kit.system.identity import DeviceAddress
from kit.system.nvml import Inquiry, device, session


def limits(address: DeviceAddress, own_processes: Collection[int] = ()) -> Limits:
    """Power limits in mW, other compute processes and uncorrected ECC errors of one GPU.

    `own_processes` are the process ids that are no strangers: the measuring process, its parent
    and its children. ECC errors are the volatile uncorrected ones, since the last driver load.

    Raises:
        MeasurementError: NVML does not start or has no such GPU.
    """
    with session() as nvml:
        inquiry = Inquiry(nvml, device(nvml, address))
        missing, read = inquiry.missing, inquiry.read
        bounds = read("power_minimum_mw", nvml.nvmlDeviceGetPowerManagementLimitConstraints)
        if bounds is None:
            missing["power_maximum_mw"] = missing["power_minimum_mw"]
        low, high = bounds or (None, None)
        powers = {
            "power_enforced_mw": read("power_enforced_mw", nvml.nvmlDeviceGetEnforcedPowerLimit),
            "power_default_mw": read(
                "power_default_mw", nvml.nvmlDeviceGetPowerManagementDefaultLimit
            ),
            "power_minimum_mw": low,
            "power_maximum_mw": high,
        }
        for name, value in powers.items():
            if value == 0:
                missing[name] = "implausible: 0 mW reported as valid"
                powers[name] = None
        processes = read("other_processes", nvml.nvmlDeviceGetComputeRunningProcesses)
        return Limits(
            **powers,
            other_processes=strangers(processes, own_processes),
            ecc_errors=read(
                "ecc_errors",
                nvml.nvmlDeviceGetTotalEccErrors,
                nvml.NVML_MEMORY_ERROR_TYPE_UNCORRECTED,
                nvml.NVML_VOLATILE_ECC,
            ),
            missing=missing,
        )


def strangers(processes: list[Any] | None, own_processes: Collection[int]) -> int | None:
    """How many of NVML's `processes` are not ours; None where NVML gave no list."""
    if processes is None:
        return None
    return len({process.pid for process in processes} - set(own_processes))


def no_limits(reason: str) -> Limits:
    """Limits of a device that has none to read, each missing for `reason`."""
    names = [name for name in Limits.__dataclass_fields__ if name != "missing"]
    return Limits(None, None, None, None, None, None, dict.fromkeys(names, reason))
