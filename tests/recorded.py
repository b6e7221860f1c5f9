"""Recorded H200 tests (`tests/data/h200`) as tables of the kit, on their own time line."""

import json
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

import numpy as np

from kit.trace import CLOCKS, ENERGY, POWER, Table

FOLDER = Path(__file__).with_name("data") / "h200"
CLOCK_EVERY, POWER_EVERY, ENERGY_EVERY = 1, 3, 10
"""Rows kept for each table: the recording read everything at 50 Hz, energy in every second row."""

_COUNTERS = ("sync_boost_ns", "sw_thermal_ns", "hw_thermal_ns", "hw_power_brake_ns")
_QUICK_BURST_NS = 250_000
"""Longest burst of a row that read no energy; an energy reading takes milliseconds more."""


@dataclass(frozen=True, slots=True)
class Recording:
    """One recorded test: its tables by file name, marks in ns, windows as (launches, ns)."""

    tables: dict[str, Table]
    marks: dict[str, int]
    warm_launches: int
    windows: tuple[tuple[int, int], ...]

    @property
    def profiling_ns(self) -> int:
        """Device time of the recorded windows."""
        return sum(duration for _, duration in self.windows)


@cache
def recording(name: str) -> Recording:
    """Read `<name>.csv` and `<name>.json`."""
    document = json.loads((FOLDER / f"{name}.json").read_text())
    return Recording(
        tables=tables(name),
        marks=document["marks"],
        warm_launches=document["warm_launches"],
        windows=tuple((int(n), round(us * 1000)) for n, us in document["windows"]),
    )


@cache
def tables(name: str) -> dict[str, Table]:
    """Clocks, power and energy of one recording, with the columns that it holds."""
    path = FOLDER / f"{name}.csv"
    header = path.read_text().splitlines()[0].split(",")
    raw = np.loadtxt(path, dtype=np.int64, delimiter=",", skiprows=1)
    columns = dict(zip(header, raw.T, strict=True))
    burst = columns.get("burst_ns", columns.get("sample_cost_ns"))
    columns["burst_ns"] = np.minimum(burst, _QUICK_BURST_NS)
    columns.setdefault("graphics_mhz", columns["sm_mhz"])
    if "sw_power_cap_counter" in columns:
        columns["sw_power_cap_ns"] = columns.pop("sw_power_cap_counter")
    # The counters that the recording left out were read as 0 on the same part.
    columns |= {name: np.zeros_like(burst) for name in _COUNTERS}
    found = {
        contract.file: _table(columns, contract, every)
        for contract, every in ((CLOCKS, CLOCK_EVERY), (POWER, POWER_EVERY))
    }
    if "energy_mj" in columns:
        found[ENERGY.file] = _table(columns | {"burst_ns": burst}, ENERGY, ENERGY_EVERY)
    return found


def prolonged(recorded: Recording, by_ns: int) -> Recording:
    """The recording with the last `by_ns` under load once more behind it, cool-down after that.

    The kit takes its host slope there, for which these recordings were made too early.
    """
    cool_ns = recorded.marks["cool"]
    marks = recorded.marks | {name: recorded.marks[name] + by_ns for name in ("cool", "end")}
    longer = {file: _prolonged(table, cool_ns, by_ns) for file, table in recorded.tables.items()}
    return replace(recorded, tables=longer, marks=marks)


def _prolonged(table, cool_ns, by_ns):
    t_ns = table["t_ns"]
    first, cool = np.searchsorted(t_ns, [cool_ns - by_ns, cool_ns])
    rows = np.concatenate([np.arange(cool), np.arange(first, len(t_ns))])
    columns = {name: values[rows] for name, values in table.columns.items()}
    for name, values in table.columns.items():
        if name == "t_ns":
            columns[name][cool:] += by_ns
        elif name == "energy_mj" or name in _COUNTERS or name == "sw_power_cap_ns":
            columns[name][cool:] += values[cool - 1] - values[first - 1]
    return Table(columns)


def _table(columns, contract, every):
    return Table(
        {
            column.name: columns[column.name][::every]
            for column in contract.columns
            if column.name in columns
        }
    )
