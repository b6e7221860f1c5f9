"""Telemetry shows what no device can do.

## What it checks
Clocks stay below the device's maximum, temperatures between 1 and 125 °C. Counters of energy, time
and events never fall; one of nanoseconds may be read a step of its register early. Bursts of one
table follow each other. Under a load of more than two seconds the average power does not stand
still.

## Why it matters
A sentinel read as a number, a constant in place of a reading or a pasted series looks like
telemetry until it is asked for what is physically possible.

## How to fix
Measure again. If the device itself reports such values, its driver is at fault: say so in
`sw_notes`.

## Clause
M12 and M14: clock, power and temperature are monitored, not assumed.

## Example
Passes: an energy counter that grows by 69 J every 100 ms.
Fails: a graphics clock of 3000 MHz on a device whose maximum is 1980 MHz.
"""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from kit.bundle.reader import Bundle
from kit.checker.rule import Finding, NotApplicable, Unproven, rule
from kit.checker.runs import MeasuredRun, judge_runs
from kit.ruleset import Ruleset
from kit.timeline import window_edges, within
from kit.trace import (
    CLOCKS,
    ENERGY,
    HOST,
    POWER,
    POWER_COUNTERS_NS,
    TELEMETRY_TABLES,
    WINDOWS,
    Table,
)

_TEMPERATURES = ((POWER.file, "gpu_c"), (POWER.file, "memory_c"), (HOST.file, "cpu_c"))
_COUNTERS = (
    *((POWER.file, name) for name in POWER_COUNTERS_NS),
    (ENERGY.file, "energy_mj"),
    (HOST.file, "package_energy_uj"),
    (HOST.file, "busy_ms"),
    (HOST.file, "steal_ms"),
)
_NONE = np.empty(0, np.int64)


@rule("GK409", "telemetry-implausible", clauses=("M12", "M14"), since="2026.1")
def check(bundle: Bundle, rules: Ruleset) -> Iterator[Finding]:
    """Look for impossible values in every telemetry table."""
    is_gpu = bundle.plan.backend.platform == "cuda"
    if bundle.plan.telemetry.source == "none" and not is_gpu:
        raise NotApplicable("nothing was sampled")

    def judge(run: MeasuredRun) -> Iterator[Finding]:
        tables = run.evidence.tables
        if not any(contract.file in tables for contract in TELEMETRY_TABLES):
            raise Unproven("there is no telemetry table")
        yield from _clocks(run, rules)
        low, high = rules.temperature_least_c, rules.temperature_most_c
        for file, column in _TEMPERATURES:
            values = _column(tables, file, column)
            if len(values) and (values.min() < low or values.max() > high):
                place = run.at(f"column {column}", file)
                yield Finding(place, f"{values.min()} to {values.max()}", f"{low} to {high}")
        for file, column in _COUNTERS:
            values = _column(tables, file, column)
            steps = values[1:] - values[:-1]
            back = rules.counter_back_s * 1e9 if column.endswith("_ns") else 0
            if len(steps) and steps.min() < -back:
                place = run.at(f"row {int(np.argmax(steps < -back)) + 2}: {column}", file)
                yield Finding(place, "less than the row before", "a counter that never falls")
        yield from _bursts(run, rules)
        yield from _still(run, rules)

    yield from judge_runs(bundle, judge)


def _column(tables: dict[str, Table], file: str, column: str) -> NDArray[np.int64]:
    table = tables.get(file)
    return _NONE if table is None else table.columns.get(column, _NONE)


def _clocks(run: MeasuredRun, rules: Ruleset) -> Iterator[Finding]:
    if run.device is None:
        return
    graphics, memory = run.device.maximum_graphics_mhz, run.device.maximum_memory_mhz
    limits = (("graphics_mhz", graphics), ("sm_mhz", graphics), ("memory_mhz", memory))
    for column, limit in limits:
        values = _column(run.evidence.tables, CLOCKS.file, column)
        if limit is not None and len(values) and values.max() > limit + rules.clock_step_mhz:
            place = run.at(f"column {column}", CLOCKS.file)
            yield Finding(
                place, f"{values.max()} MHz", f"at most {limit} MHz, the device's maximum"
            )


def _bursts(run: MeasuredRun, rules: Ruleset) -> Iterator[Finding]:
    periods = run.sampling_periods_ns
    for contract in TELEMETRY_TABLES:
        table = run.evidence.tables.get(contract.file)
        if table is None:
            continue
        start_ns, end_ns = table["t_ns"], table["t_ns"] + table["burst_ns"]
        allowed_ns = rules.burst_overlap * periods.get(contract.file, 0)
        late = end_ns[:-1] > start_ns[1:] + allowed_ns
        if late.any():
            row = int(np.argmax(late))
            place = run.at(f"row {row + 1}: burst_ns", contract.file)
            yield Finding(place, f"ends at {end_ns[row]} ns", f"before {start_ns[row + 1]} ns")


def _still(run: MeasuredRun, rules: Ruleset) -> Iterator[Finding]:
    power, windows = run.evidence.tables.get(POWER.file), run.evidence.tables.get(WINDOWS.file)
    if power is None or windows is None or "power_average_mw" not in power:
        return
    edges = window_edges(run.document.timing, windows)
    load = within(power, int(edges[0]), int(edges[-1]))
    if len(load) <= rules.moving_power_samples:
        return
    if load["t_ns"][-1] - load["t_ns"][0] <= rules.moving_power_s * 1e9:
        return
    if load["power_average_mw"].min() == load["power_average_mw"].max():
        place = run.at("column power_average_mw under load", POWER.file)
        found = f"{load['power_average_mw'][0]} mW in all {len(load)} rows"
        yield Finding(place, found, "a reading that moves")
