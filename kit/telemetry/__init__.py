"""Who reads the machine: one module per source, found by its name.

A source looks once, on connecting, which columns of which tables this machine can supply. From
then on it reads exactly those. What it cannot supply is absent with a reason, never a stand-in.
"""

from collections.abc import Callable, Collection, Iterable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from importlib import import_module
from pkgutil import iter_modules
from typing import Protocol, cast

from kit.errors import UsageError
from kit.evidence import Limits, Metric, MetricStatus
from kit.system import DeviceAddress
from kit.trace import TELEMETRY_TABLES, TableContract

Reader = Callable[[], list[int]]


class BurstFailedError(Exception):
    """A column that had values before gave none, so that the whole burst is no row."""

    def __init__(self, status: MetricStatus, reason: str) -> None:
        super().__init__(reason)
        self.status: MetricStatus = status
        self.reason = reason


@dataclass(frozen=True, slots=True)
class Source:
    """A connected source.

    `metrics` tells of every column of every telemetry table whether it is read, in the tables'
    order. `readers` maps the file name of a table to a function that takes one burst of readings
    and returns the available columns in the table's order, without its two time columns.
    """

    metrics: tuple[Metric, ...]
    readers: dict[str, Reader]


class Member(Protocol):
    """What a module of this package offers to be a source."""

    TABLES: tuple[TableContract, ...]
    """Tables of which it may supply something. None means that there is nothing to sample."""

    def connect(self, device: DeviceAddress) -> AbstractContextManager[Source]:
        """Open the device and find out what it supplies.

        Raises:
            MeasurementError: it is not there, or the source's own library is not.
        """

    def limits(self, device: DeviceAddress, own_processes: Collection[int] = ()) -> Limits:
        """Settings that must not change under a run; never called inside a window."""


def sources() -> tuple[str, ...]:
    """Names of all sources: the modules of this package, but for packages such as `sampler`."""
    return tuple(module.name for module in iter_modules(__path__) if not module.ispkg)


def source(name: str) -> Member:
    """The source called `name`.

    Raises:
        UsageError: there is no such module here; a dotted name or a path never is one.
    """
    if name not in sources():
        known = ", ".join(sources())
        raise UsageError(f"telemetry source {name[:64]!r} is unknown", hint=f"known: {known}")
    return cast("Member", import_module(f"{__name__}.{name}"))


def complete(found: Iterable[Metric], source: str, reason: str) -> tuple[Metric, ...]:
    """`found` in the tables' order, and for every other column that `source` does not read why."""
    known = {(metric.table, metric.column): metric for metric in found}
    return tuple(
        known.get((table.file, column.name))
        or Metric(table.file, column.name, "not_supported", reason, source, "")
        for table in TELEMETRY_TABLES
        for column in table.columns
        if column.optional
    )
