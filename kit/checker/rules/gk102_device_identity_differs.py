"""The GPU that computed is not the GPU that was watched.

## What it checks
For every run, the UUID and the PCI address that CUDA saw are those that NVML saw, and the device is
called by that UUID's hash.

## Why it matters
CUDA and NVML number GPUs in different orders. On a machine with several, power and clocks of an
idle neighbour look very good beside somebody else's throughput.

## How to fix
Unset CUDA_VISIBLE_DEVICES and CUDA_DEVICE_ORDER, choose devices by the plan, and measure again.

## Clause
M12: the GPC frequency that is monitored is that of the GPU that runs the GEMM.

## Example
Passes: CUDA's `0000:3b:00.0` and NVML's `00000000:3b:00.0`.
Fails: CUDA's `0000:3b:00.0` and NVML's `00000000:86:00.0`.
"""

from collections.abc import Iterator

from kit.bundle.reader import Bundle
from kit.checker.rule import Finding, Unproven, rule
from kit.checker.runs import MeasuredRun, judge_runs, only_on_gpu
from kit.ruleset import Ruleset


@rule("GK102", "device-identity-differs", clauses=("M12",), since="2026.1")
def check(bundle: Bundle, _rules: Ruleset) -> Iterator[Finding]:
    """Compare both views of every run's device."""
    only_on_gpu(bundle, "that CUDA and NVML mean the same device")
    yield from judge_runs(bundle, _run)


def _run(run: MeasuredRun) -> Iterator[Finding]:
    identity, device = run.document.identity, run.document.device
    pairs = (
        ("uuid_hash", identity.cuda_uuid_hash, identity.nvml_uuid_hash),
        ("pci_bus_id", identity.cuda_pci_bus_id, identity.nvml_pci_bus_id),
    )
    for name, cuda, nvml in pairs:
        if cuda is not None and nvml is not None and _plain(cuda) != _plain(nvml):
            yield Finding(run.at(f"identity.cuda_{name}"), cuda, f"{nvml}, as NVML says")
    uuid = identity.cuda_uuid_hash
    if uuid is not None and device != f"gpu-{uuid}":
        yield Finding(run.at("device"), device, f"gpu-{uuid}, by CUDA's UUID")
    for name, cuda, nvml in pairs:
        if cuda is None or nvml is None:
            raise Unproven(f"identity.cuda_{name} or identity.nvml_{name} is null")


def _plain(name: str) -> str:
    """A PCI address with its domain in eight digits, as NVML writes it; a hash stays as it is."""
    domain, colon, rest = name.lower().partition(":")
    return f"{domain:0>8}{colon}{rest}" if colon else name
