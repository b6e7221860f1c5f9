"""Integer CSV: a table's contract and columns to bytes, and hostile bytes back to columns.

Grammar: a header line with the contract's column names in order, optional ones present or not;
then at least one row. Cells are decimal digits without sign, leading zero or blank; commas between
cells, a line feed after each row, nothing else. A table without rows is not written: an absent
file says that there was nothing.
"""

from collections.abc import Mapping, Sequence
from contextlib import suppress

import numpy as np
from numpy.typing import NDArray

from kit.bundle.digits import parse_rows
from kit.bundle.foreign_text import shown
from kit.errors import BundleError
from kit.trace import Column, Table, TableContract

MAXIMUM_ROWS = 5_000_000
_HEADER_BYTES = 2048
_CELL_DIGITS = 16
_ROWS_AT_ONCE = 4096
_SHORT_BYTES, _TOGETHER = 2**16, 16
"""How long a table is that is read with others, and how many of them at once."""
_ZERO, _COMMA, _LINE_FEED = b"0,\n"

Bytes = NDArray[np.uint8]
Integers = NDArray[np.int64]
Source = tuple[TableContract, bytes, str]
"""A table's contract, its bytes, and its place in errors."""


def dump(contract: TableContract, columns: Mapping[str, NDArray[np.int64]]) -> bytes:
    """Return the table as CSV. `columns` holds int64 vectors of one length, in any order.

    Raises:
        BundleError: the columns break the contract; `load` would refuse the table.
    """
    place = contract.file
    order = _order(contract, list(columns), place)
    names = [column.name for column in order]
    if len({len(columns[name]) for name in names}) != 1:
        raise BundleError(f"{place}: columns differ in length")
    vectors = np.stack([np.asarray(columns[name], dtype=np.int64) for name in names])
    _check_values(contract, order, vectors, place)
    values = vectors.T
    row = ",".join(["%d"] * len(names)) + "\n"
    parts = [",".join(names) + "\n"]
    for start in range(0, len(values), _ROWS_AT_ONCE):
        block = values[start : start + _ROWS_AT_ONCE]
        parts.append(row * len(block) % tuple(block.ravel().tolist()))
    return "".join(parts).encode("ascii")


def load(contract: TableContract, data: bytes, place: str) -> Table:
    """Parse a table; `place` names the file in errors. Rows count from 1 below the header.

    Raises:
        BundleError: grammar or contract is broken; names file, row and column.
    """
    return _load([(contract, data, place)])[0]


def load_all(sources: Sequence[Source]) -> dict[str, Table]:
    """Parse tables, each given as to `load`, by their places; if any has a fault, none.

    Short ones are parsed together: each call of NumPy is dear, and a table takes about fifty.
    """
    short = [source for source in sources if len(source[1]) <= _SHORT_BYTES]
    batches = [short[at : at + _TOGETHER] for at in range(0, len(short), _TOGETHER)]
    batches += [[source] for source in sources if len(source[1]) > _SHORT_BYTES]
    tables: dict[str, Table] = {}
    with suppress(BundleError):
        for batch in batches:
            places = [place for _, _, place in batch]
            tables |= dict(zip(places, _load(batch), strict=True))
        return tables
    return {}


def _load(sources: Sequence[Source]) -> list[Table]:
    """Parse tables in one go. The fault of several may be that of any of them."""
    headers = [_header(*source) for source in sources]
    bodies = [
        memoryview(data)[begin:] for (_, data, _), (_, begin) in zip(sources, headers, strict=True)
    ]
    found = parse_rows(bodies, [len(columns) for columns, _ in headers], MAXIMUM_ROWS)
    if found is None:
        names = [column.name for column in headers[0][0]]
        raise _fault(np.frombuffer(bodies[0], np.uint8), names, sources[0][2])
    tables = []
    for (contract, _, place), (columns, _), vectors in zip(sources, headers, found, strict=True):
        _check_values(contract, columns, vectors, place)
        vectors.setflags(write=False)
        names = [column.name for column in columns]
        tables.append(Table(dict(zip(names, vectors, strict=True))))
    return tables


def _header(contract: TableContract, data: bytes, place: str) -> tuple[Sequence[Column], int]:
    """Return the columns that a table has, and where its rows begin."""
    end = data.find(b"\n", 0, _HEADER_BYTES)
    if end < 0:
        raise BundleError(f"{place}: has no header line")
    header = data[:end].decode("ascii", "backslashreplace").split(",")
    columns = _order(contract, header, place)
    names = [column.name for column in columns]
    if header != names:
        raise BundleError(f"{place}: header: columns must stand in the order {','.join(names)}")
    return columns, end + 1


