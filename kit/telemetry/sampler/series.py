"""A series that one process writes and another reads meanwhile: a preallocated, mapped file.

The file is a head of eight int64 words and then rows of int64. A row counts only once the head's
row count includes it, so the reader never sees half a row and the writer never waits.
"""

import os
from dataclasses import dataclass
from pathlib import Path
from threading import Lock

import numpy as np

from kit.errors import MeasurementError
from kit.trace import Table

_HEAD = 8
_ROWS, _HEARTBEAT, _BURSTS, _OVERRUNS, _FAILED, _LOST = range(6)


def series_path(folder: Path, table: str) -> Path:
    """Where the growing series of a table lies; it is no CSV yet."""
    return folder / f"{Path(table).stem}.int64"


@dataclass(frozen=True, slots=True)
class Counters:
    """Rows in the file, time of the last sign of life, and how the schedule was kept."""

    rows: int
    heartbeat_ns: int
    bursts: int
    overruns: int
    failed: int
    lost: int


class SeriesWriter:
    """The writing end. One thread writes one series."""

    def __init__(self, path: Path, width: int, capacity: int) -> None:
        """Lay the file out and claim its space on disk now, so that no write can fail later.

        Raises:
            MeasurementError: the disk has no room for it.
        """
        size = 8 * (_HEAD + width * capacity)
        file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        try:
            os.posix_fallocate(file, 0, size)
        except OSError as error:
            raise MeasurementError(
                f"no room for a telemetry series of {size} bytes: {error.strerror}",
                hint="free disk space, or shorten the run's time limit",
            ) from None
        finally:
            os.close(file)
        words = np.memmap(path, dtype=np.int64, mode="r+")
        self._head, self._table = words[:_HEAD], words[_HEAD:].reshape(capacity, width)
        self._fence = Lock()

    def beat(self, now_ns: int) -> None:
        """Show that the series is alive."""
        self._head[_HEARTBEAT] = now_ns

    def append(self, row: list[int]) -> None:
        """Publish one burst; past the capacity it only counts as lost."""
        self._head[_BURSTS] += 1
        place = int(self._head[_ROWS])
        if place == len(self._table):
            self._head[_LOST] += 1
            return
        self._table[place] = row
        # On Arm stores may pass each other; taking and leaving a lock keeps row before count.
        with self._fence:
            pass
        self._head[_ROWS] = place + 1

    def fail(self) -> None:
        """Count a burst that gave no row."""
        self._head[_BURSTS] += 1
        self._head[_FAILED] += 1

    def overrun(self, missed: int) -> None:
        """Count deadlines that passed without a burst."""
        self._head[_OVERRUNS] += missed


class SeriesReader:
    """The reading end; reading does not disturb the writer."""

    def __init__(self, path: Path, columns: tuple[str, ...]) -> None:
        words = np.memmap(path, dtype=np.int64, mode="r")
        self._columns = columns
        self._head = words[:_HEAD]
        self._table = words[_HEAD:].reshape(-1, len(columns))
        self._fence = Lock()

    def counters(self) -> Counters:
        """The head as it stands now."""
        return Counters(*(int(word) for word in self._head[: _LOST + 1]))

    def table(self) -> Table:
        """A copy of all rows published so far."""
        count = int(self._head[_ROWS])
        with self._fence:
            rows = np.array(self._table[:count])
        return Table({name: rows[:, place].copy() for place, name in enumerate(self._columns)})
