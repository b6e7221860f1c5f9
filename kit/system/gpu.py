"""What does one GPU say of itself: size, clocks, firmware, modes?"""

from dataclasses import dataclass
from typing import Any

from kit.errors import MeasurementError
from kit.evidence import DeviceFacts
from kit.system.identity import DeviceAddress, device_id
from kit.system.inventory import memory_info, uuid_of
from kit.system.nvml import Inquiry, attempt, device, session

_COMPUTE_MODES = {
    "NVML_COMPUTEMODE_DEFAULT": "default",
    "NVML_COMPUTEMODE_EXCLUSIVE_THREAD": "exclusive_thread",
    "NVML_COMPUTEMODE_PROHIBITED": "prohibited",
    "NVML_COMPUTEMODE_EXCLUSIVE_PROCESS": "exclusive_process",
}
_VIRTUALIZATION = {
    "NVML_GPU_VIRTUALIZATION_MODE_NONE": "none",
    "NVML_GPU_VIRTUALIZATION_MODE_PASSTHROUGH": "passthrough",
    "NVML_GPU_VIRTUALIZATION_MODE_VGPU": "vgpu",
    "NVML_GPU_VIRTUALIZATION_MODE_HOST_VGPU": "host_vgpu",
    "NVML_GPU_VIRTUALIZATION_MODE_HOST_VSGA": "host_vsga",
}


@dataclass(frozen=True, slots=True)
class GpuAttributes:
    """What CUDA's driver says of the device: `cuDeviceGetAttribute` and its compute capability.

    The rotation rule rests on `l2_bytes`, so it comes from the device and never from a table.
    `memory_bus_bits` is null where CUDA does not say; NVML is then asked.
    """

    compute_capability: str
    sm_count: int
    l2_bytes: int
    memory_bus_bits: int | None


def gpu_facts(pci_bus_id: str, attributes: GpuAttributes) -> DeviceFacts:
    """The facts of the GPU at `pci_bus_id`; each that NVML does not give is null with its reason.

    PCIe generation and width are those of this moment: an idle link may have shifted down, so
    call this under load or just after it.

    Raises:
        MeasurementError: NVML does not start, has no such GPU or hides its UUID or memory size.
    """
    with session() as nvml:
        handle = device(nvml, DeviceAddress(pci_bus_id, None))
        inquiry = Inquiry(nvml, handle)
        read = inquiry.read
        memory = memory_info(nvml, handle)
        if memory is None:
            raise MeasurementError(f"NVML does not give the memory size of GPU {pci_bus_id}")
        bus = attributes.memory_bus_bits or read(
            "memory_bus_bits", nvml.nvmlDeviceGetMemoryBusWidth
        )
        mode = read("compute_mode", nvml.nvmlDeviceGetComputeMode)
        virtualization = read("virtualization", nvml.nvmlDeviceGetVirtualizationMode)
        return DeviceFacts(
            id=device_id(uuid_of(nvml, handle)),
            kind="gpu",
            name=read("name", nvml.nvmlDeviceGetName) or "unknown",
            compute_capability=attributes.compute_capability,
            sm_count=attributes.sm_count,
            cache_bytes=attributes.l2_bytes,
            memory_bytes=memory.total,
            memory_bus_bits=bus,
            maximum_graphics_mhz=read(
                "maximum_graphics_mhz", nvml.nvmlDeviceGetMaxClockInfo, nvml.NVML_CLOCK_GRAPHICS
            ),
            maximum_memory_mhz=read(
                "maximum_memory_mhz", nvml.nvmlDeviceGetMaxClockInfo, nvml.NVML_CLOCK_MEM
            ),
            vbios_version=read("vbios_version", nvml.nvmlDeviceGetVbiosVersion),
            inforom_version=read("inforom_version", nvml.nvmlDeviceGetInforomImageVersion),
            gsp_version=read("gsp_version", nvml.nvmlDeviceGetGspFirmwareVersion),
            ecc_enabled=_enabled(read("ecc_enabled", nvml.nvmlDeviceGetEccMode)),
            mig_enabled=_enabled(read("mig_enabled", nvml.nvmlDeviceGetMigMode)),
            persistence_enabled=_enabled(
                read("persistence_enabled", nvml.nvmlDeviceGetPersistenceMode)
            ),
            compute_mode=_name(nvml, _COMPUTE_MODES, mode),
            virtualization=_name(nvml, _VIRTUALIZATION, virtualization),
            pcie_generation=read("pcie_generation", nvml.nvmlDeviceGetCurrPcieLinkGeneration),
            pcie_width=read("pcie_width", nvml.nvmlDeviceGetCurrPcieLinkWidth),
            missing=inquiry.missing,
        )


def driver_versions() -> dict[str, str]:
    """Versions of driver, NVML and the CUDA that the driver supports, those that NVML gives.

    Raises:
        MeasurementError: NVML does not start.
    """
    with session() as nvml:
        versions = {
            "nvidia_driver": attempt(nvml, nvml.nvmlSystemGetDriverVersion),
            "nvml": attempt(nvml, nvml.nvmlSystemGetNVMLVersion),
        }
        cuda = attempt(nvml, nvml.nvmlSystemGetCudaDriverVersion)
    if isinstance(cuda, int):
        versions["cuda_driver"] = f"{cuda // 1000}.{cuda % 1000 // 10}"
    return {name: one for name, one in versions.items() if isinstance(one, str)}


def _enabled(mode: Any) -> bool | None:
    """Whether a mode is on now; NVML gives some as a pair of current and pending."""
    if mode is None:
        return None
    return bool(mode[0] if isinstance(mode, list) else mode)


def _name(nvml: Any, names: dict[str, str], value: int | None) -> str | None:
    if value is None:
        return None
    return next((text for constant, text in names.items() if getattr(nvml, constant) == value),
                f"unknown ({value})")  # fmt: skip
