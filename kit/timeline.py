"""Where the windows lie on the host's time line, and so which telemetry belongs to which phase.

The host runs ahead of the device, so its marks do not bound device work. Device time is tied to
CLOCK_MONOTONIC at the two moments when the device was drained; every window edge follows from the
windows' own durations.
"""

import numpy as np
from numpy.typing import NDArray

from kit.evidence import TimingRecord
from kit.trace import PROFILING, Table


def window_edges(timing: TimingRecord, windows: Table) -> NDArray[np.int64]:
    """Host time in ns of every window boundary: one more than there are windows."""
    start = (timing.start.before_ns + timing.start.after_ns) // 2
    return start + np.concatenate([[0], np.cumsum(windows["duration_ns"])]).astype(np.int64)


def profiling_interval(timing: TimingRecord, windows: Table) -> tuple[int, int]:
    """Host times in ns at which the profiling windows begin and end.

    Raises:
        ValueError: there is no profiling window.
    """
    edges = window_edges(timing, windows)
    profiling = np.flatnonzero(windows["phase"] == PROFILING)
    if not len(profiling):
        raise ValueError("no profiling window")
    return int(edges[profiling[0]]), int(edges[profiling[-1] + 1])


def device_span_ns(windows: Table) -> int:
    """Device time of all windows together, exact whatever the table holds."""
    return sum(windows["duration_ns"].tolist())


def mean_period_ns(windows: Table) -> float:
    """Device time of all windows over their launches; the table has a row or more."""
    launches: int = sum(windows["launches"].tolist())
    return device_span_ns(windows) / launches


def host_lead_ns(timing: TimingRecord, windows: Table) -> NDArray[np.int64]:
    """How long before the device ended each window the host had handed over its last launch.

    Negative or short where the device waited for the host. Off by no more than the anchors' widths.
    """
    return window_edges(timing, windows)[1:] - windows["enqueue_end_ns"]


def anchored_span_ns(timing: TimingRecord) -> tuple[int, int]:
    """Host time between the two drained moments, and how far both anchors together may be off."""
    start, end = timing.start, timing.end
    widths_ns = (start.after_ns - start.before_ns) + (end.after_ns - end.before_ns)
    between_ns = (end.before_ns + end.after_ns - start.before_ns - start.after_ns) // 2
    return between_ns, widths_ns


def within(table: Table, start_ns: int, end_ns: int) -> Table:
    """The rows of a sampled table whose burst began in [start, end)."""
    return table.rows((table["t_ns"] >= start_ns) & (table["t_ns"] < end_ns))


def around(table: Table, start_ns: int, end_ns: int) -> Table:
    """Those rows, the last one before and the first one after: what counters grew by in between."""
    first = max(0, int(np.searchsorted(table["t_ns"], start_ns, side="left")) - 1)
    last = int(np.searchsorted(table["t_ns"], end_ns, side="left"))
    rows = np.arange(len(table))
    return table.rows((rows >= first) & (rows <= last))


def largest_gap_ns(table: Table, start_ns: int, end_ns: int) -> tuple[int, int]:
    """Longest stretch of [start, end] without a sample: its length and where it begins."""
    edges = np.concatenate([[start_ns], within(table, start_ns, end_ns)["t_ns"], [end_ns]])
    gaps = np.diff(edges)
    longest = int(np.argmax(gaps))
    return int(gaps[longest]), int(edges[longest])
