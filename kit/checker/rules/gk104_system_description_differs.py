"""The declared system is not the measured one.

## What it checks
On a GPU, the declared accelerator's name holds the name that every measured GPU gives itself, its
memory is within the edition's margin of theirs, and no more GPUs were measured than a node is said
to have. Framework, operating system, processor, cores and host memory are those that were measured.

## Why it matters
Readers compare systems by their description. It must describe what ran.

## How to fix
Correct the declaration in the plan, and measure again.

## Clause
M26: results are consistent across devices and software, so both must be named rightly.

## Example
Passes: declared `NVIDIA H200 SXM 141GB`, measured `NVIDIA H200`.
Fails: declared `NVIDIA H100`, measured `NVIDIA H200`.
"""

import re
from collections.abc import Iterator

from kit.bundle.layout import ENVIRONMENT, SYSTEM
from kit.bundle.reader import Bundle
from kit.checker.rule import Finding, rule
from kit.ruleset import Ruleset


@rule("GK104", "system-description-differs", clauses=("M26",), since="2026.1")
def check(bundle: Bundle, rules: Ruleset) -> Iterator[Finding]:
    """Compare the declaration with the environment, field by field."""
    system, environment = bundle.system, bundle.environment
    if bundle.plan.backend.platform == "cuda":
        yield from _accelerators(bundle, rules)
    jax = environment.packages.get("jax", "")
    if jax not in re.split(r"[\s,;()=]+", system.framework):
        required = f"a text with jax {jax}, as in {ENVIRONMENT}"
        yield Finding(f"{SYSTEM}: framework", system.framework, required)
    if system.operating_system != environment.operating_system:
        required = f"{environment.operating_system}, as in {ENVIRONMENT}"
        yield Finding(f"{SYSTEM}: operating_system", system.operating_system, required)
    for name, declared, measured in (
        ("host_processor_model_name", system.host_processor_model_name, environment.cpu_model),
        (
            "host_processor_core_count",
            system.host_processor_core_count,
            environment.cpu_logical_cores,
        ),
        (
            "host_memory_capacity_bytes",
            system.host_memory_capacity_bytes,
            environment.memory_bytes,
        ),
    ):
        if declared is not None and declared != measured:
            yield Finding(f"{SYSTEM}: {name}", str(declared), f"{measured}, as in {ENVIRONMENT}")


def _accelerators(bundle: Bundle, rules: Ruleset) -> Iterator[Finding]:
    system, devices = bundle.system, bundle.environment.devices
    declared = system.accelerator_model_name
    for name in sorted({device.name for device in devices}):
        if declared is None or name.lower() not in declared.lower():
            found = declared or "not declared"
            yield Finding(f"{SYSTEM}: accelerator_model_name", found, f"a name with {name} in it")
    capacity = system.accelerator_memory_capacity_bytes
    for size in sorted({device.memory_bytes for device in devices}):
        margin = rules.declared_memory_difference
        if capacity is None or abs(capacity - size) > margin * size:
            found = "not declared" if capacity is None else f"{capacity} bytes"
            place = f"{SYSTEM}: accelerator_memory_capacity_bytes"
            yield Finding(place, found, f"{size} within {margin:.0%}")
    measured, nodes = len({device.id for device in devices}), system.accelerators_per_node
    if measured > nodes:
        yield Finding(f"{SYSTEM}: accelerators_per_node", str(nodes), f"at least {measured}")
