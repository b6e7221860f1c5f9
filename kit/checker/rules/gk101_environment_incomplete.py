"""The measured environment lacks something that decides the result.

## What it checks
`environment.json` has the versions of jax and jaxlib and the processor's model; on a GPU also of
JAX's CUDA plugin, nvidia-ml-py, the CUDA driver and runtime and cuBLAS, and for each GPU its
compute capability, number of SMs, memory bus and VBIOS. Every other value that is null has its
reason in `missing`, in the devices' facts as in each run's limits.

## Why it matters
Drivers, libraries and firmware move GEMM figures by tens of percent. Without them a result cannot
be repeated, nor a difference be explained.

## How to fix
Install the missing package, or run where NVML answers, and measure again.

## Clause
M26: results are consistent across devices, firmware and software, so these must be known.

## Example
Passes: `gsp_version` null, and `missing` says `not supported`.
Fails: no `cublas` among the libraries.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import fields

from kit.bundle.layout import ENVIRONMENT, RUN
from kit.bundle.reader import Bundle
from kit.checker.rule import Finding, rule
from kit.evidence import DeviceFacts, Limits
from kit.ruleset import Ruleset

_PACKAGES = ("jax", "jaxlib")
_GPU_PACKAGES = (*_PACKAGES, r"jax-cuda\d+-plugin", "nvidia-ml-py")
_GPU_LIBRARIES = ("cuda_driver", "cuda_runtime", "cublas")
_GPU_FACTS = ("compute_capability", "sm_count", "memory_bus_bits", "vbios_version")


@rule("GK101", "environment-incomplete", clauses=("M26",), since="2026.1")
def check(bundle: Bundle, _rules: Ruleset) -> Iterator[Finding]:
    """Look for each value by name."""
    environment, gpu = bundle.environment, bundle.plan.backend.platform == "cuda"
    packages = _GPU_PACKAGES if gpu else _PACKAGES
    yield from _absent("packages", environment.packages, packages)
    yield from _absent("libraries", environment.libraries, _GPU_LIBRARIES if gpu else ())
    if not environment.cpu_model.strip():
        yield Finding(f"{ENVIRONMENT}: cpu_model", "no text", "the processor's model")
    if not environment.devices:
        yield Finding(f"{ENVIRONMENT}: devices", "none", "every device that was measured")
    for number, device in enumerate(environment.devices):
        place = f"{ENVIRONMENT}: devices[{number}]"
        for name in _GPU_FACTS if gpu else ():
            if getattr(device, name) is None:
                found = f"null: {device.missing.get(name, 'no reason')}"
                yield Finding(f"{place}.{name}", found, "a value")
        yield from _unexplained(place, device, _GPU_FACTS if gpu else ())
    for case in bundle.cases.values():
        for run in case.runs:
            for when in ("limits_before", "limits_after"):
                limits = getattr(run.document, when)
                yield from _unexplained(f"{run.path}/{RUN}: {when}", limits, ())


def _absent(place: str, found: dict[str, str], wanted: Iterable[str]) -> Iterator[Finding]:
    for name in wanted:
        if not any(re.fullmatch(name, entry) and text for entry, text in found.items()):
            shown = name.replace(r"\d+", "*")
            yield Finding(f"{ENVIRONMENT}: {place}", f"no {shown}", "its version")


def _unexplained(
    place: str, record: DeviceFacts | Limits, judged: tuple[str, ...]
) -> Iterator[Finding]:
    for field in fields(record):
        if field.name in judged or getattr(record, field.name) is not None:
            continue
        if not record.missing.get(field.name, "").strip():
            yield Finding(f"{place}.{field.name}", "null without a reason", "a reason in missing")
