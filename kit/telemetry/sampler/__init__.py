"""Samples a telemetry source in a process of its own while this one measures.

The process that measures holds Python's lock while it hands launches over, so a thread beside it
would lose samples. All times are CLOCK_MONOTONIC, which both processes share.
"""

import os
import shutil
import tempfile
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from time import monotonic_ns
from types import TracebackType
from typing import Self

import numpy as np

from kit.errors import MeasurementError, UsageError
from kit.evidence import Metric, SamplerHealth, TelemetryRecord
from kit.system import DeviceAddress
from kit.telemetry import source as member
from kit.telemetry.sampler.messages import Farewell, Job, SeriesPlace
from kit.telemetry.sampler.process import SamplerProcess
from kit.telemetry.sampler.series import SeriesReader, series_path
from kit.trace import Table

__all__ = ["Sampler"]

_STALE_NS = 2_000_000_000
_READY_S = 20.0


class Sampler:
    """A running sampler. Leaving the context, or `stop`, ends it.

    Start it from a thread that lives as long as the run: the kernel ends the sampler with it.
    """

    def __init__(
        self,
        source: str,
        metrics: tuple[Metric, ...],
        process: SamplerProcess | None = None,
        folder: Path = Path(),
    ) -> None:
        self.metrics = metrics
        """What is sampled and what is not, known from the start."""
        self._source = source
        self._process = process
        self._folder = folder
        self._places: tuple[SeriesPlace, ...] = () if process is None else process.answer.series
        self._series = {
            place.file: SeriesReader(series_path(folder, place.file), place.columns)
            for place in self._places
        }
        self._kept: dict[str, Table] = {}
        self._record: TelemetryRecord | None = None

    @classmethod
    def start(  # noqa: PLR0913, PLR0917 - one sampler has that many settings
        cls,
        source: str,
        device: DeviceAddress,
        periods_ms: Mapping[str, int],
        capacity_s: float,
        base_ns: int,
        folder: Path,
        *,
        timeout_s: float = _READY_S,
    ) -> Self:
        """Start sampling and return once the first bursts are due.

        Args:
            source: name of a module of `kit.telemetry`.
            device: the GPU by PCI bus id and UUID; a host source takes no notice of it.
            periods_ms: period of every table the source may supply, by the table's file name.
            capacity_s: seconds that each series holds; later rows count as lost.
            base_ns: moment of CLOCK_MONOTONIC from which times in the tables count.
            folder: existing folder, below which the growing series lie until `stop`.
            timeout_s: how long to wait until the sampler is ready.

        Raises:
            UsageError: the source is unknown, or one of its tables has no period.
            MeasurementError: the device or its library is missing, or the sampler does not start.
        """
        module = member(source)
        if not module.TABLES:
            with module.connect(device) as connected:
                return cls(source, connected.metrics)
        for table in module.TABLES:
            if periods_ms.get(table.file, 0) <= 0:
                raise UsageError(f"telemetry: {table.file} has no sampling period")
        own = Path(tempfile.mkdtemp(prefix="telemetry-", dir=folder))
        job = Job(
            source=source,
            pci_bus_id=device.pci_bus_id,
            uuid=device.uuid,
            periods_ms=dict(periods_ms),
            capacity_s=capacity_s,
            base_ns=base_ns,
            folder=str(own),
            parent=os.getpid(),
        )
        try:
            process = SamplerProcess(job, timeout_s)
        except BaseException:
            shutil.rmtree(own, ignore_errors=True)
            raise
        return cls(source, process.answer.metrics, process, own)

    @property
    def pid(self) -> int | None:
        """Process id of the sampler; None where nothing is sampled."""
        return None if self._process is None else self._process.pid

    def read(self, table: str) -> Table:
        """All rows of a table so far; no rows if the source does not supply it.

        Raises:
            MeasurementError: the sampler has ended by itself.
        """
        if self._record is None and self._process is not None:
            ended = self._process.ended()
            if ended is not None:
                raise MeasurementError(ended, hint="the run has no telemetry; measure again")
        if table in self._kept:
            return self._kept[table]
        if table in self._series:
            return self._series[table].table()
        empty = np.zeros(0, np.int64)
        return Table({"t_ns": empty, "burst_ns": empty})

    def tables(self) -> dict[str, Table]:
        """Every table that is sampled, by file name, with all rows so far."""
        return {place.file: self.read(place.file) for place in self._places}

    def stop(self) -> TelemetryRecord:
        """End the sampler, keep its tables in memory and say how well it kept its schedule.

        A table whose every burst failed is dropped and its columns become errors; where only some
        failed, their metrics keep status `ok` and name the last failure as the reason.
        """
        if self._record is None:
            self._record = self._end()
        return self._record

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        _kind: type[BaseException] | None,
        _error: BaseException | None,
        _trace: TracebackType | None,
    ) -> None:
        self.stop()

    def _end(self) -> TelemetryRecord:
        if self._process is None:
            return TelemetryRecord(self._source, "none", self.metrics, ())
        ended = self._process.ended()
        blocked = {} if ended else self._blocked()
        farewell = self._process.stop() or Farewell({})
        reasons = dict(farewell.failures)
        health = []
        for place in self._places:
            counters = self._series[place.file].counters()
            since = blocked.get(place.file, 0)
            if ended or since:
                reasons[place.file] = ended or f"a reading blocked for {since / 1e9:.1f} s"
            # A burst that never came back is in no count of the sampler's own.
            broken = bool(ended or since)
            health.append(
                SamplerHealth(
                    table=place.file,
                    period_ns=place.period_ns,
                    bursts=counters.bursts + broken,
                    overruns=counters.overruns + since // place.period_ns,
                    failed=counters.failed + broken,
                    lost=counters.lost,
                )
            )
            table = self._series[place.file].table()
            if len(table):
                self._kept[place.file] = table
        self._places = tuple(place for place in self._places if place.file in self._kept)
        self._series = {}
        shutil.rmtree(self._folder, ignore_errors=True)
        metrics = tuple(self._outcome(metric, reasons) for metric in self.metrics)
        return TelemetryRecord(self._source, "spawned", metrics, tuple(health))

    def _outcome(self, metric: Metric, reasons: dict[str, str]) -> Metric:
        if metric.status != "ok" or metric.table not in reasons:
            return metric
        if metric.table not in self._kept:
            return replace(metric, status="error", reason=reasons[metric.table])
        return replace(metric, reason=f"some bursts failed, the last with: {reasons[metric.table]}")

    def _blocked(self) -> dict[str, int]:
        """Tables without a sign of life for over 2 s beyond their period, and for how many ns."""
        now = monotonic_ns()
        silent = {
            place.file: now - self._series[place.file].counters().heartbeat_ns
            for place in self._places
        }
        return {
            place.file: silent[place.file]
            for place in self._places
            if silent[place.file] > place.period_ns + _STALE_NS
        }
