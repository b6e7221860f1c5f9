"""`environment.json`: what the machine says of itself."""

import hashlib
import json
from dataclasses import dataclass, replace
from typing import Literal

from kit.records import to_json


@dataclass(frozen=True, slots=True)
class KitVersion:
    """Which kit measured: version, git commit of its checkout (null when installed), cleanness."""

    version: str
    commit: str | None
    clean: bool | None


@dataclass(frozen=True, slots=True)
class DeviceFacts:
    """What one device says of itself.

    `id` is `cpu` or `gpu-` and 12 hexadecimal digits of the SHA-256 of its UUID. `cache_bytes` is
    the last-level cache a GEMM's operands could stay in: L2 on a GPU, L3 on a host.
    """

    id: str
    kind: Literal["gpu", "cpu"]
    name: str
    compute_capability: str | None
    sm_count: int | None
    cache_bytes: int
    memory_bytes: int
    memory_bus_bits: int | None
    maximum_graphics_mhz: int | None
    maximum_memory_mhz: int | None
    vbios_version: str | None
    inforom_version: str | None
    gsp_version: str | None
    ecc_enabled: bool | None
    mig_enabled: bool | None
    persistence_enabled: bool | None
    compute_mode: str | None
    virtualization: str | None
    pcie_generation: int | None
    pcie_width: int | None
    missing: dict[str, str]


@dataclass(frozen=True, slots=True)
class Environment:
    """The measured fingerprint of the machine: allow-listed facts, no names, no serials.

    `packages` maps distribution names to versions, `libraries` CUDA's components to versions,
    `settings` JAX and XLA settings and the allow-listed environment variables that are set.
    """

    kit: KitVersion
    python: str
    packages: dict[str, str]
    libraries: dict[str, str]
    settings: dict[str, str]
    operating_system: str
    kernel: str
    machine: str
    cpu_model: str
    cpu_logical_cores: int
    memory_bytes: int
    virtualization: str | None
    devices: tuple[DeviceFacts, ...]


def environment_digest(environment: Environment) -> str:
    """SHA-256 of what does not belong to one device: equal in all runs of an unchanged machine."""
    shared = to_json(replace(environment, devices=()))
    return hashlib.sha256(json.dumps(shared, sort_keys=True).encode()).hexdigest()
