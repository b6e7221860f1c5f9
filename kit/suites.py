"""What the shipped suites of several cases hold: `suites.csv`, for a reader without Hydra.

A test holds the table against the composed configuration.
"""

import csv
from collections.abc import Iterable
from functools import cache
from pathlib import Path

from kit.plan import RunPlan

_TABLE = Path(__file__).with_name("suites.csv")

Entry = tuple[str, str | None]
"""A workload's name, and its number format or None for the one that the plan chose."""


@cache
def suites() -> dict[str, tuple[Entry, ...]]:
    """Every suite's entries by its name."""
    found: dict[str, list[Entry]] = {}
    with _TABLE.open(newline="", encoding="utf-8") as file:
        for cells in csv.DictReader(file):
            entry = (cells["workload"], cells["number_format"] or None)
            found.setdefault(cells["suite"], []).append(entry)
    return {name: tuple(entries) for name, entries in found.items()}


def suite_of(overrides: Iterable[str]) -> str | None:
    """The last suite that the overrides name, whole; None where they also change its cases."""
    chosen = None
    for override in overrides:
        name, _, value = override.lstrip("+~").partition("=")
        if name == "suite":
            chosen = value
        elif "suite." in name:
            return None
    return chosen


def left_out(plan: RunPlan, suite: str) -> tuple[str, ...]:
    """What the plan lacks of a suite, as `workload` or `workload-format`; empty for others."""
    there = {(case.workload.name, case.number_format) for case in plan.cases}
    names = {name for name, _ in there}
    return tuple(
        name if number_format is None else f"{name}-{number_format}"
        for name, number_format in suites().get(suite, ())
        if ((name, number_format) not in there if number_format else name not in names)
    )
