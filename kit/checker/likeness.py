"""Which runs of a case move alike? Ups and downs of their series, compared at shifts of seconds.

Noise that is added to a copied series leaves its changes correlated; those of two real runs, even
of one program on one device, are not. But a series that swings at a period of its own, as a power
register may, is like itself at other shifts, and then like any other run that swings so: such a
likeness counts only where it is greater than that.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from kit.bundle.reader import RunEvidence
from kit.ruleset import Ruleset
from kit.timeline import profiling_interval
from kit.trace import CLOCKS, POWER, PROFILING, WINDOWS, Table

_GRID_NS = 100_000_000
"""As often as a GPU's registers change: readings in between would repeat themselves."""
_FEWEST = 20
_MOST = 256
"""Changes compared, 25 s of readings: enough to tell runs apart, and a bound for many of them."""
_OWN_SHIFT = 5
"""Half a second, or five windows, later a run may be like itself. What is smooth is so at once."""
_AT_ONCE = 2**18
"""Numbers of one array while shifts are compared: all of a few runs together, one of hundreds."""
_WINDOWS = "duration_ns"
_POWER_COLUMNS = ("power_instant_mw", "power_average_mw")
_TELEMETRY = (
    (CLOCKS.file, "graphics_mhz"),
    *((POWER.file, column) for column in _POWER_COLUMNS),
)

_NAMES = (_WINDOWS, *(column for _, column in _TELEMETRY))

Matrix = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Likeness:
    """Two runs' folders, the two series most alike, and the lesser of their correlations."""

    first: str
    later: str
    series: tuple[str, str]
    correlation: float


def likenesses(runs: Sequence[RunEvidence], rules: Ruleset) -> Iterator[Likeness]:
    """Pairs of runs of which two series or more correlate beyond the limit at one shift.

    And by the edition's margin more than the two do with themselves, by the geometric mean, half a
    second or five windows apart or more; or nearly wholly. Shifts are whole steps of the grid (for
    windows, whole windows), up to the edition's seconds either way.
    """
    if len(runs) < 2:
        return
    changes = [_changes(run) for run in runs]
    if len(set[str]().union(*changes)) < 2:
        return
    series = [_stacked([found.get(name) for found in changes]) for name in _NAMES]
    shifts = np.arange(min(round(rules.run_lag_s * 1e9 / _GRID_NS) + 1, _MOST))
    limit = rules.run_correlation
    best, names = _most_alike(series, shifts, limit, np.full((len(series), 1, 1), -1.0))
    if np.any(best > limit):
        own = np.stack([_own_correlations(*entry, shifts[_OWN_SHIFT:]) for entry in series])
        swing = np.sqrt(own[:, :, np.newaxis] * own[:, np.newaxis])
        least = np.minimum(swing + rules.run_correlation_beyond_own, rules.run_correlation_certain)
        best, names = _most_alike(series, shifts, limit, least)
    for first, later in np.argwhere(best > limit).tolist():
        lesser, greater = (_NAMES[place] for place in names[first, later].tolist())
        pair = runs[first].path, runs[later].path
        yield Likeness(*pair, (greater, lesser), float(best[first, later]))


