"""What one NVIDIA GPU says of its clocks, power, temperature and energy, through NVML."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from time import sleep
from typing import Any

from kit.evidence import Metric
from kit.system import DeviceAddress, limits
from kit.system.nvml import Refusal, attempt, device, session
from kit.system.nvml_fields import FieldValues
from kit.telemetry import BurstFailedError, Reader, Source, complete
from kit.trace import CLOCKS, ENERGY, POWER, Column, TableContract

__all__ = ["TABLES", "connect", "limits"]

TABLES = (CLOCKS, POWER, ENERGY)
_NOW = "the value now"
_COUNTER = "accumulated time in ns, counted up"
_CLOCK_DOMAINS = {
    "graphics_mhz": "NVML_CLOCK_GRAPHICS",
    "sm_mhz": "NVML_CLOCK_SM",
    "memory_mhz": "NVML_CLOCK_MEM",
}
# Averaging windows and update periods: Yang, Adamek, Armour, arXiv 2312.02741; on an H200 with
# driver 580 both power registers, and the energy counter, were seen to step about every 100 ms.
_POWER_INSTANT = "mean over about 25 ms (Hopper, A100) or 100 ms; new about every 100 ms"
_POWER_AVERAGE = "mean over about 1 s; new about every 100 ms"
_ENERGY = "counted up in steps about every 100 ms"
_FIELDS = {
    "power_instant_mw": ("NVML_FI_DEV_POWER_INSTANT", _POWER_INSTANT),
    "power_average_mw": ("NVML_FI_DEV_POWER_AVERAGE", _POWER_AVERAGE),
    "memory_c": ("NVML_FI_DEV_MEMORY_TEMP", _NOW),
    "sw_power_cap_ns": ("NVML_FI_DEV_CLOCKS_EVENT_REASON_SW_POWER_CAP", _COUNTER),
    "sync_boost_ns": ("NVML_FI_DEV_CLOCKS_EVENT_REASON_SYNC_BOOST", _COUNTER),
    "sw_thermal_ns": ("NVML_FI_DEV_CLOCKS_EVENT_REASON_SW_THERM_SLOWDOWN", _COUNTER),
    "hw_thermal_ns": ("NVML_FI_DEV_CLOCKS_EVENT_REASON_HW_THERM_SLOWDOWN", _COUNTER),
    "hw_power_brake_ns": ("NVML_FI_DEV_CLOCKS_EVENT_REASON_HW_POWER_BRAKE_SLOWDOWN", _COUNTER),
}
# A counter or a bit mask may be 0. A GPU at 0 W, 0 degrees or 0 MHz is one that did not answer.
_MAY_BE_ZERO = {"event_reasons", *(name for name, (_, how) in _FIELDS.items() if how is _COUNTER)}
_ATTEMPTS = 3
_PAUSE_S = 0.1


@dataclass(frozen=True, slots=True)
class _Reading:
    """How one column is read. `source` and `semantics` go into its metric."""

    column: Column
    get: Callable[[], list[int] | Refusal]
    source: str
    semantics: str

    def read(self) -> int:
        """The first candidate that is plausible for the column.

        Raises:
            BurstFailedError: NVML refuses, or reports as valid what cannot be.
        """
        values = self.get()
        if isinstance(values, Refusal):
            raise BurstFailedError(values.status, values.reason)
        may_be_zero = self.column.name in _MAY_BE_ZERO
        lowest = self.column.minimum if may_be_zero else max(self.column.minimum, 1)
        for value in values:
            if lowest <= value <= self.column.maximum:
                return value
        raise BurstFailedError("error", f"implausible: {values[0]} reported as valid")


@dataclass(frozen=True, slots=True)
class _Group:
    """The readings of one table; `prepare` takes what several of them share."""

    table: TableContract
    prepare: Callable[[], None]
    readings: tuple[_Reading, ...]


@contextmanager
def connect(address: DeviceAddress) -> Iterator[Source]:
    """Open the GPU at `address`, looked up by PCI bus id and by UUID, whichever are given.

    Raises:
        MeasurementError: NVML is missing, has no such GPU, or the two names are two GPUs.
    """
    with session() as nvml:
        handle = device(nvml, address)
        everything = {column.name for table in TABLES for column in table.columns}
        metrics = [
            metric for group in _groups(nvml, handle, everything) for metric in _probe(group)
        ]
        answering = {metric.column for metric in metrics if metric.status == "ok"}
        readers: dict[str, Reader] = {
            group.table.file: partial(_burst, group)
            for group in _groups(nvml, handle, answering)
            if group.readings
        }
        yield Source(complete(metrics, "nvml", "NVML reads the GPU, not the host"), readers)


def _burst(group: _Group) -> list[int]:
    group.prepare()
    return [reading.read() for reading in group.readings]


def _probe(group: _Group) -> list[Metric]:
    """Ask each column up to three times: a GPU polled too fast may refuse what it can supply."""
    found: dict[str, Metric] = {}
    waiting = group.readings
    for turn in range(_ATTEMPTS):
        if turn:
            sleep(_PAUSE_S)
        group.prepare()
        for reading in waiting:
            found[reading.column.name] = _try(group.table, reading)
        waiting = tuple(one for one in waiting if found[one.column.name].status != "ok")
        if not waiting:
            break
    return list(found.values())


def _try(table: TableContract, reading: _Reading) -> Metric:
    told = (reading.source, reading.semantics)
    try:
        reading.read()
    except BurstFailedError as error:
        return Metric(table.file, reading.column.name, error.status, error.reason, *told)
    return Metric(table.file, reading.column.name, "ok", "", *told)


def _groups(nvml: Any, handle: Any, wanted: set[str]) -> tuple[_Group, ...]:
    """The three tables with those of their readings whose columns are wanted."""
    fields = FieldValues(nvml, handle, [_FIELDS[name][0] for name in _FIELDS if name in wanted])
    return tuple(
        _Group(
            table,
            fields.refresh if table is POWER else _nothing_shared,
            tuple(
                _reading(nvml, handle, fields, column)
                for column in table.columns
                if column.optional and column.name in wanted
            ),
        )
        for table in TABLES
    )


def _nothing_shared() -> None:
    """Clocks and energy are one call for each column."""


def _reading(nvml: Any, handle: Any, fields: FieldValues, column: Column) -> _Reading:
    name = column.name
    if name in _FIELDS:
        field, semantics = _FIELDS[name]
        source = f"nvmlDeviceGetFieldValues {field} scope 0"
        return _Reading(column, partial(fields.candidates, field), source, semantics)
    calls: tuple[Callable[..., int], ...]
    arguments: tuple[int, ...] = ()
    semantics = _NOW
    if name in _CLOCK_DOMAINS:
        calls = (nvml.nvmlDeviceGetClockInfo,)
        arguments = (getattr(nvml, _CLOCK_DOMAINS[name]),)
    elif name == "event_reasons":
        calls = (nvml.nvmlDeviceGetCurrentClocksEventReasons,
                 nvml.nvmlDeviceGetCurrentClocksThrottleReasons)  # fmt: skip
    elif name == "gpu_c":
        calls = (nvml.nvmlDeviceGetTemperatureV, nvml.nvmlDeviceGetTemperature)
        arguments = (nvml.NVML_TEMPERATURE_GPU,)
    else:
        calls, semantics = (nvml.nvmlDeviceGetTotalEnergyConsumption,), _ENERGY
    call = _newest(nvml, calls, handle, arguments)
    source = " ".join([call.__name__, _CLOCK_DOMAINS.get(name, "")]).strip()
    return _Reading(column, partial(_one, nvml, call, handle, *arguments), source, semantics)


def _one(nvml: Any, call: Callable[..., int], *arguments: Any) -> list[int] | Refusal:
    value = attempt(nvml, call, *arguments)
    return value if isinstance(value, Refusal) else [value]


def _newest(
    nvml: Any, calls: tuple[Callable[..., int], ...], handle: Any, arguments: tuple[int, ...]
) -> Callable[..., int]:
    """The first call that driver and GPU know; the last one if they know none."""
    for call in calls[:-1]:
        found = attempt(nvml, call, handle, *arguments)
        if not isinstance(found, Refusal) or found.status != "not_supported":
            return call
    return calls[-1]
