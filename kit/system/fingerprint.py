"""The fingerprint of the machine: allow-listed facts, without names, paths, serials or secrets."""

import importlib.metadata
import platform
import re
from collections.abc import Mapping
from pathlib import Path

from kit.evidence import DeviceFacts, Environment
from kit.system.checkout import kit_version
from kit.system.cpu import ROOT, cpu_model, logical_cores, memory_bytes, text_of, virtualization
from kit.system.variables import HIDDEN, scrub

PACKAGES = (
    "hydra-core", "jax", "jax-cuda12-pjrt", "jax-cuda12-plugin", "jax-cuda13-pjrt",
    "jax-cuda13-plugin", "jaxlib", "jsonschema", "ml-dtypes", "numpy", "nvidia-cublas",
    "nvidia-cublas-cu12", "nvidia-cublas-cu13", "nvidia-cuda-runtime", "nvidia-cuda-runtime-cu12",
    "nvidia-cuda-runtime-cu13", "nvidia-cudnn-cu12", "nvidia-cudnn-cu13", "nvidia-ml-py",
    "nvtx", "omegaconf",
)  # fmt: skip
_VERSION = re.compile(r"[0-9][0-9A-Za-z.!+_-]{0,63}")
_PRETTY_NAME = re.compile(r"^PRETTY_NAME=\"?([0-9A-Za-z ./()+_-]{1,80})\"?$", re.MULTILINE)
_RELEASE = re.compile(r"[0-9A-Za-z.+_~-]{1,80}")


def environment(
    libraries: Mapping[str, str],
    settings: Mapping[str, str],
    devices: tuple[DeviceFacts, ...],
    root: Path = ROOT,
) -> Environment:
    """The machine's fingerprint around what the caller knows of CUDA, JAX and its devices.

    `libraries` maps CUDA's components to versions, `settings` holds JAX's and XLA's settings
    beside `kit.system.settings()`. Paths and addresses in either are hidden.

    Raises:
        MeasurementError: the host does not tell the size of its memory.
    """
    return Environment(
        kit=kit_version(),
        python=platform.python_version(),
        packages=packages(),
        libraries={name: scrub(value) for name, value in sorted(libraries.items())},
        settings={name: scrub(value) for name, value in sorted(settings.items())},
        operating_system=operating_system(root),
        kernel=_kernel(),
        machine=platform.machine(),
        cpu_model=cpu_model(root),
        cpu_logical_cores=logical_cores(),
        memory_bytes=memory_bytes(root),
        virtualization=virtualization(root),
        devices=devices,
    )


def packages() -> dict[str, str]:
    """Versions of the allow-listed distributions that are installed: name and version alone."""
    found = {}
    for name in PACKAGES:
        try:
            version = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
        found[name] = version if _VERSION.fullmatch(version) else HIDDEN
    return found


def operating_system(root: Path = ROOT) -> str:
    """`PRETTY_NAME` of os-release, such as `Ubuntu 24.04.1 LTS`; `Linux` where there is none."""
    for place in ("etc/os-release", "usr/lib/os-release"):
        match = _PRETTY_NAME.search(text_of(root / place) or "")
        if match is not None:
            return match[1]
    return platform.system()


def _kernel() -> str:
    release = platform.release()
    return f"{platform.system()} {release if _RELEASE.fullmatch(release) else HIDDEN}"