def _most_alike(
    series: Sequence[tuple[Matrix, NDArray[np.int64]]],
    shifts: NDArray[np.int64],
    limit: float,
    least: NDArray[np.float64],
) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    """The second greatest correlation of runs, and of which two series: [run, later run].

    -1 where it is no greater than `limit`. Those that are no greater than `least`, one for each
    series and pair, do not count.
    """
    runs = len(series[0][0])
    best = np.full((runs, runs), -1.0, np.float32)
    names = np.zeros((runs, runs, 2), np.int64)
    step = max(1, _AT_ONCE // (runs * max(runs, _MOST)))
    for start in range(0, len(shifts), step):
        some = shifts[start : start + step]
        found = np.stack([_correlations(*entry, some) for entry in series])
        found = np.where(found > least[:, :, np.newaxis], found, np.float32(-1))
        second = _second(*found)
        most = second.max(axis=1)
        rows, others = np.nonzero((most > best) & (most > limit))
        best[rows, others] = most[rows, others]
        at = second[rows, :, others].argmax(axis=1)
        names[rows, others] = np.argsort(found[:, rows, at, others], axis=0)[-2:].T
    # A run that is behind by a shift is one that is ahead by as much, seen from the other.
    turned = np.triu(best < best.T)
    best[turned], names[turned] = best.T[turned], names.transpose(1, 0, 2)[turned]
    best[np.tril_indices(runs)] = -1
    return best, names


def _second(a: Matrix, b: Matrix, c: Matrix, d: Matrix) -> Matrix:
    """The second largest of four, element by element."""
    lesser = np.maximum(np.minimum(a, b), np.minimum(c, d))
    return np.maximum(np.minimum(np.maximum(a, b), np.maximum(c, d)), lesser)


def _changes(run: RunEvidence) -> dict[str, NDArray[np.float64]]:
    """The first differences of the run's series over profiling, by name, as far as it has them."""
    windows = run.tables.get(WINDOWS.file)
    if windows is None or not np.any(windows["phase"] == PROFILING):
        return {}
    rows = windows.rows(windows["phase"] == PROFILING)
    found = {_WINDOWS: rows["duration_ns"] / rows["launches"]}
    start_ns, end_ns = profiling_interval(run.document.timing, windows)
    end_ns = min(end_ns, start_ns + (_MOST + 1) * _GRID_NS)
    for file, column in _TELEMETRY:
        table = run.tables.get(file)
        if table is not None and column in table and len(table) and end_ns > start_ns:
            found[column] = _sampled(table, column, np.arange(start_ns, end_ns, _GRID_NS))
    instant, average = (found.get(column) for column in _POWER_COLUMNS)
    if instant is not None and average is not None and np.array_equal(instant, average):
        del found["power_average_mw"]  # one register under both names is one series
    return {name: np.diff(values)[:_MOST] for name, values in found.items()}


def _sampled(table: Table, column: str, grid_ns: NDArray[np.int64]) -> NDArray[np.float64]:
    rows = np.searchsorted(table["t_ns"], grid_ns, side="right") - 1
    return table[column][np.clip(rows, 0, None)].astype(np.float64)


def _stacked(rows: Sequence[NDArray[np.float64] | None]) -> tuple[Matrix, NDArray[np.int64]]:
    """One row for each run, in units of its largest change, and how many values it has."""
    values = np.zeros((len(rows), _MOST), np.float32)
    lengths = np.zeros(len(rows), np.int64)
    for place, row in enumerate(rows):
        largest = 0.0 if row is None or not len(row) else float(np.abs(row).max())
        if row is not None and largest > 0:
            values[place, : len(row)] = row / largest
            lengths[place] = len(row)
    return values, lengths


def _correlations(
    values: Matrix, lengths: NDArray[np.int64], shifts: NDArray[np.int64]
) -> NDArray[np.float32]:
    """Of every run with every other one that is so much behind: [run, shift, other run].

    -1 where too little overlaps. Shifts follow one another. Changes have no mean to speak of: they
    add up to the difference of a series' ends.
    """
    squares = np.cumsum(np.square(values, dtype=np.float64), axis=1)
    sums = np.hstack([np.zeros((len(values), 1)), squares])
    left = np.clip(np.subtract.outer(lengths, shifts), 0, None)
    # The squares of what overlaps, of the one and of the other.
    ends = np.minimum(np.add.outer(shifts, lengths), _MOST)
    sizes = (sums[:, ends] - sums[:, shifts, None]) * sums[:, left].transpose(1, 2, 0)
    enough = (np.minimum(left[:, :, None], lengths) >= _FEWEST) & (sizes > 0)
    padded = np.hstack([values, np.zeros((len(values), shifts[-1]), np.float32)])
    ahead = sliding_window_view(padded, _MOST, axis=1)[:, shifts[0] :].reshape(-1, _MOST)
    found = (ahead @ values.T).reshape(sizes.shape) / np.sqrt(np.where(enough, sizes, 1))
    return np.where(enough, found, -1).astype(np.float32)


def _own_correlations(
    values: Matrix, lengths: NDArray[np.int64], shifts: NDArray[np.int64]
) -> NDArray[np.float64]:
    """The greatest of every run with itself, so much later: [run]. 0 if none is greater."""
    if not len(shifts):
        return np.zeros(len(values))
    alone = [slice(run, run + 1) for run in range(len(values))]
    greatest = [_correlations(values[run], lengths[run], shifts).max(initial=0) for run in alone]
    return np.array(greatest, np.float64)
