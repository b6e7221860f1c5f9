"""What an input buffer holds, as counts: of a given buffer, and of one filled as clause M20 asks.

Sixteen bins cut [-1, 1] in eighths. A value on an inner edge belongs to the bin above it, 1.0 to
the last bin, anything beyond the range to none. `int8` is read as its value over 127, the range
that its fill quantises. Scales, which have no sign, fill the upper eight bins.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kit.fill import Operands, quantize
from kit.number_format import NumberFormat
from kit.surfaces import Input, element_type, elements
from kit.threefry import counter_type
from kit.trace import BINS

CHECKSUM_FACTOR = 0x9E3779B1
"""2^32 over the golden ratio, rounded to odd: spreads small patterns over all 32 bits."""
_EDGES = np.arange(1, BINS) / (BINS / 2) - 1.0
_CHUNK = 2**16
"""Elements recomputed at once: what fits into a processor's cache."""
_DRAWS = 2**23
"""Different values that one draw can take: `kit.threefry.uniform` keeps 23 bits."""


@dataclass(frozen=True, slots=True)
class BufferStatistics:
    """Counts of one buffer.

    `checksum` weighs each word of bits with its place and adds up modulo 2^32: word j counts
    (2j + 1)·`CHECKSUM_FACTOR` times. A word is an element's bit pattern, for 64-bit types a half.
    """

    zeros: int
    checksum: int
    bins: tuple[int, ...]


def statistics(values: NDArray[np.generic], first: int = 0) -> BufferStatistics:
    """Count the elements of one buffer, or of the part of it that begins at element `first`."""
    words = values.view(np.dtype(f"u{min(values.dtype.itemsize, 4)}")).astype(np.uint32, copy=False)
    scaled = _scaled(values)
    all_within = scaled.min() >= -1.0 and scaled.max() <= 1.0  # of NaN neither is true
    within = scaled if all_within else scaled[np.abs(scaled) <= 1.0]
    return BufferStatistics(
        zeros=int(np.count_nonzero(scaled == 0.0)),
        checksum=_checksum(words, first * len(words) // len(values)),
        bins=_bins(within),
    )


def _checksum(words: NDArray[np.uint32], first: int) -> int:
    """Sum of words that are weighed with their places, the first of which is `first`."""
    own = int(np.einsum("i,i", words, _weights(len(words))))
    return (own + 2 * CHECKSUM_FACTOR * first * int(words.sum(dtype=np.uint32))) % 2**32


@lru_cache(maxsize=2)
def _weights(count: int) -> NDArray[np.uint32]:
    places = np.arange(count, dtype=np.uint32)
    return places * np.uint32(2 * CHECKSUM_FACTOR % 2**32) + np.uint32(CHECKSUM_FACTOR)


def _bins(values: NDArray[np.floating[Any]]) -> tuple[int, ...]:
    """How many values in [-1, 1] lie in each bin."""
    half = BINS // 2  # floors of eighths are exact: the edges are eighths too
    eighths = values * values.dtype.type(half)
    np.floor(eighths, eighths)
    eighths += half
    *counts, last, one = np.bincount(eighths.astype(np.uint8), minlength=BINS + 1).tolist()
    return (*counts, last + one)  # 1.0 belongs to the last bin


def buffer_statistics(
    operands: Operands, surface: Input, buffer_set: int, going_on: Callable[[], None] | None = None
) -> BufferStatistics:
    """Count one buffer as the seed defines it, in parts; calls `going_on` at each of them."""
    count = elements(operands.workload, operands.number_format, surface)
    kind = counter_type(count)
    counters = np.arange(min(count, _CHUNK), dtype=kind)
    zeros, checksum, bins = 0, 0, np.zeros(BINS, np.int64)
    for first in range(0, count, _CHUNK):
        if going_on is not None:
            going_on()
        start = np.array(first, kind)
        found = statistics(
            operands.elements(surface, buffer_set, counters[: count - first], start), first
        )
        zeros, checksum, bins = zeros + found.zeros, checksum + found.checksum, bins + found.bins
    return BufferStatistics(zeros, checksum % 2**32, tuple(bins.tolist()))


@dataclass(frozen=True, slots=True)
class UniformShares:
    """Probability that one element of a uniform fill is zero, and that it lies in each bin."""

    zero: float
    bins: tuple[float, ...]


@cache
def uniform_shares(number_format: NumberFormat, surface: Input) -> UniformShares:
    """Exact shares of the uniform fill of one surface.

    Every one of the 2^23 draws is equally likely and the cast keeps their order, so a share is the
    distance between two ranks, found by bisection.
    """
    kind = element_type(number_format, surface)
    edges = np.concatenate([_EDGES, [0.0, np.nextafter(0.0, 1.0)]])
    *ranks, zero, above = _draws_below(edges, kind, not surface.endswith("scale")).tolist()
    shares = np.diff([0, *ranks, _DRAWS]) / _DRAWS
    return UniformShares(zero=(above - zero) / _DRAWS, bins=tuple(shares.tolist()))


def _draws_below(edges: NDArray[np.float64], kind: str, signed: bool) -> NDArray[np.int64]:
    """How many of the ordered draws become a value below each of the edges."""
    low, high = np.zeros(len(edges), np.int64), np.full(len(edges), _DRAWS)
    while (low < high).any():
        middle = (low + high) // 2
        draws = middle.astype(np.float32) / np.float32(_DRAWS)
        if signed:
            draws = draws * np.float32(2.0) - np.float32(1.0)
        below = _scaled(quantize(draws, kind)) < edges
        low, high = np.where(below & (low < high), middle + 1, low), np.where(below, high, middle)
    return low


def _scaled(values: NDArray[np.generic]) -> NDArray[np.floating[Any]]:
    """What the bins count: float32 tells all narrower types' values from the edges as well."""
    plain = values.astype(np.promote_types(values.dtype, np.float32), copy=False)
    return plain / np.float32(127.0) if values.dtype == np.int8 else plain
