"""Where the windows lie on the host's time line, and so which telemetry belongs to which phase.

The host runs ahead of the device, so its marks do not bound device work. Device time is tied to
CLOCK_MONOTONIC at the two moments when the device was drained; every window edge follows from the
windows' own durations.
"""

import numpy as np
from numpy.typing import NDArray

from kit.evidence import TimingRecord
from kit.remembered import remembered
from kit.trace import PROFILING, WARM_UP, Table, place_of, rows_within


def window_edges(timing: TimingRecord, windows: Table) -> NDArray[np.int64]:
    """Host time in ns of every window boundary: one more than there are windows."""
    return _edges(windows, (timing.start.before_ns + timing.start.after_ns) // 2)


@remembered
def _edges(windows: Table, start_ns: int) -> NDArray[np.int64]:
    edges = np.zeros(len(windows) + 1, np.int64)
    np.cumsum(windows["duration_ns"], out=edges[1:])
    edges += start_ns
    edges.setflags(write=False)
    return edges


@remembered
def rows_of_phase(windows: Table, phase: int) -> Table:
    """The windows of one phase, `WARM_UP` or `PROFILING`."""
    places = np.flatnonzero(windows["phase"] == phase)
    if len(places) and places[-1] - places[0] == len(places) - 1:  # as they always should be
        return windows.rows(slice(int(places[0]), int(places[-1]) + 1))
    return windows.rows(windows["phase"] == phase)


def profiling_interval(timing: TimingRecord, windows: Table) -> tuple[int, int]:
    """Host times in ns at which the profiling windows begin and end.

    Raises:
        ValueError: there is no profiling window.
    """
    ends = _profiling_ends(windows)
    if ends is None:
        raise ValueError("no profiling window")
    start, end = window_edges(timing, windows)[list(ends)].tolist()
    return start, end


@remembered
def _profiling_ends(windows: Table) -> tuple[int, int] | None:
    """Which window edges profiling begins and ends at."""
    profiling = np.flatnonzero(windows["phase"] == PROFILING)
    return (int(profiling[0]), int(profiling[-1]) + 1) if len(profiling) else None


@remembered
def device_span_ns(windows: Table) -> int:
    """Device time of all windows together, exact whatever the table holds."""
    return sum(windows["duration_ns"].tolist())


@remembered
def launches_of(windows: Table) -> int:
    """Launches of all windows together, exact whatever the table holds."""
    return sum(windows["launches"].tolist())


def host_period_ns(windows: Table) -> float | None:
    """The host's estimate of one GEMM's period in ns over the warm-up; None without a warm-up.

    By it the kit plans profiling. The last calls may not have run yet, so that it falls short of
    the device's own.
    """
    warm = rows_of_phase(windows, WARM_UP)
    if not len(warm):
        return None
    spent_ns = int(warm["enqueue_end_ns"][-1] - warm["enqueue_start_ns"][0])
    return max(1, spent_ns) / launches_of(warm)


def mean_period_ns(windows: Table) -> float:
    """Device time of all windows over their launches; the table has a row or more."""
    return device_span_ns(windows) / launches_of(windows)


def host_lead_ns(timing: TimingRecord, windows: Table) -> NDArray[np.int64]:
    """How long before the device ended each window the host had handed over its last launch.

    Short where the device waited for the host. The device's timer and the host's clock
    may drift apart, so that both anchors hold the edges; off by no more than the anchors' widths.
    """
    edges = window_edges(timing, windows)
    span_ns = max(1, int(edges[-1] - edges[0]))
    drift = (anchored_span_ns(timing)[0] - span_ns) / span_ns
    drifted_ns = np.rint((edges[1:] - edges[0]) * drift).astype(np.int64)
    leads_ns: NDArray[np.int64] = edges[1:] + drifted_ns - windows["enqueue_end_ns"]
    return leads_ns


def lead_slack_ns(timing: TimingRecord, width_s: float) -> int:
    """How far a lead may be off: the anchors' widths, as far as each may explain anything."""
    return min(anchored_span_ns(timing)[1], 2 * round(width_s * 1e9))


def profiling_lead_ns(timing: TimingRecord, windows: Table, share: float = 0.5) -> float:
    """The host's lead that this share of the profiling windows keep below; there is one or more."""
    leads_ns = host_lead_ns(timing, windows)[windows["phase"] == PROFILING]
    return float(np.quantile(leads_ns, share))


def anchored_span_ns(timing: TimingRecord) -> tuple[int, int]:
    """Host time between the two drained moments, and how far both anchors together may be off."""
    start, end = timing.start, timing.end
    widths_ns = (start.after_ns - start.before_ns) + (end.after_ns - end.before_ns)
    between_ns = (end.before_ns + end.after_ns - start.before_ns - start.after_ns) // 2
    return between_ns, widths_ns


@remembered
def within(table: Table, start_ns: int, end_ns: int) -> Table:
    """The rows of a sampled table whose burst began in [start, end)."""
    return table.rows(rows_within(table, start_ns, end_ns))


@remembered
def share_with(clocks: Table, mask: int) -> float:
    """Share of the samples in which one of these bits was set; 0 where there is no sample."""
    return np.count_nonzero(clocks["event_reasons"] & mask) / max(1, len(clocks))


def around(table: Table, start_ns: int, end_ns: int) -> Table:
    """Those rows, the last one before and the first one after: what counters grew by in between."""
    first = max(0, place_of(table, start_ns) - 1)
    return table.rows(slice(first, max(first, place_of(table, end_ns) + 1)))


def largest_gap_ns(table: Table, start_ns: int, end_ns: int) -> tuple[int, int]:
    """Longest stretch of [start, end] without a sample: its length and where it begins."""
    edges = np.concatenate([[start_ns], within(table, start_ns, end_ns)["t_ns"], [end_ns]])
    gaps = np.diff(edges)
    longest = int(np.argmax(gaps))
    return int(gaps[longest]), int(edges[longest])
