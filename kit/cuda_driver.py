"""The few calls of CUDA's driver API that the kit needs, by ctypes on libcuda.

Events on JAX's stream need the driver's own handles, and no Python package that JAX brings along
offers them in every version. Only one device is ever visible to a worker: ordinal 0.
"""

import ctypes
from dataclasses import dataclass
from functools import cache

from kit.errors import MeasurementError

_ATTRIBUTES = {
    "sm_count": 16,
    "memory_bus_bits": 37,
    "l2_bytes": 38,
    "major": 75,
    "minor": 76,
}
"""CUdevice_attribute values, from the CUDA driver API reference."""

_NOT_READY = 600


@dataclass(frozen=True, slots=True)
class CudaDevice:
    """What the driver says of ordinal 0."""

    pci_bus_id: str
    uuid: bytes
    compute_capability: str
    sm_count: int
    l2_bytes: int
    memory_bus_bits: int


@cache
def _library() -> ctypes.CDLL:
    try:
        library = ctypes.CDLL("libcuda.so.1")
    except OSError as error:
        raise MeasurementError(
            f"CUDA's driver library cannot be loaded: {error}", hint="install the NVIDIA driver"
        ) from error
    _call(library.cuInit, 0)
    return library


def _call(function: "ctypes._NamedFuncPointer", *arguments: object) -> None:
    code = function(*arguments)
    if code:
        raise MeasurementError(f"{function.__name__} returned CUDA error {code}")


def visible_devices() -> int:
    """How many devices CUDA shows to this process."""
    count = ctypes.c_int()
    _call(_library().cuDeviceGetCount, ctypes.byref(count))
    return count.value


def describe(ordinal: int = 0) -> CudaDevice:
    """Identity and attributes of a device."""
    library = _library()
    device = ctypes.c_int()
    _call(library.cuDeviceGet, ctypes.byref(device), ordinal)
    text = ctypes.create_string_buffer(32)
    _call(library.cuDeviceGetPCIBusId, text, len(text), device)
    uuid = (ctypes.c_ubyte * 16)()
    _call(library.cuDeviceGetUuid_v2, ctypes.byref(uuid), device)

    def attribute(name: str) -> int:
        value = ctypes.c_int()
        _call(library.cuDeviceGetAttribute, ctypes.byref(value), _ATTRIBUTES[name], device)
        return value.value

    return CudaDevice(
        pci_bus_id=text.value.decode(),
        uuid=bytes(uuid),
        compute_capability=f"{attribute('major')}.{attribute('minor')}",
        sm_count=attribute("sm_count"),
        l2_bytes=attribute("l2_bytes"),
        memory_bus_bits=attribute("memory_bus_bits"),
    )


def enter_primary_context(ordinal: int = 0) -> None:
    """Make JAX's context (the device's primary one) current on the calling thread."""
    library = _library()
    device = ctypes.c_int()
    _call(library.cuDeviceGet, ctypes.byref(device), ordinal)
    context = ctypes.c_void_p()
    _call(library.cuDevicePrimaryCtxRetain, ctypes.byref(context), device)
    _call(library.cuCtxSetCurrent, context)


def create_stream() -> int:
    """A stream of our own that does not wait for the default stream."""
    stream = ctypes.c_void_p()
    non_blocking = 1
    _call(_library().cuStreamCreate, ctypes.byref(stream), non_blocking)
    return stream.value or 0


class Event:
    """A CUDA event with timing."""

    __slots__ = ("_record", "handle")

    def __init__(self) -> None:
        library = _library()
        self.handle = ctypes.c_void_p()
        _call(library.cuEventCreate, ctypes.byref(self.handle), 0)
        self._record = library.cuEventRecord

    def record(self, stream: int) -> None:
        """Enqueue the event on a stream."""
        _call(self._record, self.handle, ctypes.c_void_p(stream))

    def synchronize(self) -> None:
        """Wait on the host until the event has happened."""
        _call(_library().cuEventSynchronize, self.handle)

    def has_happened(self) -> bool:
        """Whether the device has passed the event."""
        code = _library().cuEventQuery(self.handle)
        if code not in (0, _NOT_READY):
            raise MeasurementError(f"cuEventQuery returned CUDA error {code}")
        return bool(code == 0)

    def elapsed_ns(self, later: "Event") -> int:
        """Device time from this event to a later one; CUDA's resolution is about 0.5 µs."""
        milliseconds = ctypes.c_float()
        library = _library()
        _call(library.cuEventElapsedTime, ctypes.byref(milliseconds), self.handle, later.handle)
        return round(milliseconds.value * 1e6)
