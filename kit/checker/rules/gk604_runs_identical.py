"""Two runs hold the same measured series.

## What it checks
No two measured runs of the bundle share, value for value, the durations of their windows, the
starts of their traced kernels, or a power or clock series of more than 20 readings that moves. Of
the ups and downs of windows, clock, power and its average, no two of one case move alike in both
runs: two series that correlate by more than the edition's figure at the same shift, of seconds
either way, are too many. Where both runs are about as much like themselves, half a second or five
windows later or more, only what agrees nearly wholly counts. No two runs, of whatever cases, share
a stretch of 16 steps of power, and no run repeats a stretch of its own windows.

## Why it matters
Nanoseconds and milliwatts of two real runs never agree throughout. Equal series mean that one run
was copied to pass for a replicate; noise on top of a copy leaves its ups and downs in place.

## How to fix
Measure each replicate; the kit does so by itself.

## Clause
M26: replicates show how reproducible a result is only if they are measurements.

## Example
Passes: two runs whose windows differ in the last digits.
Fails: run 3 with the windows of run 1; or with its clock and power and some noise; or twenty
windows that stand in profiling twice.
"""

from collections.abc import Iterator

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from kit.bundle.reader import Bundle, RunEvidence
from kit.checker.likeness import likenesses
from kit.checker.rule import Finding, rule
from kit.checker.stretches import column_digests
from kit.ruleset import Ruleset
from kit.trace import CLOCKS, KERNELS, POWER, WINDOWS

_LOOKED_AT = 100
_SERIES = (
    (CLOCKS.file, "graphics_mhz"),
    (CLOCKS.file, "sm_mhz"),
    (POWER.file, "power_instant_mw"),
    (POWER.file, "power_average_mw"),
    (KERNELS.file, "start_ns"),
)


@rule("GK604", "runs-identical", clauses=("M26",), since="2026.1")
def check(bundle: Bundle, rules: Ruleset) -> Iterator[Finding]:
    """Look every series up among those of the runs before, and compare a case's runs in shape."""
    seen: dict[tuple[str, str, bytes], str] = {}
    for case in bundle.cases.values():
        for run in case.runs:
            for file, column, content in _series(run, rules):
                first = seen.setdefault((file, column, content), run.path)
                if first != run.path:
                    found = f"{column} is that of {first}"
                    yield Finding(f"{run.path}/{file}", found, "a series of its own")

    yield from _stretches(bundle, rules)
    for case in bundle.cases.values():
        for like in likenesses(case.runs, rules):
            alike = " and ".join(like.series)
            found = f"{alike} move as in {like.first}, correlated by {like.correlation:.2f}"
            yield Finding(like.later, found, "ups and downs of its own")


def _stretches(bundle: Bundle, rules: Ruleset) -> Iterator[Finding]:
    """Parts of one run's power in another's, and of a run's windows in itself."""
    seen: dict[str, str] = {}
    for case in bundle.cases.values():
        for run in case.runs:
            windows = run.tables.get(WINDOWS.file)
            if windows is not None and _repeats(windows["duration_ns"], rules):
                found = f"{rules.repeated_windows} durations in a row stand there twice"
                yield Finding(f"{run.path}/{WINDOWS.file}: duration_ns", found, "new ones")
            power = run.tables.get(POWER.file)
            for column in ("power_instant_mw", "power_average_mw"):
                if power is None or column not in power:
                    continue
                parts = column_digests(power, column)[1:]
                first = {seen[part] for part in parts if part in seen}
                if first:
                    found = f"{column} has a stretch of {', '.join(sorted(first))}"
                    yield Finding(f"{run.path}/{POWER.file}", found, "a series of its own")
                seen |= dict.fromkeys(parts, run.path)


def _repeats(values: NDArray[np.int64], rules: Ruleset) -> bool:
    # Each of a repeated stretch's values stands there twice.
    if len(values) - len(set(values.tolist())) < rules.repeated_windows:
        return False
    rows = sliding_window_view(values, rules.repeated_windows)
    ordered = rows[np.lexsort(rows.T)]
    twice = ordered[1:][np.all(ordered[1:] == ordered[:-1], axis=1)]
    return any(len(set(row.tolist())) >= rules.copied_windows for row in twice[:_LOOKED_AT])


def _series(run: RunEvidence, rules: Ruleset) -> Iterator[tuple[str, str, bytes]]:
    windows = run.tables.get(WINDOWS.file)
    if windows is not None and len(windows) >= rules.copied_windows:
        yield WINDOWS.file, "duration_ns", windows["duration_ns"].tobytes()
    for file, column in _SERIES:
        table = run.tables.get(file)
        if table is not None and column in table and _tells(table[column], rules):
            yield file, column, table[column].tobytes()


def _tells(values: NDArray[np.int64], rules: Ruleset) -> bool:
    if len(values) < rules.copied_readings:
        return False
    some = values[:: 1 + len(values) // _LOOKED_AT]
    if len(set(some.tolist())) >= rules.copied_values:
        return True
    for _ in range(rules.copied_values - 1):
        values = values[values != values[0]]
        if not len(values):
            return False
    return True
