"""What hardware counters say about a case's launches: bytes, hit rates and utilisation per GEMM.

`DeviceCounters` is one document of a bundle. The counters come from a rerun of the case under a
profiler, never from the timed run. Bytes read from DRAM prove that the cache was cold: a GEMM that
reads at least its A and B from DRAM found neither in the cache.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median
from typing import Literal

from kit.plan import CounterTool, DispatchMode

CounterStatus = Literal["ok", "not_available", "no_permission", "failed"]
CountingStatus = Literal["ok", "not_asked", "not_applicable", "no_tool", "no_permission", "failed"]

DRAM_READ = "dram__bytes_read.sum"
DRAM_WRITE = "dram__bytes_write.sum"
L2_BYTES = "lts__t_bytes.sum"
L2_HIT_RATE = "lts__t_sector_hit_rate.pct"
DRAM_UTILISATION = "dram__throughput.avg.pct_of_peak_sustained_elapsed"
L2_UTILISATION = "lts__throughput.avg.pct_of_peak_sustained_elapsed"
SM_UTILISATION = "sm__throughput.avg.pct_of_peak_sustained_elapsed"
SM_ACTIVE = "sm__cycles_active.avg.pct_of_peak_sustained_elapsed"
MULTICAST = "multicast"
"""Stands for the first counter with that word in its name; not every GPU has one."""

BYTES = "byte"
MILLIPERCENT = "0.001 %"
"""Units of `Counter`. Percentages are whole thousandths, so that documents hold integers."""


@dataclass(frozen=True, slots=True)
class Counter:
    """One counter: its values, or the reason why it has none.

    A value covers `launches_per_value` GEMMs: bytes are their sum, percentages their mean. `sets`
    are the rotation sets that each value's first launch used. `passes` says how often each kernel
    was replayed for it: more than once, and all but the first found a warm cache. `samples` counts
    hardware readings. `kernels` are the kernels of one GEMM, empty where the tool names none.
    """

    name: str
    unit: str
    status: CounterStatus
    reason: str
    passes: int
    launches_per_value: int
    samples: int
    kernels: tuple[str, ...]
    sets: tuple[int, ...]
    values: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class DeviceCounters:
    """The counters of one case on one device, or why there are none.

    `mode` is the dispatch mode of the rerun and `rotation_sets` its number of buffer sets; both
    are null where nothing was rerun.
    """

    case: str
    device: str
    tool: CounterTool
    version: str | None
    status: CountingStatus
    reason: str
    mode: DispatchMode | None
    rotation_sets: int | None
    counters: tuple[Counter, ...]

    def counter(self, name: str) -> Counter | None:
        """The counter of that name, if it has values."""
        for counter in self.counters:
            if counter.name == name and counter.status == "ok" and counter.values:
                return counter
        return None


def without(name: str, unit: str, status: CounterStatus, reason: str) -> Counter:
    """A counter that has no values."""
    return Counter(name, unit, status, reason, 0, 0, 0, (), (), ())


def bytes_per_launch(counter: Counter) -> tuple[float, ...]:
    """Bytes of one GEMM by each value."""
    return tuple(value / max(1, counter.launches_per_value) for value in counter.values)


def dram_read_ratio(found: Sequence[DeviceCounters], input_bytes: int) -> float | None:
    """Bytes read from DRAM per GEMM over the bytes of A and B: the devices' median of medians.

    Null where no device counted them. At least 1 where the cache was cold, and more where a
    kernel reads an operand several times.
    """
    counters = (entry.counter(DRAM_READ) for entry in found)
    medians = [median(bytes_per_launch(counter)) for counter in counters if counter]
    return median(medians) / input_bytes if medians else None
