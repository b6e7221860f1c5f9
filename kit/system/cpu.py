"""What processor, caches and memory has this host, as Linux tells it?

Every function takes the root of the file tree, so that tests can lay out other machines.
"""

import os
import platform
import re
from pathlib import Path

from kit.errors import MeasurementError
from kit.evidence import DeviceFacts

ROOT = Path("/")
_UNITS = {"": 1, "K": 1024, "M": 1024**2, "G": 1024**3}
# What a hypervisor calls itself in DMI, by a word of its vendor or product name.
_HYPERVISORS = {
    "kvm": "kvm",
    "qemu": "qemu",
    "amazon ec2": "amazon-ec2",
    "google compute engine": "google-compute-engine",
    "vmware": "vmware",
    "microsoft corporation virtual machine": "hyper-v",
    "xen": "xen",
    "virtualbox": "virtualbox",
    "openstack": "openstack",
    "bochs": "bochs",
}


def text_of(path: Path) -> str | None:
    """Contents of a small system file without surrounding space; None where it cannot be read."""
    try:
        return path.read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return None


def cpu_model(root: Path = ROOT) -> str:
    """The processor's model name; on Arm, which has none, its implementer and part numbers."""
    info = _cpuinfo(root)
    if "model name" in info:
        return info["model name"]
    if "CPU part" in info:
        return f"Arm implementer {info.get('CPU implementer', '?')} part {info['CPU part']}"
    return platform.machine()


def memory_bytes(root: Path = ROOT) -> int:
    """Bytes of main memory that Linux manages.

    Raises:
        MeasurementError: /proc/meminfo does not say.
    """
    match = re.search(r"^MemTotal:\s+(\d+) kB", text_of(root / "proc/meminfo") or "", re.MULTILINE)
    if match is None:
        raise MeasurementError("/proc/meminfo has no MemTotal", hint="mount /proc")
    return int(match[1]) * 1024


def virtualization(root: Path = ROOT) -> str | None:
    """The hypervisor by a name of a fixed list, `unknown hypervisor`, or None on bare metal.

    DMI's own words are matched, never passed on: some makers put serials into them.
    """
    dmi = " ".join(
        text_of(root / f"sys/class/dmi/id/{name}") or "" for name in ("sys_vendor", "product_name")
    ).lower()
    for word, name in _HYPERVISORS.items():
        if word in dmi:
            return name
    if text_of(root / "sys/hypervisor/type") == "xen":
        return "xen"
    return "unknown hypervisor" if "hypervisor" in _cpuinfo(root).get("flags", "").split() else None


def cache_bytes(root: Path = ROOT) -> int:
    """Bytes of the last-level cache: every instance of the highest level, added up.

    A GEMM on all cores spreads over all instances (one for each socket or core complex), so its
    operands can stay in their sum. A cache taken too small would let a rotation that stays in
    cache pass for a cold one; that is why an unknown size is an error and not a guess, and why
    /proc/cpuinfo counts on Intel only: on AMD its `cache size` is the second level.

    Raises:
        MeasurementError: neither sysfs nor /proc/cpuinfo tells.
    """
    levels: dict[int, dict[tuple[str, str], int]] = {}
    for folder in (root / "sys/devices/system/cpu").glob("cpu[0-9]*/cache/index[0-9]*"):
        level, size = text_of(folder / "level"), text_of(folder / "size")
        shared = text_of(folder / "shared_cpu_list") or folder.parent.parent.name
        match = re.fullmatch(r"(\d+)([KMG]?)", size or "")
        if match and (level or "").isdigit() and text_of(folder / "type") != "Instruction":
            key = (shared, text_of(folder / "type") or "")
            levels.setdefault(int(level or 0), {})[key] = int(match[1]) * _UNITS[match[2]]
    if levels:
        return sum(levels[max(levels)].values())
    text = text_of(root / "proc/cpuinfo") or ""
    match = re.search(r"^cache size\s*: (\d+) KB", text, re.MULTILINE)
    if match and "GenuineIntel" in text:
        sockets = set(re.findall(r"^physical id\s*: (\d+)", text, re.MULTILINE))
        return int(match[1]) * 1024 * max(1, len(sockets))
    raise MeasurementError(
        "this host does not tell the size of its last-level cache, so no buffer rotation is proven",
        hint="make /sys/devices/system/cpu/cpu*/cache readable",
    )


def cpu_facts(root: Path = ROOT) -> DeviceFacts:
    """The host as a device: `cpu`, with its last-level cache and memory in bytes.

    Raises:
        MeasurementError: cache or memory size is unknown.
    """
    empty = [
        "compute_capability", "sm_count", "memory_bus_bits", "maximum_graphics_mhz",
        "maximum_memory_mhz", "vbios_version", "inforom_version", "gsp_version", "ecc_enabled",
        "mig_enabled", "persistence_enabled", "compute_mode", "pcie_generation", "pcie_width",
    ]  # fmt: skip
    hypervisor = virtualization(root)
    missing = dict.fromkeys(empty, "a host processor has none")
    if hypervisor is None:
        missing["virtualization"] = "no hypervisor announces itself"
    return DeviceFacts(
        id="cpu",
        kind="cpu",
        name=cpu_model(root),
        cache_bytes=cache_bytes(root),
        memory_bytes=memory_bytes(root),
        virtualization=hypervisor,
        missing=missing,
        **dict.fromkeys(empty),
    )


def logical_cores() -> int:
    """Logical processors that Linux has online."""
    return os.cpu_count() or 1


def _cpuinfo(root: Path) -> dict[str, str]:
    """The first processor's entries of /proc/cpuinfo."""
    block = (text_of(root / "proc/cpuinfo") or "").split("\n\n", 1)[0]
    pairs = (line.split(":", 1) for line in block.splitlines() if ":" in line)
    return {name.strip(): value.strip() for name, value in pairs}
