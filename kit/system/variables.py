"""Which environment variables bear on the measurement, and how much of each may be told?

A variable is told only if it stands here, and its value only if it has the form that stands
beside it. Anything else that is set reads `<hidden>`: that it is set is evidence, what a path or
a free text holds is the vendor's own business.
"""

import os
import re
from collections.abc import Mapping

from kit.errors import MeasurementError
from kit.system.identity import device_id

HIDDEN = "<hidden>"
_NUMBER = r"[+-]?\d{1,12}(?:\.\d{1,12})?"
_SWITCH = r"(?i:true|false|on|off|yes|no|0|1)"
_PLATFORMS = r"(?:cpu|cuda|gpu|rocm|tpu)(?:,(?:cpu|cuda|gpu|rocm|tpu))*"
_FORMS = {
    "CUBLAS_WORKSPACE_CONFIG": r"(?::\d{1,9}:\d{1,9})+",
    "CUBLASLT_LOG_LEVEL": _NUMBER,
    "CUBLASLT_WORKSPACE_SIZE": _NUMBER,
    "CUDA_CACHE_DISABLE": _SWITCH,
    "CUDA_DEVICE_MAX_CONNECTIONS": _NUMBER,
    "CUDA_DEVICE_ORDER": r"FASTEST_FIRST|PCI_BUS_ID",
    "CUDA_FORCE_PTX_JIT": _SWITCH,
    "CUDA_LAUNCH_BLOCKING": _SWITCH,
    "CUDA_MODULE_LOADING": r"LAZY|EAGER|DEFAULT",
    "CUDA_MPS_ACTIVE_THREAD_PERCENTAGE": _NUMBER,
    "JAX_COMPILATION_CACHE_DIR": r"",
    "JAX_CPU_COLLECTIVES_IMPLEMENTATION": r"none|gloo|mpi",
    "JAX_CPU_ENABLE_ASYNC_DISPATCH": _SWITCH,
    "JAX_CUDA_VISIBLE_DEVICES": r"all|\d{1,3}(?:,\d{1,3})*",
    "JAX_DEBUG_NANS": _SWITCH,
    "JAX_DEFAULT_MATMUL_PRECISION": (
        r"default|fastest|high|highest|bfloat16|tensorfloat32|float32|[A-Z0-9_]{1,40}"
    ),
    "JAX_DEFAULT_PRNG_IMPL": r"threefry2x32|rbg|unsafe_rbg",
    "JAX_DISABLE_JIT": _SWITCH,
    "JAX_ENABLE_COMPILATION_CACHE": _SWITCH,
    "JAX_ENABLE_X64": _SWITCH,
    "JAX_NUMPY_DTYPE_PROMOTION": r"standard|strict",
    "JAX_PLATFORMS": _PLATFORMS,
    "JAX_PLATFORM_NAME": _PLATFORMS,
    "JAX_THREEFRY_PARTITIONABLE": _SWITCH,
    "JAX_TRANSFER_GUARD": r"allow|log|disallow|log_explicit|disallow_explicit",
    "LD_PRELOAD": r"",
    "MKL_NUM_THREADS": _NUMBER,
    "NVIDIA_TF32_OVERRIDE": _SWITCH,
    "OMP_NUM_THREADS": _NUMBER,
    "OPENBLAS_NUM_THREADS": _NUMBER,
    "TF_CUDNN_DETERMINISTIC": _SWITCH,
    "TF_FORCE_GPU_ALLOW_GROWTH": _SWITCH,
    "TF_GPU_ALLOCATOR": r"cuda_malloc_async",
    "XLA_CLIENT_MEM_FRACTION": _NUMBER,
    "XLA_PYTHON_CLIENT_ALLOCATOR": r"default|platform|bfc|cuda_async|address",
    "XLA_PYTHON_CLIENT_MEM_FRACTION": _NUMBER,
    "XLA_PYTHON_CLIENT_PREALLOCATE": _SWITCH,
}
_FLAG = re.compile(r"(--?xla_[a-z0-9_]{1,80})(?:=(.*))?", re.DOTALL)
# Numbers, switches, enumerators (CUBLAS,FUSION). Names of passes are lower case with hyphens, as
# user and file names may be, so only the two flags that take passes may show them.
_FLAG_VALUE = re.compile(rf"{_NUMBER}|{_SWITCH}|[A-Z][A-Z0-9_]{{0,40}}(?:,[A-Z][A-Z0-9_]{{0,40}})*")
_PASS_FLAGS = ("xla_disable_hlo_passes", "xla_enable_hlo_passes_only")
_PASSES = re.compile(r"[a-z0-9_-]{1,60}(?:,[a-z0-9_-]{1,60})*")
_UUID = re.compile(r"GPU-[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)


def settings(environment: Mapping[str, str] | None = None) -> dict[str, str]:
    """The allow-listed variables that are set, each with its value as far as it may be told."""
    found = os.environ if environment is None else environment
    told = {
        name: found[name] if re.fullmatch(form, found[name]) else HIDDEN
        for name, form in _FORMS.items()
        if name in found
    }
    for name, tell in (("XLA_FLAGS", _xla_flags), ("CUDA_VISIBLE_DEVICES", _visible_devices)):
        if name in found:
            told[name] = tell(found[name])
    return dict(sorted(told.items()))


def hide_uuids(text: str) -> str:
    """`text` with every raw UUID of a GPU replaced by the device's id in a bundle."""
    return _UUID.sub(lambda match: device_id(match[0]), text)


def scrub(text: str) -> str:
    """`text` without paths, addresses and raw UUIDs of GPUs: for versions and JAX's own settings.

    A word that holds a slash, a backslash, a tilde or an at sign becomes `<hidden>`; a bracket or
    colon that ends it stays.
    """
    text = hide_uuids(text)
    return re.sub(r"[^\s,;='\"]*[/\\~@](?:[^\s,;'\"]*[^\s,;'\"):])?", HIDDEN, text)


def _xla_flags(value: str) -> str:
    told = []
    for flag in value.split():
        match = _FLAG.fullmatch(flag)
        if match is None:
            told.append(HIDDEN)
            continue
        name, setting = match.groups()
        if setting is None:
            told.append(name)
            continue
        form = _PASSES if name.lstrip("-") in _PASS_FLAGS else _FLAG_VALUE
        told.append(f"{name}={setting if form.fullmatch(setting) else HIDDEN}")
    return " ".join(told)


def _visible_devices(value: str) -> str:
    return ",".join(_visible_device(entry.strip()) for entry in value.split(","))


def _visible_device(entry: str) -> str:
    if re.fullmatch(r"-?\d{0,3}", entry):
        return entry
    try:
        return device_id(entry)
    except MeasurementError:
        return HIDDEN
