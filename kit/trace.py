"""The raw series of a run: which tables there are, their columns, units, limits and rows.

Tables are integer-only CSV in base units. A column that the machine cannot supply is absent from
the whole file and its reason stands in `run.json`; a cell is never empty and never a stand-in.
All times count nanoseconds of CLOCK_MONOTONIC since the bundle's start.
"""

from bisect import bisect_left
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

WARM_UP, PROFILING = 0, 1


@dataclass(frozen=True, slots=True)
class Column:
    """One column: its name carries the unit. `optional` columns may be absent as a whole."""

    name: str
    description: str
    maximum: int
    optional: bool = False
    minimum: int = 0


@dataclass(frozen=True, slots=True)
class TableContract:
    """One kind of table: file name, columns in order, and the column that must not decrease."""

    file: str
    description: str
    columns: tuple[Column, ...]
    ordered_by: str
    strictly: bool = True


@dataclass(frozen=True, slots=True, eq=False)
class Table:
    """A table as read: `columns[name]` is an int64 vector, all of one length.

    Equal only to itself; `known` is for `kit.remembered`.
    """

    columns: dict[str, NDArray[np.int64]]
    known: dict[tuple[Any, ...], Any] = field(default_factory=dict, init=False, repr=False)

    def __len__(self) -> int:
        return len(next(iter(self.columns.values())))

    def __getitem__(self, name: str) -> NDArray[np.int64]:
        return self.columns[name]

    def __contains__(self, name: str) -> bool:
        return name in self.columns

    def rows(self, keep: NDArray[np.bool_] | slice) -> "Table":
        """The rows where `keep` is true, or those of a slice, which are not copied."""
        return Table({name: values[keep] for name, values in self.columns.items()})


def place_of(table: Table, t_ns: int) -> int:
    """Number of the first row of a sampled table whose burst began at `t_ns` or later."""
    # Unlike NumPy's search it takes any whole number, and for one it is as fast.
    return bisect_left(table["t_ns"].data, t_ns)


def rows_within(table: Table, start_ns: int, end_ns: int) -> slice:
    """Where the rows of a sampled table lie whose burst began in [start, end)."""
    first = place_of(table, start_ns)
    return slice(first, max(first, place_of(table, end_ns)))


_NS = 10**15
_BURST = (
    Column("t_ns", "when the burst of readings began", _NS),
    Column("burst_ns", "how long the burst of readings took", _NS),
)


def _optional(name: str, description: str, maximum: int) -> Column:
    return Column(name, description, maximum, optional=True)


WINDOWS = TableContract(
    "windows.csv",
    "every window of back-to-back launches, warm-up and profiling, in order",
    (
        Column("phase", "0 warm-up, 1 profiling", 1),
        Column("first_launch", "number of the window's first launch, counted from 0", 10**12),
        Column("launches", "GEMMs launched in the window", 10**9, minimum=1),
        Column("duration_ns", "device time from boundary to boundary", _NS, minimum=1),
        Column("enqueue_start_ns", "host time when the first launch was handed over", _NS),
        Column("enqueue_end_ns", "host time when the last launch was handed over", _NS),
    ),
    ordered_by="first_launch",
)
CLOCKS = TableContract(
    "clocks.csv",
    "clocks and clock event reasons of the device",
    (
        *_BURST,
        _optional("graphics_mhz", "graphics (GPC) clock", 10_000),
        _optional("sm_mhz", "SM clock", 10_000),
        _optional("memory_mhz", "memory clock", 50_000),
        _optional("event_reasons", "NVML clocks event reasons bit mask", 2**32 - 1),
    ),
    ordered_by="t_ns",
)
POWER = TableContract(
    "power.csv",
    "power, temperature and event-reason counters of the device",
    (
        *_BURST,
        _optional("power_instant_mw", "power draw now", 10**8),
        _optional("power_average_mw", "power draw averaged by the device over about 1 s", 10**8),
        _optional("gpu_c", "GPU temperature", 200),
        _optional("memory_c", "memory temperature", 200),
        _optional("sw_power_cap_ns", "time spent held by the power cap, counted up", 10**16 - 1),
        _optional("sync_boost_ns", "time spent held by sync boost, counted up", 10**16 - 1),
        _optional("sw_thermal_ns", "time spent in software thermal slowdown", 10**16 - 1),
        _optional("hw_thermal_ns", "time spent in hardware thermal slowdown", 10**16 - 1),
        _optional("hw_power_brake_ns", "time spent in power-brake slowdown", 10**16 - 1),
    ),
    ordered_by="t_ns",
)
POWER_COUNTERS_NS = tuple(
    column.name for column in POWER.columns if column.optional and column.name.endswith("_ns")
)
"""Columns of `POWER` that count up the time for which something held the clock."""
ENERGY = TableContract(
    "energy.csv",
    "the device's energy counter",
    (*_BURST, _optional("energy_mj", "energy used since the driver was loaded", 10**15)),
    ordered_by="t_ns",
)
HOST = TableContract(
    "host.csv",
    "what Linux offers about the host's processor",
    (
        *_BURST,
        _optional("cpu_mhz", "mean of the cores' current frequency", 20_000),
        _optional("cpu_c", "processor temperature", 200),
        _optional("package_energy_uj", "RAPL package energy, counted up", 10**15),
        _optional("busy_ms", "processor time used by all, counted up", 10**15),
        _optional("steal_ms", "processor time taken by the hypervisor, counted up", 10**15),
    ),
    ordered_by="t_ns",
)
BINS = 16
BUFFERS = TableContract(
    "buffers.csv",
    "every buffer of the rotation: where it lies and, for the inputs, what it holds",
    (
        Column("operand", "0 A, 1 B, 2 D, 3 scales of A, 4 scales of B; counted up", 4),
        Column("set", "rotation set, counted up within an operand", 10**6),
        Column("address_before", "start before the first launch, above the lowest buffer", 2**48),
        Column("address_after", "start after the last launch, above the same lowest buffer", 2**48),
        Column("zeros", "elements that are zero (0 for D)", 10**15),
        Column(
            "checksum",
            "the elements' bit patterns weighed by their place, mod 2^32 (0 for D)",
            2**32 - 1,
        ),
        *(
            Column(f"bin_{i}", f"elements from {i / 8 - 1:+} up to {(i + 1) / 8 - 1:+}", 10**15)
            for i in range(BINS)
        ),
    ),
    ordered_by="operand",
    strictly=False,
)
OUTPUTS = TableContract(
    "outputs.csv",
    "sampled elements of every output buffer after the last window, as raw bits",
    (
        Column("set", "rotation set of the output buffer", 10**6),
        Column("batch", "matrix within the batch", 10**9),
        Column("row", "row of the element", 10**9),
        Column("column", "column of the element", 10**9),
        Column("bits_high", "upper 32 bits of the element's bit pattern", 2**32 - 1),
        Column("bits_low", "lower 32 bits of the element's bit pattern", 2**32 - 1),
    ),
    ordered_by="set",
    strictly=False,
)
KERNELS = TableContract(
    "kernels.csv",
    "every kernel, copy and memset that the device ran while it was traced",
    (
        Column("name", "index into `names` of `trace.json`", 9_999),
        Column("start_ns", "device time of its start, above that of the first one", _NS),
        Column("duration_ns", "device time from its start to its end", _NS, minimum=1),
    ),
    ordered_by="start_ns",
    strictly=False,
)
TELEMETRY_TABLES = (CLOCKS, POWER, ENERGY, HOST)
TABLES = {table.file: table for table in (WINDOWS, *TELEMETRY_TABLES, BUFFERS, OUTPUTS, KERNELS)}
