"""A bundle's traits, taken from its parsed evidence by the process that judges it."""

from collections.abc import Iterator
from datetime import datetime

import numpy as np
from numpy.typing import NDArray

from kit.bundle.reader import Bundle, RunEvidence
from kit.checker.stretches import column_digests, digests
from kit.checker.traits import Traits
from kit.evidence import DeviceFacts
from kit.records import to_json
from kit.trace import CLOCKS, KERNELS, POWER, WINDOWS

# Fewer values may agree by chance, and a clock that stands still or knows two levels says nothing.
_FEWEST_WINDOWS = 10
_FEWEST_READINGS = 64
_FEWEST_VALUES = 5
_LOOKED_AT = 1024
_EACH = 16
"""Of which one is looked at first."""
_MOST_KERNELS = 4096
_READINGS = (
    (POWER.file, "power_average_mw"),
    (POWER.file, "power_instant_mw"),
    (CLOCKS.file, "graphics_mhz"),
)
# What no driver, VBIOS or mode of the same part changes.
_SILICON = ("name", "compute_capability", "sm_count", "cache_bytes", "memory_bus_bits")
_NS = 10**9
_YEAR_2096 = 4 * 10**9


def traits(bundle: Bundle) -> Traits:
    """The traits of one bundle; a hostile one gives less, never an error."""
    system = {
        name: str(value) for name, value in to_json(bundle.system).items() if value is not None
    }
    runs = [run for case in bundle.cases.values() for run in case.runs]
    used = {run.document.device for run in runs}
    return Traits(
        submitter=bundle.plan.submission.submitter,
        system=system,
        devices={
            device.id: _silicon(device)
            for device in bundle.environment.devices
            if device.kind == "gpu" and not device.mig_enabled and device.id in used
        },
        busy=_busy(runs),
        series={place: " ".join(found) for run in runs for place, found in _series(run)},
    )


def _silicon(device: DeviceFacts) -> dict[str, str]:
    facts = {name: getattr(device, name) for name in _SILICON}
    return {name: str(value) for name, value in facts.items() if value is not None}


def _busy(runs: list[RunEvidence]) -> dict[str, tuple[int, ...]]:
    found: dict[str, tuple[int, ...]] = {}
    for run in runs:
        document = run.document
        if not document.device.startswith("gpu-"):
            continue
        try:
            start = int(datetime.fromisoformat(document.started_utc).timestamp())
        except (ValueError, OverflowError):
            continue
        if 0 <= start < _YEAR_2096:
            end = start + max(0, document.ended_ns - document.started_ns) // _NS
            found[document.device] = (*found.get(document.device, ()), start, end)
    return found


def _series(run: RunEvidence) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Place and digests of each telling series. Outputs are none: the plan's seed gives them."""
    windows, kernels = run.tables.get(WINDOWS.file), run.tables.get(KERNELS.file)
    if windows is not None and len(windows) >= _FEWEST_WINDOWS:
        yield f"{run.path}/{WINDOWS.file}: duration_ns", column_digests(windows, "duration_ns")
    for file, column in _READINGS:
        table = run.tables.get(file)
        if table is not None and column in table and _tells(table[column]):
            yield f"{run.path}/{file}: {column}", column_digests(table, column)
    if kernels is not None:
        periods = np.diff(kernels["start_ns"][:_MOST_KERNELS])
        if _tells(periods):
            yield f"{run.path}/{KERNELS.file}: start_ns", digests(periods)


def _tells(values: NDArray[np.int64]) -> bool:
    if len(values) < _FEWEST_READINGS:
        return False
    some = values[:_LOOKED_AT]
    # Nearly always a part of them shows enough values.
    return any(len(set(part.tolist())) >= _FEWEST_VALUES for part in (some[::_EACH], some))
