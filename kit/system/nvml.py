"""NVIDIA's binding of NVML: is it the right one, does it start, and what do its errors mean?

NVML is reached through nvidia-ml-py alone, and errors are told apart by code, never by message.
Nothing here sets anything on a GPU.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal, TypeVar

from kit.errors import MeasurementError
from kit.system.identity import DeviceAddress, pci_bus_id

Value = TypeVar("Value")
Failure = Literal["not_supported", "no_permission", "not_found", "library_missing", "error"]

# Return codes of nvml.h, by name in the binding, and what each means for a metric. Codes of newer
# functions than the driver knows (FUNCTION_NOT_FOUND and its kin) count as not supported.
_MEANING: dict[str, Failure] = {
    "NOT_SUPPORTED": "not_supported",
    "FUNCTION_NOT_FOUND": "not_supported",
    "ARGUMENT_VERSION_MISMATCH": "not_supported",
    "DEPRECATED": "not_supported",
    "VGPU_ECC_NOT_SUPPORTED": "not_supported",
    "NO_PERMISSION": "no_permission",
    "NOT_FOUND": "not_found",
    "NO_DATA": "not_found",
    "GPU_NOT_FOUND": "not_found",
    "LIBRARY_NOT_FOUND": "library_missing",
    "DRIVER_NOT_LOADED": "library_missing",
}
_START = {
    "LIBRARY_NOT_FOUND": (
        "NVML is missing: libnvidia-ml.so.1 cannot be loaded",
        "install the NVIDIA driver; in a container, ask for the GPU and the utility capability",
    ),
    "DRIVER_NOT_LOADED": (
        "the NVIDIA driver is not loaded",
        "load the nvidia kernel module; nvidia-smi must work first",
    ),
    "LIB_RM_VERSION_MISMATCH": (
        "libnvidia-ml.so.1 and the loaded NVIDIA kernel driver differ in version",
        "reload the kernel module or reboot after a driver update",
    ),
    "NO_PERMISSION": (
        "NVML may not open the GPU's device files",
        "give this user read and write access to /dev/nvidia*",
    ),
}


def binding() -> Any:
    """The module `pynvml` of nvidia-ml-py.

    Raises:
        MeasurementError: it is not installed or too old, or another package has taken its name.
    """
    try:
        import pynvml  # noqa: PLC0415 - the kit without its `run` extra has none
    except ImportError:
        raise MeasurementError(
            "nvidia-ml-py is not installed", hint="pip install '.[run]' in the checkout"
        ) from None
    if not hasattr(pynvml, "_nvmlGetFunctionPointer"):
        raise MeasurementError(
            "the module pynvml is not NVIDIA's binding",
            hint="pip uninstall pynvml, then pip install --force-reinstall nvidia-ml-py",
        )
    if not hasattr(pynvml, "nvmlDeviceGetTemperatureV"):
        raise MeasurementError(
            "the installed nvidia-ml-py is older than 12.575",
            hint="pip install --upgrade nvidia-ml-py",
        )
    return pynvml


@contextmanager
def session() -> Iterator[Any]:
    """NVML started, and shut down at the end. Yields the binding.

    Raises:
        MeasurementError: NVML or its driver is missing, or the two do not fit.
    """
    nvml = binding()
    try:
        nvml.nvmlInit()
    except nvml.NVMLError as error:
        name = code_name(nvml, error.value)
        problem, hint = _START.get(name, (f"NVML does not start: {name}", "see nvidia-smi"))
        raise MeasurementError(problem, hint=hint) from None
    try:
        yield nvml
    finally:
        # A lost GPU can make even the shutdown fail; what was read before stands.
        attempt(nvml, nvml.nvmlShutdown)


@cache
def code_name(nvml: Any, code: int) -> str:
    """Name of an NVML return code without its prefix, such as `NOT_SUPPORTED`."""
    for name in dir(nvml):
        if name.startswith("NVML_ERROR_") and getattr(nvml, name) == code:
            return name.removeprefix("NVML_ERROR_")
    return f"code {code}"


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why NVML gave no value: what that means for a metric, and the return code's name."""

    status: Failure
    reason: str


def refusal(nvml: Any, code: int) -> Refusal:
    """The meaning of an NVML return code other than success."""
    name = code_name(nvml, code)
    if name == "FUNCTION_NOT_FOUND":
        return Refusal("not_supported", "NVML FUNCTION_NOT_FOUND: the driver lacks this call")
    return Refusal(_MEANING.get(name, "error"), f"NVML {name}")


def attempt(nvml: Any, call: Callable[..., Value], *arguments: Any) -> Value | Refusal:
    """The value of a call, or why there is none."""
    try:
        return call(*arguments)
    except nvml.NVMLError as error:
        return refusal(nvml, error.value)


class Inquiry:
    """Asks one GPU for facts and remembers, by the fact's name, why it gave none."""

    def __init__(self, nvml: Any, handle: Any) -> None:
        self.missing: dict[str, str] = {}
        self._nvml = nvml
        self._handle = handle

    def read(self, fact: str, call: Callable[..., Any], *arguments: Any) -> Any:
        """The value of `call(handle, *arguments)`, or None with the reason kept."""
        value = attempt(self._nvml, call, self._handle, *arguments)
        if isinstance(value, Refusal):
            self.missing[fact] = value.reason
            return None
        # The binding leaves some texts as bytes, the GSP version among them.
        return value.decode(errors="replace") if isinstance(value, bytes) else value


def device(nvml: Any, address: DeviceAddress) -> Any:
    """Handle of the GPU at `address`, looked up by every name that is given.

    Raises:
        MeasurementError: no such GPU, the two names lead to different GPUs, or it is a MIG slice.
    """
    if address.uuid is not None and address.uuid.upper().startswith("MIG-"):
        raise MeasurementError(
            "the device is a MIG slice: its clocks and power are those of the whole GPU",
            hint="measure on a GPU with MIG disabled",
        )
    names = (
        ("PCI bus id", address.pci_bus_id, nvml.nvmlDeviceGetHandleByPciBusId),
        ("UUID", address.uuid, nvml.nvmlDeviceGetHandleByUUID),
    )
    found = []
    for kind, name, look_up in names:
        if name is None:
            continue
        handle = attempt(nvml, look_up, name)
        if isinstance(handle, Refusal):
            raise MeasurementError(f"NVML has no GPU with {kind} {name} ({handle.reason})")
        found.append((handle, pci_of(nvml, handle)))
    if not found:
        raise MeasurementError("no GPU named", hint="give its PCI bus id, its UUID or both")
    if found[0][1] != found[-1][1]:
        raise MeasurementError(
            f"PCI bus id {address.pci_bus_id} and UUID {address.uuid} are different GPUs to NVML",
            hint="both must come from the same CUDA device",
        )
    return found[0][0]


def pci_of(nvml: Any, handle: Any) -> str:
    """PCI bus id of a handle in NVML's form.

    Raises:
        MeasurementError: NVML does not say.
    """
    info = attempt(nvml, nvml.nvmlDeviceGetPciInfo, handle)
    if isinstance(info, Refusal):
        raise MeasurementError(f"NVML does not give a GPU's PCI bus id ({info.reason})")
    return pci_bus_id(str(info.busId))
