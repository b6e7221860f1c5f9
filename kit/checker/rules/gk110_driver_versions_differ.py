"""The driver's version is not the one that its library and firmware belong to.

## What it checks
NVML's library has the version of the kernel's driver, behind the CUDA version's first number,
unless the host is WSL, where Windows has the driver. Firmware of the GPU's own processor (GSP) that
a whole device reports is of that version too.

## Why it matters
On Linux these are parts of one release: NVML refuses to start beside another driver, which loads
the firmware that came with it. Versions that differ were not read from one machine.

## How to fix
Measure again; nothing but a changed file does this.

## Clause
M26: results are reproducible with the software that they name.

## Example
Passes: driver 580.159.04, NVML 13.580.159.04, firmware 580.159.04.
Fails: driver 590.44.01 beside that NVML.
"""

from collections.abc import Iterator

from kit.bundle.layout import ENVIRONMENT
from kit.bundle.reader import Bundle
from kit.checker.rule import Finding, NotApplicable, Unproven, rule
from kit.checker.runs import only_on_gpu
from kit.ruleset import Ruleset

_WHOLE = ("none", "passthrough")
"""Kinds of virtualization under which a guest's own driver loads the firmware."""


@rule("GK110", "driver-versions-differ", clauses=("M26",), since="2026.1")
def check(bundle: Bundle, _rules: Ruleset) -> Iterator[Finding]:
    """Compare the parts of one release."""
    only_on_gpu(bundle, "a GPU's driver")
    environment = bundle.environment
    if "microsoft" in environment.kernel.lower():
        raise NotApplicable("under WSL the driver is that of Windows")
    driver = environment.libraries.get("nvidia_driver")
    library = environment.libraries.get("nvml")
    if driver is None or library is None:
        raise Unproven("the version of the driver or of NVML is missing")
    if library.partition(".")[2] != driver:
        required = f"the CUDA version's first number and {driver}, as nvidia_driver"
        yield Finding(f"{ENVIRONMENT}: libraries.nvml", library, required)
    for device in environment.devices:
        if device.virtualization in _WHOLE and device.gsp_version not in (None, driver):
            place = f"{ENVIRONMENT}: gsp_version of {device.id}"
            yield Finding(place, str(device.gsp_version), f"{driver}, as nvidia_driver")
