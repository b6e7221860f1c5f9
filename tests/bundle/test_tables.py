import re
import time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kit.bundle import tables
from kit.errors import BundleError
from kit.trace import BUFFERS, TABLES, Column, TableContract

CONTRACT = TableContract(
    "some.csv",
    "a table for tests",
    (
        Column("t_ns", "time", 10**16 - 1),
        Column("size", "from 1", 100, minimum=1),
        Column("extra", "may be absent", 2**32, optional=True),
    ),
    ordered_by="t_ns",
)
HEADER = b"t_ns,size,extra\n"


@given(st.data(), st.sampled_from(sorted(TABLES)))
def test_every_table_reads_back_as_written(data, file):
    contract = TABLES[file]
    rows = data.draw(st.integers(1, 5))
    columns = {}
    for column in contract.columns:
        if column.optional and data.draw(st.booleans()):
            continue
        cells = st.integers(column.minimum, column.maximum)
        unique = column.name == contract.ordered_by and contract.strictly
        values = data.draw(st.lists(cells, min_size=rows, max_size=rows, unique=unique))
        if column.name == contract.ordered_by:
            values.sort()
        columns[column.name] = np.array(values, dtype=np.int64)
    written = tables.dump(contract, columns)
    table = tables.load(contract, written, file)
    assert list(table.columns) == [c.name for c in contract.columns if c.name in columns]
    for name, values in columns.items():
        assert table[name].dtype == np.int64
        assert table[name].tolist() == values.tolist()
    assert tables.dump(contract, table.columns) == written


def test_written_form_follows_the_contract_whatever_the_order_given():
    columns = {"extra": np.array([0, 7]), "size": np.array([1, 100]), "t_ns": np.array([5, 6])}
    assert tables.dump(CONTRACT, columns) == HEADER + b"5,1,0\n6,100,7\n"
    del columns["extra"]
    assert tables.dump(CONTRACT, columns) == b"t_ns,size\n5,1\n6,100\n"


def test_columns_read_are_read_only():
    table = tables.load(CONTRACT, HEADER + b"1,2,3\n", "x")
    with pytest.raises(ValueError, match="read-only"):
        table["size"][0] = 5