def _order(contract: TableContract, found: list[str], place: str) -> Sequence[Column]:
    """Return the contract's columns that were found, in order."""
    known = [column.name for column in contract.columns]
    if found == known:
        return contract.columns
    for name in found:
        if name not in known:
            raise BundleError(f"{place}: header: {shown(name)} is not a column of this table")
    if len(set(found)) < len(found):
        raise BundleError(f"{place}: header: a column stands there twice")
    for column in contract.columns:
        if not column.optional and column.name not in found:
            raise BundleError(f"{place}: header: the column {column.name} is missing")
    return [column for column in contract.columns if column.name in found]


def _fault(body: Bytes, names: list[str], place: str) -> BundleError:
    """What is wrong with rows that are not sound: the first fault of one kind, and where it is."""
    if not body.size:
        return BundleError(f"{place}: has no rows")
    comma, line_feed = body == _COMMA, body == _LINE_FEED
    separator = body - np.uint8(_ZERO) > 9  # unsigned: everything but the ten digits
    foreign = separator ^ (comma | line_feed)
    if foreign.any():
        at = int(foreign.argmax())
        character = shown(body[at : at + 1].tobytes())
        return _cell_fault(
            body, at, names, place, f"holds {character}; only digits may stand there"
        )
    if not line_feed[-1]:
        return BundleError(f"{place}: the last line has no line feed")
    begins = np.concatenate([[True], separator[:-1]])
    empty = begins & separator
    if empty.any():
        return _cell_fault(body, int(empty.argmax()), names, place, "is empty")
    leading = (body[:-1] == _ZERO) & begins[:-1] & ~separator[1:]
    if leading.any():
        return _cell_fault(body, int(leading.argmax()), names, place, "has a leading zero")
    return _shape_fault(body, names, place)


def _shape_fault(body: Bytes, names: list[str], place: str) -> BundleError:
    row_ends = np.flatnonzero(body == _LINE_FEED)
    if len(row_ends) > MAXIMUM_ROWS:
        return BundleError(f"{place}: has {len(row_ends)} rows; {MAXIMUM_ROWS} are allowed")
    commas = np.searchsorted(np.flatnonzero(body == _COMMA), row_ends)
    widths = np.diff(commas, prepend=0) + 1
    ragged = widths != len(names)
    if ragged.any():
        row = int(ragged.argmax())
        return BundleError(f"{place}: row {row + 1}: has {widths[row]} cells, not {len(names)}")
    ends = np.flatnonzero(body - np.uint8(_ZERO) > 9)
    long = np.diff(ends, prepend=-1) - 1 > _CELL_DIGITS
    at = int(ends[long.argmax()])
    return _cell_fault(body, at, names, place, f"has more than {_CELL_DIGITS} digits")


def _cell_fault(body: Bytes, at: int, names: list[str], place: str, problem: str) -> BundleError:
    before = body[:at]
    line_feeds = np.flatnonzero(before == _LINE_FEED)
    start = int(line_feeds[-1]) + 1 if line_feeds.size else 0
    index = int(np.count_nonzero(before[start:] == _COMMA))
    column = names[index] if index < len(names) else f"number {index + 1}"
    return BundleError(f"{place}: row {line_feeds.size + 1}: column {column} {problem}")


def _check_values(
    contract: TableContract, columns: Sequence[Column], vectors: Integers, place: str
) -> None:
    """Hold columns, stacked as rows of `vectors`, against limits and order of the contract."""
    if not vectors.size:
        raise BundleError(f"{place}: has no rows")
    lowest, highest = vectors.min(axis=1).tolist(), vectors.max(axis=1).tolist()
    order = vectors[0]
    for vector, column, low, high in zip(vectors, columns, lowest, highest, strict=True):
        if low < column.minimum or high > column.maximum:
            row = int(((vector < column.minimum) | (vector > column.maximum)).argmax())
            raise BundleError(
                f"{place}: row {row + 1}: column {column.name} is {vector[row]}; "
                f"{column.minimum} to {column.maximum} are allowed"
            )
        if column.name == contract.ordered_by:
            order = vector
    wrong = order[1:] <= order[:-1] if contract.strictly else order[1:] < order[:-1]
    if wrong.any():
        demand = "increase" if contract.strictly else "not decrease"
        row = int(wrong.argmax()) + 2
        raise BundleError(f"{place}: row {row}: column {contract.ordered_by} must {demand}")
