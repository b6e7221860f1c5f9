"""Which GPUs does this machine have, and which of them does a plan select?"""

import re
from dataclasses import dataclass
from typing import Any

from kit.errors import MeasurementError, UsageError
from kit.system.gpu_limits import strangers
from kit.system.identity import DeviceAddress, device_id
from kit.system.nvml import Inquiry, Refusal, attempt, device, pci_of, session


@dataclass(frozen=True, slots=True)
class GpuAddress:
    """One GPU as NVML lists it. `index` is NVML's order, good for the command line only.

    `other_processes` counts compute processes on it now. What NVML does not tell is null.
    """

    index: int
    uuid: str
    pci_bus_id: str
    name: str
    memory_total_bytes: int | None
    memory_free_bytes: int | None
    other_processes: int | None
    mig_enabled: bool | None

    @property
    def address(self) -> DeviceAddress:
        """Both names of the device, for telemetry and limits."""
        return DeviceAddress(self.pci_bus_id, self.uuid)

    @property
    def id(self) -> str:
        """The device's name inside a bundle."""
        return device_id(self.uuid)


def gpus() -> tuple[GpuAddress, ...]:
    """Every GPU that NVML lists, at least one.

    Raises:
        MeasurementError: NVML is missing, does not fit its driver, or lists no GPU.
    """
    with session() as nvml:
        count = attempt(nvml, nvml.nvmlDeviceGetCount)
        if isinstance(count, Refusal):
            raise MeasurementError(f"NVML cannot list GPUs ({count.reason})", hint="see nvidia-smi")
        if not count:
            raise MeasurementError(
                "this machine has no NVIDIA GPU that NVML can see",
                hint="measure with backend.platform=cpu, or run where nvidia-smi lists a GPU",
            )
        return tuple(_gpu(nvml, index) for index in range(count))


def _gpu(nvml: Any, index: int) -> GpuAddress:
    handle = attempt(nvml, nvml.nvmlDeviceGetHandleByIndex, index)
    if isinstance(handle, Refusal):
        raise MeasurementError(f"NVML cannot open its GPU {index} ({handle.reason})")
    inquiry = Inquiry(nvml, handle)
    memory = memory_info(nvml, handle)
    mig = inquiry.read("mig_enabled", nvml.nvmlDeviceGetMigMode)
    return GpuAddress(
        index=index,
        uuid=uuid_of(nvml, handle),
        pci_bus_id=pci_of(nvml, handle),
        name=inquiry.read("name", nvml.nvmlDeviceGetName) or "unknown",
        memory_total_bytes=None if memory is None else memory.total,
        memory_free_bytes=None if memory is None else memory.free,
        other_processes=strangers(
            inquiry.read("processes", nvml.nvmlDeviceGetComputeRunningProcesses), ()
        ),
        mig_enabled=None if mig is None else bool(mig[0]),
    )


def nvml_address(address: DeviceAddress) -> DeviceAddress:
    """PCI bus id and UUID that NVML gives for the GPU at `address`.

    The worker calls it with what CUDA says and records both sides, so that a series of another
    GPU's clocks cannot pass for this one's.

    Raises:
        MeasurementError: no such GPU, or its two names lead to different ones.
    """
    with session() as nvml:
        handle = device(nvml, address)
        return DeviceAddress(pci_of(nvml, handle), uuid_of(nvml, handle))


def uuid_of(nvml: Any, handle: Any) -> str:
    """UUID of a handle as NVML gives it.

    Raises:
        MeasurementError: NVML does not say.
    """
    uuid = attempt(nvml, nvml.nvmlDeviceGetUUID, handle)
    if isinstance(uuid, Refusal):
        raise MeasurementError(f"NVML does not give a GPU's UUID ({uuid.reason})")
    return str(uuid)


def memory_info(nvml: Any, handle: Any) -> Any:
    """NVML's memory structure with `total` and `free` in bytes; None where there is none.

    The second version knows of reserved memory; older drivers have the first one only.
    """
    memory = attempt(nvml, nvml.nvmlDeviceGetMemoryInfo, handle, nvml.nvmlMemory_v2)
    if isinstance(memory, Refusal):
        memory = attempt(nvml, nvml.nvmlDeviceGetMemoryInfo, handle)
    return None if isinstance(memory, Refusal) else memory


def select(available: tuple[GpuAddress, ...], wanted: str) -> tuple[GpuAddress, ...]:
    """The GPUs that `wanted` names, in its order: `all`, or NVML indices, UUIDs or ids with commas.

    Raises:
        UsageError: a name is no GPU of this machine, or a GPU is named twice.
        MeasurementError: one of them is in MIG mode.
    """
    chosen = available if wanted.strip() == "all" else _listed(available, wanted)
    for gpu in chosen:
        if gpu.mig_enabled:
            raise MeasurementError(
                f"GPU {gpu.index} is in MIG mode: its clocks and power are those of all its slices",
                hint="name other GPUs with devices=, or have MIG mode disabled",
            )
    return chosen


def _listed(available: tuple[GpuAddress, ...], wanted: str) -> tuple[GpuAddress, ...]:
    chosen: list[GpuAddress] = []
    for entry in wanted.split(","):
        gpu = _named(available, entry.strip())
        if gpu in chosen:
            raise UsageError(f"devices={wanted!r} names GPU {gpu.index} twice")
        chosen.append(gpu)
    return tuple(chosen)


def _named(available: tuple[GpuAddress, ...], entry: str) -> GpuAddress:
    for gpu in available:
        is_index = re.fullmatch(r"[0-9]{1,4}", entry) is not None and int(entry) == gpu.index
        if is_index or entry.lower() in (gpu.uuid.lower(), gpu.id):
            return gpu
    known = ", ".join(f"{gpu.index} ({gpu.name})" for gpu in available)
    raise UsageError(f"devices: this machine has no GPU {entry!r}", hint=f"all, or from {known}")
