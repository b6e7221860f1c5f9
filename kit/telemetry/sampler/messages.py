"""What a sampler and its parent tell each other: one JSON document a line."""

from dataclasses import dataclass

from kit.evidence import Metric


@dataclass(frozen=True, slots=True)
class Job:
    """First line to the sampler. The end of its standard input is the order to stop.

    `periods_ms` maps table files to periods, `capacity_s` bounds each series, `base_ns` is the
    moment of CLOCK_MONOTONIC from which its times count, `folder` takes its files. The sampler
    ends with the process `parent`.
    """

    source: str
    pci_bus_id: str | None
    uuid: str | None
    periods_ms: dict[str, int]
    capacity_s: float
    base_ns: int
    folder: str
    parent: int


@dataclass(frozen=True, slots=True)
class SeriesPlace:
    """One series file: its columns in order, its period and how many rows it can hold."""

    file: str
    columns: tuple[str, ...]
    period_ns: int
    capacity: int


@dataclass(frozen=True, slots=True)
class Answer:
    """First line from the sampler: ready to sample, or the problem that stopped it."""

    problem: str | None
    hint: str
    metrics: tuple[Metric, ...]
    series: tuple[SeriesPlace, ...]


@dataclass(frozen=True, slots=True)
class Farewell:
    """Last line from the sampler: the last failure of every table that had one."""

    failures: dict[str, str]
