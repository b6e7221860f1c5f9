"""No value that a bundle may hold makes a rule crash: one number at a time, to its extremes."""

import dataclasses

import numpy as np
import pytest

from bundles import (
    DECODE,
    PLAIN,
    codes,
    honest_cpu,
    honest_gpu,
    with_column,
    with_environment,
    with_field,
    with_fields,
    with_plan,
    with_run,
)
from kit.trace import TABLES

HONEST = [(honest_gpu, DECODE), (honest_cpu, PLAIN)]
LARGEST = 10**15


def numbers(record, path=""):
    """Dotted paths of all whole numbers, nullable ones included, below a record."""
    for entry in dataclasses.fields(record):
        value = getattr(record, entry.name)
        where = f"{path}{entry.name}"
        if dataclasses.is_dataclass(value):
            yield from numbers(value, f"{where}.")
        elif isinstance(value, int) and not isinstance(value, bool):
            yield where


def crashed(bundle):
    return {code for code, outcome in codes(bundle).items() if outcome == "error"}


@pytest.mark.parametrize(("honest", "case"), HONEST)
def test_numbers_of_a_run(honest, case):
    document = honest().cases[case].runs[0].document
    paths = [path for path in numbers(document) if path != "number"]
    assert len(paths) > 20
    for path in paths:
        most = 10**6 if path in ("rotation.sets", "executable.gemms_per_call") else LARGEST
        for value in (1, most):
            bundle = with_field(honest(), case, 1, path, value)
            assert not crashed(bundle), (path, value)


@pytest.mark.parametrize(("honest", "case"), HONEST)
@pytest.mark.parametrize("extreme", ["minimum", "maximum"])
def test_columns_of_tables(honest, case, extreme):
    tables = honest().cases[case].runs[0].tables
    for file, table in tables.items():
        for column in TABLES[file].columns:
            if column.name not in table:
                continue
            value = getattr(column, extreme)
            for where in (slice(None), slice(-1, None)):

                def change(values, value=value, where=where):
                    values[where] = value
                    return values

                bundle = with_column(honest(), case, 1, file, column.name, change)
                assert not crashed(bundle), (file, column.name, where)


@pytest.mark.parametrize(("honest", "case"), HONEST)
def test_tables_of_one_row(honest, case):
    for file in honest().cases[case].runs[0].tables:

        def first(run, file=file):
            table = run.tables[file]
            rows = table.rows(np.arange(len(table)) == 0)
            return dataclasses.replace(run, tables=run.tables | {file: rows})

        assert not crashed(with_run(honest(), case, 1, first)), file


@pytest.mark.parametrize(("honest", "case"), HONEST)
@pytest.mark.parametrize("size", [1, 2**31 - 1])
def test_sizes_of_a_workload(honest, case, size):
    for name in ("m", "n", "k", "batch"):
        cases = tuple(
            with_fields(planned, **{f"workload__{name}": size}) if planned.id == case else planned
            for planned in honest().plan.cases
        )
        assert not crashed(with_plan(honest(), cases=cases)), name


@pytest.mark.parametrize("honest", [honest_gpu, honest_cpu])
def test_facts_of_a_device(honest):
    device = honest().environment.devices[0]
    for entry in dataclasses.fields(device):
        nullable = "None" in str(entry.type)
        whole = "int" in str(entry.type)
        values = ([None] if nullable else []) + ([1, LARGEST] if whole else [])
        for value in values:
            bundle = with_environment(honest(), **{f"device__{entry.name}": value})
            assert not crashed(bundle), (entry.name, value)
