"""Rows of decimal digits to columns of int64, those of many tables at once.

The eight bytes before the end of a cell are one 64-bit word, in which three multiplications make a
number of eight digits. With `np.fromstring`, which takes digit after digit, tables take two fifths
longer.
"""

from collections.abc import Sequence
from itertools import accumulate
from typing import Any

import numpy as np
from numpy.typing import NDArray

_SAFE_DIGITS = 18
_CELLS_AT_ONCE = 2**15
"""Of which a column of words still lies in the second-level cache with what is made of it."""
_MANY_ROWS = 2**12
"""From here on a table is read column by column."""
_ZERO, _NINE, _LINE_FEED = b"09\n"

# Around the rows: a mark before the first cell, 24 bytes before it and a word behind the last.
_BEFORE, _AFTER = bytes(24) + b"\n", bytes(8)
# By the length of a cell with its mark: the bits of its digits, the largest number of fewer.
_DIGITS = np.array([0, *(2**64 - 2 ** (64 - 8 * n) & 0x0F0F0F0F0F0F0F0F for n in range(9))], "<u8")
_ANY = 2**63 - 1
_TOO_SMALL = np.array([_ANY, _ANY, -1, *(10**n - 1 for n in range(1, _SAFE_DIGITS)), _ANY])
_STEPS = (
    ("<u2", np.uint16(8), np.uint16(10 * 2**8 + 1)),
    ("<u4", np.uint32(16), np.uint32(100 * 2**16 + 1)),
    ("<u8", np.uint64(32), np.uint64(10_000 * 2**32 + 1)),
)
"""Lanes of a word, half of their bits, and what adds 10, 100, 10,000 lower halves to the upper."""

Words = NDArray[np.uint64]
Integers = NDArray[np.int64]


def parse_rows(
    bodies: Sequence[memoryview], widths: Sequence[int], most_rows: int
) -> list[Integers] | None:
    """Return the columns of each body, int64 (width, rows); None if one is not whole rows of cells.

    Each has its own width and `most_rows` rows at most.

    Below the digits only commas and line feeds may stand. So the places of all such bytes are where
    cells end, and what stands there must be the commas and line feeds of whole rows.
    """
    text = b"".join((_BEFORE, *bodies, _AFTER))
    body = np.frombuffer(text, np.uint8)[len(_BEFORE) - 1 : -len(_AFTER)]
    if body.max() > _NINE or not all(data and data[-1] == _LINE_FEED for data in bodies):
        return None
    marks = np.flatnonzero(body < _ZERO)
    stops = np.searchsorted(marks, list(accumulate(map(len, bodies)))).tolist()
    slices = [slice(start, stop) for start, stop in zip([0, *stops], stops, strict=False)]
    rows = [(cut.stop - cut.start) // width for cut, width in zip(slices, widths, strict=True)]
    ends, lengths = marks[1:], marks[1:] - marks[:-1]
    wanted = ((b"," * (width - 1) + b"\n") * n for width, n in zip(widths, rows, strict=True))
    if any(n > most_rows for n in rows) or body[ends].tobytes() != b"".join(wanted):
        return None
    words = np.frombuffer(text, "<u8", len(text) // 8)
    if len(bodies) == 1 and rows[0] > _MANY_ROWS:
        # The numbers of one column are about as long as each other, and most of them are short.
        vectors = np.empty((widths[0], rows[0]), np.int64)
        for first, vector in enumerate(vectors):
            column = slice(first, None, widths[0])
            if not _parse_cells(words, ends[column], lengths[column], vector):
                return None
        return [vectors]
    values = np.empty(len(ends), np.int64)
    if not _parse_cells(words, ends, lengths, values):
        return None
    return [
        np.ascontiguousarray(values[cut].reshape(-1, width).T)
        for cut, width in zip(slices, widths, strict=True)
    ]


def _parse_cells(words: Words, ends: Integers, lengths: Integers, values: Integers) -> bool:
    """Fill in the numbers of cells; false if one has none, too many digits, or a leading zero.

    `words` are the text in eights. A cell ends before the byte `ends` behind the first of the rows
    and takes `lengths` bytes with the comma or line feed.
    """
    for start in range(0, len(ends), _CELLS_AT_ONCE):
        block = slice(start, start + _CELLS_AT_ONCE)
        values[block] = _numbers(words, ends[block], lengths[block])
        if (values[block] <= _TOO_SMALL.take(lengths[block], mode="clip")).any():
            return False
    return True


def _numbers(words: Words, ends: Integers, lengths: Integers) -> NDArray[np.unsignedinteger]:
    """Return the numbers of cells, wrong where they are empty or longer than `_SAFE_DIGITS`."""
    longest = lengths.max()
    if longest <= 2:
        return words.view(np.uint8)[len(_BEFORE) - 2 + ends] - _ZERO
    values = _eight_digits(words[2:], ends, lengths)  # 24 bytes in front, less the last eight
    for more in (1, 2):
        if longest > 8 * more + 1:
            long: Any = np.flatnonzero(lengths > 8 * more + 1)
            if 2 * len(long) > len(ends):
                long = slice(None)
            upper = _eight_digits(words[2 - more :], ends[long], lengths[long] - 8 * more)
            values[long] += upper * np.uint64(10 ** (8 * more))
    return values


def _eight_digits(words: Words, ends: Integers, lengths: Integers) -> Words:
    """Return the numbers that eight bytes make, from byte `ends` of `words` on.

    They come into one word, those in front of the cell, whose digits and mark are `lengths` bytes,
    are cleared, and neighbours are added up: tens and ones, then hundreds, then myriads.
    """
    places = ends >> 3
    found = words.take(places)
    places += 1
    after = words.take(places)
    bits = ((ends & 7) << 3).view(np.uint64)
    found >>= bits
    after <<= 64 - bits  # all of them, by NumPy's rules, where there is nothing to take
    found |= after
    found &= _DIGITS.take(lengths, mode="clip")
    for kind, half, weight in _STEPS:
        lanes = found.view(kind)
        lanes *= weight
        lanes >>= half
    return found
