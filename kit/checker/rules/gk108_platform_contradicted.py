"""The plan's platform is not the one that the evidence is of.

## What it checks
A bundle of platform `cpu` holds nothing that only a GPU or CUDA can give: no device of kind `gpu`
or called `gpu-…`, no CUDA identity, power limit, graphics clock, kernel trace or replayed tuning,
no CUDA library, and no JAX_PLATFORMS without `cpu`. On platform `cuda` every device is a GPU.

## Why it matters
A CPU host is not asked for clocks, power, events or speed of light. A GPU that passes for one
escapes all of these questions.

## How to fix
Measure again with the backend of the device that multiplies.

## Clause
M02 (events on the device), M12 (the GPC frequency is monitored): both are a GPU's.

## Example
Passes: platform `cpu`, device `cpu`, JAX_PLATFORMS `cpu`.
Fails: platform `cpu`, device `gpu-1dd20b1a6155`.
"""

from collections.abc import Iterator

from kit.bundle.layout import ENVIRONMENT, TRACE
from kit.bundle.reader import Bundle
from kit.checker.rule import Finding, rule
from kit.checker.runs import MeasuredRun, measured_runs
from kit.ruleset import Ruleset
from kit.trace import CLOCKS, ENERGY, KERNELS, POWER

_LIBRARIES = ("cublas", "cuda_driver", "cuda_runtime", "cudnn", "cupti", "nvidia_driver", "nvml")
_TABLES = (CLOCKS.file, POWER.file, ENERGY.file, KERNELS.file)
_NONE = "none on a CPU"


@rule("GK108", "platform-contradicted", clauses=("M02", "M12"), since="2026.1")
def check(bundle: Bundle, _rules: Ruleset) -> Iterator[Finding]:
    """Look for a GPU's traces in a CPU's bundle, and for a CPU in a GPU's."""
    platform = bundle.plan.backend.platform
    kind = "gpu" if platform == "cuda" else "cpu"
    for number, device in enumerate(bundle.environment.devices):
        place = f"{ENVIRONMENT}: devices[{number}]"
        if device.kind != kind:
            yield Finding(f"{place}.kind", device.kind, f"{kind} on platform {platform}")
        if (kind == "gpu") != device.id.startswith("gpu-"):
            yield Finding(f"{place}.id", device.id, f"the name of a {kind}")
    if platform == "cpu":
        yield from _environment(bundle)
        for run in measured_runs(bundle):
            yield from _run(run)


def _environment(bundle: Bundle) -> Iterator[Finding]:
    for name in _LIBRARIES:
        if name in bundle.environment.libraries:
            yield Finding(f"{ENVIRONMENT}: libraries.{name}", "a CUDA library", _NONE)
    platforms = bundle.environment.settings.get("JAX_PLATFORMS", "")
    if platforms and "cpu" not in platforms.split(","):
        yield Finding(f"{ENVIRONMENT}: settings.JAX_PLATFORMS", platforms, "cpu")


def _run(run: MeasuredRun) -> Iterator[Finding]:
    document = run.document
    if document.device.startswith("gpu-"):
        yield Finding(run.at("device"), document.device, "a CPU's name")
    executable, dispatch = document.executable, document.dispatch
    for place, found in (
        ("identity.cuda_uuid_hash", document.identity.cuda_uuid_hash),
        ("identity.nvml_uuid_hash", document.identity.nvml_uuid_hash),
        ("limits_before.power_enforced_mw", document.limits_before.power_enforced_mw),
        ("limits_after.power_enforced_mw", document.limits_after.power_enforced_mw),
        ("executable.autotune", executable.autotune),
        ("dispatch.candidates", dispatch.candidates or None),
    ):
        if found is not None:
            yield Finding(run.at(place), "a value", _NONE)
    for file in _TABLES:
        if file in run.evidence.tables:
            yield Finding(run.at("rows", file), "readings of a GPU", _NONE)
    trace = run.evidence.trace
    if trace is not None and trace.status == "ok":
        yield Finding(run.at("status", TRACE), "ok", "not_applicable on a CPU")
