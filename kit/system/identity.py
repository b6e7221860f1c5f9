"""How one GPU is named so that CUDA, NVML and a bundle mean the same one.

NVML's index and CUDA's ordinal are different orders (`CUDA_VISIBLE_DEVICES` and
`CUDA_DEVICE_ORDER` change one of them only), so an index never passes between them: a device is
its PCI bus id and its UUID. A bundle holds neither serials nor UUIDs, only a hash.
"""

import hashlib
import re
import uuid
from dataclasses import dataclass

from kit.errors import MeasurementError

_PCI_BUS_ID = re.compile(
    r"(?:([0-9a-f]{4}|[0-9a-f]{8}):)?([0-9a-f]{2}):([0-9a-f]{2})\.([0-7])", re.IGNORECASE
)
_UUID = re.compile(r"(GPU|MIG)-([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class DeviceAddress:
    """A GPU by PCI bus id, by UUID, or by both, which must then agree. A host has neither."""

    pci_bus_id: str | None
    uuid: str | None


def pci_bus_id(text: str) -> str:
    """`text` in NVML's form, `00000000:3b:00.0` in lower case; CUDA writes a 4-digit domain.

    Raises:
        MeasurementError: it is not a PCI bus id.
    """
    match = _PCI_BUS_ID.fullmatch(text.strip())
    if match is None:
        raise MeasurementError(f"{text!r} is not a PCI bus id", hint="such as 0000:3b:00.0")
    domain, bus, device, function = match.groups()
    return f"{int(domain or '0', 16):08x}:{bus}:{device}.{function}".lower()


def uuid_text(raw: bytes) -> str:
    """The text NVML gives for CUDA's 16 raw bytes (`cuDeviceGetUuid`): `GPU-` and 36 characters.

    Raises:
        MeasurementError: there are not 16 bytes.
    """
    if len(raw) != 16:
        raise MeasurementError(f"a GPU's UUID has 16 bytes, not {len(raw)}")
    return f"GPU-{uuid.UUID(bytes=raw)}"


def uuid_hash(text: str) -> str:
    """First 12 hexadecimal digits of SHA-256 over the UUID: `GPU-` and lower-case digits.

    Raises:
        MeasurementError: the text is not a GPU's UUID.
    """
    match = _UUID.fullmatch(text.strip())
    if match is None:
        raise MeasurementError(
            f"{text!r} is not a GPU's UUID", hint="GPU- and 32 hexadecimal digits in five groups"
        )
    kind, digits = match.groups()
    return hashlib.sha256(f"{kind.upper()}-{digits.lower()}".encode()).hexdigest()[:12]


def device_id(text: str) -> str:
    """The GPU's name inside a bundle: `gpu-` and the hash of its UUID."""
    return f"gpu-{uuid_hash(text)}"
