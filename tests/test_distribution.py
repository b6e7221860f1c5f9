"""Counts of a fill: exact shares against every possible draw, statistics against plain loops."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from kit.distribution import buffer_statistics, statistics, uniform_shares
from kit.fill import Operands, quantize
from kit.number_format import FORMATS, number_format
from kit.surfaces import element_type, elements, inputs
from kit.trace import BINS
from kit.workload import Workload

SEED = "fedcba9876543210"


SURFACES = list(
    {
        (element_type(row, name), name.endswith("scale")): (row, name)
        for row in FORMATS.values()
        for name in inputs(row)
    }.values()
)
IDS = [f"{row.name}-{name}" for row, name in SURFACES]


@pytest.mark.parametrize(("row", "surface"), SURFACES, ids=IDS)
def test_shares_are_those_of_all_draws(row, surface):
    """A draw keeps 23 bits, so all of them can be cast and counted."""
    mantissas = np.arange(2**23, dtype=np.uint32) | np.uint32(0x3F800000)
    draws = mantissas.view(np.float32) - np.float32(1)
    if surface in ("a", "b"):
        draws = draws * np.float32(2) - np.float32(1)
    found = statistics(quantize(draws, element_type(row, surface)))
    shares = uniform_shares(row, surface)
    assert shares.zero * 2**23 == found.zeros
    assert tuple(share * 2**23 for share in shares.bins) == found.bins
    assert sum(found.bins) == 2**23


@pytest.mark.parametrize(("row", "surface"), SURFACES, ids=IDS)
def test_statistics_count_as_a_loop_does(row, surface):
    workload = Workload("w", 16, 16, 32, 2, "nn")
    values = Operands(workload, row, "uniform", SEED).elements(
        surface, 1, np.arange(elements(workload, row, surface), dtype=np.uint64)
    )
    scale = 127.0 if row.name == "int8" else 1.0
    bins, zeros, words = [0] * BINS, 0, []
    for value in values:
        plain = float(value) / scale
        bins[min(BINS - 1, int((plain + 1) * 8))] += 1
        zeros += plain == 0
        pattern = int.from_bytes(value.tobytes(), "little")
        words += [pattern & 0xFFFFFFFF, pattern >> 32][: max(1, value.itemsize // 4)]
    checksum = sum((2 * place + 1) * 0x9E3779B1 * word for place, word in enumerate(words))
    found = statistics(values)
    assert (found.zeros, found.checksum, found.bins) == (zeros, checksum % 2**32, tuple(bins))


def test_the_checksum_sees_the_order_of_elements():
    values = np.arange(-100, 100).astype(np.int8)
    assert statistics(values).checksum != statistics(values[::-1].copy()).checksum


def test_the_checksum_of_parts_is_that_of_the_whole():
    values = np.linspace(-1, 1, 1000)
    parts = [statistics(values[at : at + 300], at).checksum for at in range(0, 1000, 300)]
    assert sum(parts) % 2**32 == statistics(values).checksum


def test_values_beyond_the_range_are_in_no_bin():
    values = np.array([-1.5, -1.0, 0.0, 1.0, 1.0001, np.nan], np.float32)
    found = statistics(values)
    assert sum(found.bins) == 3
    assert (found.bins[0], found.bins[8], found.bins[15]) == (1, 1, 1)
    assert found.zeros == 1


def test_negative_zero_is_zero():
    assert statistics(np.array([-0.0, 0.0], np.float32)).zeros == 2


@pytest.mark.parametrize("layout", ["nn", "tt"])
def test_a_buffer_is_counted_in_pieces_as_in_one(layout):
    """More than a million elements, so that the pieces have to add up."""
    workload = Workload("w", 1100, 16, 1000, 1, layout)
    operands = Operands(workload, number_format("bf16"), "uniform", SEED)
    counters = np.arange(workload.elements("a"), dtype=np.uint64)
    whole = statistics(operands.elements("a", 3, counters))
    assert buffer_statistics(operands, "a", 3) == whole
    assert len(counters) > 2**20


@pytest.mark.parametrize("name", ["mxfp8", "nvfp4"])
def test_scales_are_unsigned_and_at_most_one(name):
    """Clause M20: scale factors are drawn from [0, 1]."""
    shares = uniform_shares(number_format(name), "b_scale")
    assert sum(shares.bins[:8]) == 0.0
    assert sum(shares.bins[8:]) == 1.0
    assert (shares.zero > 0) == (name == "nvfp4")  # a power of two is never zero


NEAR_EDGES = st.builds(
    lambda edge, step: np.nextafter(np.float64(edge) / 8, np.float64(step)),
    st.integers(-9, 9),
    st.sampled_from([-2.0, 0.0, 2.0]),
)


@given(arrays(np.float64, st.integers(1, 40), elements=NEAR_EDGES | st.floats(width=64)))
def test_bins_are_those_that_a_search_among_the_edges_finds(values):
    edges = np.arange(1, BINS) / (BINS / 2) - 1.0
    inside = values[np.abs(values) <= 1.0]
    wanted = np.bincount(np.searchsorted(edges, inside, side="right"), minlength=BINS)
    assert statistics(values).bins == tuple(wanted.tolist())