REFUSED = {
    "no header": (b"", "has no header line"),
    "endless header": (b"t" * 5000 + b"\n", "has no header line"),
    "only a header": (HEADER, "has no rows"),
    "other header": (b"t_ns,weight\n1,2\n", "header: 'weight' is not a column of this table"),
    "reordered": (b"size,t_ns\n1,2\n", "header: columns must stand in the order t_ns,size"),
    "column missing": (b"t_ns,extra\n1,2\n", "header: the column size is missing"),
    "column twice": (b"t_ns,size,size\n1,2,3\n", "header: a column stands there twice"),
    "CR in header": (b"t_ns,size\r\n1,2\n", r"header: 'size\r' is not a column"),
    "BOM": (b"\xef\xbb\xbft_ns,size\n1,2\n", "is not a column of this table"),
    "quoted header": (b'"t_ns",size\n1,2\n', "is not a column of this table"),
    "blank in header": (b"t_ns, size\n1,2\n", "header: ' size' is not a column"),
    "float": (HEADER + b"1,2,3\n2,2.5,3\n", "row 2: column size holds '.'"),
    "exponent": (HEADER + b"1,1e3,3\n", "row 1: column size holds 'e'"),
    "plus": (HEADER + b"1,+5,3\n", "row 1: column size holds '+'"),
    "minus": (HEADER + b"1,5,-3\n", "row 1: column extra holds '-'"),
    "minus zero": (HEADER + b"-0,5,3\n", "row 1: column t_ns holds '-'"),
    "blank": (HEADER + b"1, 5,3\n", "row 1: column size holds ' '"),
    "tab": (HEADER + b"1,5\t,3\n", r"row 1: column size holds '\t'"),
    "leading zero": (HEADER + b"1,05,3\n", "row 1: column size has a leading zero"),
    "leading zero first": (HEADER + b"01,5,3\n", "row 1: column t_ns has a leading zero"),
    "leading zero last": (HEADER + b"1,5,00\n", "row 1: column extra has a leading zero"),
    "leading zero later": (HEADER + b"1,5,3\n02,5,3\n", "row 2: column t_ns has a leading zero"),
    "hexadecimal": (HEADER + b"1,0x10,3\n", "row 1: column size holds 'x'"),
    "nan": (HEADER + b"1,5,3\n2,nan,3\n", "row 2: column size holds 'n'"),
    "underscore": (HEADER + b"1_0,5,3\n", "row 1: column t_ns holds '_'"),
    "empty cell": (HEADER + b"1,,3\n", "row 1: column size is empty"),
    "empty first": (HEADER + b",5,3\n", "row 1: column t_ns is empty"),
    "empty last": (HEADER + b"1,5,\n", "row 1: column extra is empty"),
    "quotes": (HEADER + b'1,"5",3\n', "row 1: column size holds '\"'"),
    "comment": (HEADER + b"1,5,3\n#2,5,3\n", "row 2: column t_ns holds '#'"),
    "blank line": (HEADER + b"1,5,3\n\n2,5,3\n", "row 2: column t_ns is empty"),
    "blank line first": (HEADER + b"\n1,5,3\n", "row 1: column t_ns is empty"),
    "blank line last": (HEADER + b"1,5,3\n\n", "row 2: column t_ns is empty"),
    "CR": (HEADER + b"1,5,3\r\n", r"row 1: column extra holds '\r'"),
    "NUL": (HEADER + b"1,5,3\x00\n", r"row 1: column extra holds '\x00'"),
    "Arabic digit": (HEADER + "1,5,٣\n".encode(), "row 1: column extra holds"),
    "formula": (HEADER + b"1,5,=1+2\n", "row 1: column extra holds '='"),
    "no last line feed": (HEADER + b"1,5,3", "the last line has no line feed"),
    "short row": (HEADER + b"1,5,3\n2,5\n", "row 2: has 2 cells, not 3"),
    "long row": (HEADER + b"1,5,3\n2,5,3,4\n3,5,3\n", "row 2: has 4 cells, not 3"),
    "all rows long": (HEADER + b"1,5,3,4\n2,5,3,4\n", "row 1: has 4 cells, not 3"),
    "all rows short": (HEADER + b"1,5\n2,5\n", "row 1: has 2 cells, not 3"),
    "shifted cells": (HEADER + b"1,5\n2,5,3,4\n", "row 1: has 2 cells, not 3"),
    "17 digits": (HEADER + b"12345678901234567,5,3\n", "row 1: column t_ns is 12345678901234567"),
    "beyond int64": (HEADER + b"1,5,3\n2,9223372036854775808,3\n", "row 2: column size has more"),
    "largest int64": (
        HEADER + b"1,5,9223372036854775807\n",
        "column extra has more than 16 digits",
    ),
    "4000 digits": (HEADER + b"1,5," + b"9" * 4000 + b"\n", "column extra has more than 16 digits"),
    "too small": (HEADER + b"1,1,3\n2,0,3\n", "row 2: column size is 0; 1 to 100 are allowed"),
    "too large": (HEADER + b"1,101,3\n", "row 1: column size is 101; 1 to 100 are allowed"),
    "time stands": (HEADER + b"1,5,3\n1,5,3\n", "row 2: column t_ns must increase"),
    "time goes back": (HEADER + b"1,5,3\n3,5,3\n2,5,3\n", "row 3: column t_ns must increase"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused(name):
    data, problem = REFUSED[name]
    with pytest.raises(BundleError, match=re.escape(problem)) as caught:
        tables.load(CONTRACT, data, "runs/cpu-01/some.csv")
    message = str(caught.value)
    assert message.startswith("runs/cpu-01/some.csv: ")
    assert message.isascii()
    assert message.isprintable()
    assert len(message) < 300


def test_an_order_that_may_repeat_may_not_fall(sample):
    columns = dict(sample.tables[BUFFERS])
    assert len(tables.load(BUFFERS, tables.dump(BUFFERS, columns), "b.csv")) == 12
    columns["operand"] = columns["operand"][::-1]
    with pytest.raises(BundleError, match="row 5: column operand must not decrease"):
        tables.dump(BUFFERS, columns)


@pytest.mark.parametrize(
    ("columns", "problem"),
    [
        ({"t_ns": [1]}, "the column size is missing"),
        ({"t_ns": [1], "size": [1], "more": [1]}, "'more' is not a column"),
        ({"t_ns": [1, 2], "size": [1]}, "columns differ in length"),
        ({"t_ns": [], "size": []}, "has no rows"),
        ({"t_ns": [1], "size": [0]}, "row 1: column size is 0"),
        ({"t_ns": [2, 1], "size": [1, 1]}, "row 2: column t_ns must increase"),
    ],
)
def test_nothing_is_written_that_would_be_refused(columns, problem):
    vectors = {name: np.array(values, dtype=np.int64) for name, values in columns.items()}
    with pytest.raises(BundleError, match=re.escape(problem)):
        tables.dump(CONTRACT, vectors)


def test_too_many_rows_are_refused_before_they_are_parsed(monkeypatch):
    monkeypatch.setattr(tables, "MAXIMUM_ROWS", 3)
    assert len(tables.load(CONTRACT, HEADER + b"1,1,1\n2,1,1\n3,1,1\n", "x")) == 3
    with pytest.raises(BundleError, match="has 4 rows; 3 are allowed"):
        tables.load(CONTRACT, HEADER + b"1,1,1\n2,1,1\n3,1,1\n4,1,1\n", "x")


@given(st.text(st.sampled_from("0123456789,\n .-e"), max_size=40))
def test_whatever_is_accepted_is_plain_decimal(body):
    data = HEADER + body.encode()
    try:
        table = tables.load(CONTRACT, data, "x")
    except BundleError:
        return
    rows = [line.split(",") for line in body.splitlines()]
    assert [[str(int(cell)) for cell in row] for row in rows] == rows
    assert np.stack(list(table.columns.values()), axis=1).tolist() == [
        [int(cell) for cell in row] for row in rows
    ]


@given(st.binary(max_size=100))
def test_only_bundle_errors_come_out_of_bytes(body):
    for data in (body, HEADER + body):
        try:
            tables.load(CONTRACT, data, "x")
        except BundleError as error:
            assert str(error).startswith("x: ")  # noqa: PT017 - either outcome is right


WIDE = TableContract(
    "wide.csv",
    "columns of any number of digits",
    (
        Column("a", "", 10**18),
        Column("t_ns", "", 10**18),
        Column("digit", "", 9),
        Column("b", "", 10**18),
    ),
    ordered_by="t_ns",
    strictly=False,
)


def wide(rows, seed=0):
    """Numbers of every length at every place of a word, and their text."""
    draw = np.random.default_rng(seed)
    values = draw.integers(0, 10 ** draw.integers(1, 17, (rows, 4)))
    values[:, 1].sort()
    values[:, 2] %= 10
    lines = [",".join(map(str, row)) for row in values.tolist()]
    return values, ("a,t_ns,digit,b\n" + "\n".join(lines) + "\n").encode()


@pytest.mark.parametrize("rows", [1, 2, 7, 100, 4096, 4097, 40_000])
def test_numbers_of_every_length_at_every_place(rows):
    values, data = wide(rows)
    table = tables.load(WIDE, data, "x")
    assert np.array_equal(np.stack(list(table.columns.values()), axis=1), values)
    assert tables.dump(WIDE, table.columns) == data


def test_the_least_and_the_greatest_number_of_each_length():
    numbers = sorted({f(10**n) for n in range(1, 18) for f in (int, lambda power: power - 1)})
    for shift in range(8):
        rows = [(10**shift // 10, number, 0, number) for number in numbers]
        data = "a,t_ns,digit,b\n" + "".join(f"{a},{t},{d},{b}\n" for a, t, d, b in rows)
        table = tables.load(WIDE, data.encode(), "x")
        assert np.stack(list(table.columns.values()), axis=1).tolist() == [
            list(row) for row in rows
        ]


@pytest.mark.parametrize(
    "cell", [b"", b"01", b"00", b"1234567890123456789", b"9" * 30, b"1 ", b"-1"]
)
@pytest.mark.parametrize("rows", [3, 5000])
@pytest.mark.parametrize("column", range(4))
def test_a_broken_cell_is_found_wherever_it_stands(cell, rows, column):
    lines = wide(rows)[1].split(b"\n")
    for row in (1, rows // 2, rows):
        cells = lines[row].split(b",")
        cells[column] = cell
        broken = b"\n".join([*lines[:row], b",".join(cells), *lines[row + 1 :]])
        with pytest.raises(BundleError, match=f"row {row}: column {WIDE.columns[column].name} "):
            tables.load(WIDE, broken, "x")


@pytest.mark.parametrize("counts", [[1], [3, 1, 2], [20] * 40, [5000, 1, 9000], []])
def test_tables_read_together_are_those_read_alone(counts):
    sources = [(WIDE, wide(rows, seed)[1], f"{seed}.csv") for seed, rows in enumerate(counts)]
    sources += [(CONTRACT, HEADER + b"1,5,3\n", "other.csv")]
    together = tables.load_all(sources)
    assert set(together) == {place for _, _, place in sources}
    for contract, data, place in sources:
        alone = tables.load(contract, data, place)
        assert list(together[place].columns) == list(alone.columns)
        for name, vector in alone.columns.items():
            assert together[place][name].tolist() == vector.tolist()
            assert not together[place][name].flags.writeable


@pytest.mark.parametrize("name", REFUSED)
@pytest.mark.parametrize("at", [0, 1, 2])
def test_one_table_with_a_fault_and_none_is_read(name, at):
    sources = [(CONTRACT, HEADER + b"1,5,3\n", "a.csv"), (WIDE, wide(50)[1], "b.csv")]
    sources.insert(at, (CONTRACT, REFUSED[name][0], "bad.csv"))
    assert tables.load_all(sources) == {}


def test_a_million_cells_take_a_moment():
    rows = 200_000
    columns = {
        "t_ns": np.arange(rows, dtype=np.int64) * 10**9,
        "size": np.full(rows, 99, dtype=np.int64),
        "extra": np.arange(rows, dtype=np.int64),
    }
    data = tables.dump(CONTRACT, columns)
    started = time.monotonic()
    table = tables.load(CONTRACT, data, "x")
    assert time.monotonic() - started < 2  # about 0.05 s; a parser in Python would take longer
    assert len(table) == rows
