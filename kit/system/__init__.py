"""Facts about the machine: its GPUs, its processor, its software, and the lock of a device."""

from kit.system.cpu import cpu_facts
from kit.system.fingerprint import environment
from kit.system.gpu import GpuAttributes, driver_versions, gpu_facts
from kit.system.gpu_limits import limits, no_limits
from kit.system.identity import DeviceAddress, device_id, pci_bus_id, uuid_hash, uuid_text
from kit.system.inventory import GpuAddress, gpus, nvml_address, select
from kit.system.lock import device_lock
from kit.system.variables import hide_uuids, scrub, settings

__all__ = [
    "DeviceAddress", "GpuAddress", "GpuAttributes", "cpu_facts", "device_id", "device_lock",
    "driver_versions", "environment", "gpu_facts", "gpus", "hide_uuids", "limits", "no_limits",
    "nvml_address", "pci_bus_id", "scrub", "select", "settings", "uuid_hash", "uuid_text",
]  # fmt: skip
