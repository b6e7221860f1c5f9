"""Footprints, sets and chunks, against sums by hand and against counting."""

from typing import get_args

import numpy as np
import pytest

from kit.number_format import FORMATS, number_format
from kit.rotation import (
    calls_for,
    input_bytes,
    output_bytes,
    set_of,
    sets_for,
    sets_per_call,
    sets_required,
    trips_per_call,
    uses_per_set,
)
from kit.workload import Layout, Workload

H200_L2 = 62_914_560


@pytest.mark.parametrize(
    ("name", "inputs", "outputs"),
    [
        ("fp64", 8 * (96 + 160), 8 * 15),
        ("fp32", 4 * (96 + 160), 4 * 15),
        ("tf32", 4 * (96 + 160), 4 * 15),
        ("bf16", 2 * (96 + 160), 2 * 15),
        ("bf16_f32", 2 * (96 + 160), 4 * 15),
        ("fp16", 2 * (96 + 160), 2 * 15),
        ("fp16_f32", 2 * (96 + 160), 4 * 15),
        ("e4m3", 96 + 160, 2 * 15),
        ("e4m3_f32", 96 + 160, 4 * 15),
        ("e5m2_e4m3", 96 + 160, 2 * 15),
        ("e5m2_e4m3_f32", 96 + 160, 4 * 15),
        ("int8", 96 + 160, 4 * 15),
        ("mxfp8", 96 + 160 + 3 + 5, 2 * 15),  # one scale for 32 elements
        ("nvfp4", 48 + 80 + 6 + 10, 2 * 15),  # two elements a byte, one scale for 16
    ],
)
@pytest.mark.parametrize("layout", get_args(Layout))
@pytest.mark.parametrize("batch", [1, 7])
def test_bytes_are_those_of_the_formats_own_bits(name, inputs, outputs, layout, batch):
    work = Workload("w", 3, 5, 32, batch, layout)
    assert input_bytes(work, number_format(name)) == batch * inputs
    assert output_bytes(work, number_format(name)) == batch * outputs
    assert len(FORMATS) == 14


@pytest.mark.parametrize(
    ("size", "sets"), [(128, 1920), (256, 480), (1024, 30), (4096, 2), (8192, 2)]
)
def test_sets_fill_an_h200s_l2_twice(size, sets):
    """The figures of clause M24 for bf16 cubes."""
    per_set = input_bytes(Workload("w", size, size, size, 1, "nn"), number_format("bf16"))
    assert sets_required(per_set, H200_L2) == sets
    assert sets * per_set >= 2 * H200_L2
    if sets > 2:
        assert (sets - 1) * per_set < 2 * H200_L2


def test_never_fewer_than_two_sets():
    assert sets_required(10**12, H200_L2) == 2
    assert sets_required(1, 0) == 2


def test_sets_come_round_in_order():
    assert [set_of(launch, 3) for launch in range(7)] == [0, 1, 2, 0, 1, 2, 0]


@pytest.mark.parametrize("sets", [*range(1, 200), 480, 1920, 30_720])
def test_an_unrolled_call_covers_a_chunk_and_the_chunks_cover_all_sets(sets):
    chunk = sets_per_call("unrolled", sets)
    total = sets_for("unrolled", sets, 1000.0)
    assert 1 <= chunk <= 64
    assert total % chunk == 0
    assert sets <= total < sets + chunk
    assert total // chunk == -(-sets // 64)


@pytest.mark.parametrize("sets", [2, 37, 480])
def test_a_single_call_uses_one_set_and_a_loop_all_of_them_several_times(sets):
    assert (sets_per_call("single", sets), trips_per_call("single")) == (1, 1)
    assert sets_for("single", sets, 1000.0) == sets
    assert sets_per_call("device_loop", sets) == sets
    assert trips_per_call("unrolled") == 1
    assert trips_per_call("device_loop") > 1


@pytest.mark.parametrize("period_ns", [0.0, 2_720.0, 33_000.0, 10**7])
def test_a_loop_rotates_enough_sets_to_hide_what_a_trip_costs(period_ns):
    """A trip adds 1 to 4 µs, which must stay below one per cent of its GEMMs."""
    sets = sets_for("device_loop", 2, period_ns)
    assert sets >= 2
    assert sets * max(1.0, period_ns) >= 400_000
    assert sets_for("device_loop", 10**6, period_ns) == 10**6


def test_uses_are_those_of_counting():
    random = np.random.default_rng(3)
    for _ in range(300):
        sets = int(random.integers(1, 13))
        launches = random.integers(1, 40, random.integers(1, 7))
        first = np.cumsum(launches) - launches + int(random.integers(0, 30))
        used = np.zeros(sets, int)
        for start, count in zip(first, launches, strict=True):
            for launch in range(start, start + count):
                used[set_of(launch, sets)] += 1
        assert uses_per_set(first, launches, sets) == (used.min(), used.max())


def test_uses_of_huge_windows_cost_nothing():
    first, launches = np.array([0, 10**12]), np.array([10**12, 10**12 + 1])
    assert uses_per_set(first, launches, 10**6) == (2 * 10**6, 2 * 10**6 + 1)


@pytest.mark.parametrize(
    ("launches", "calls"), [(0.2, 1), (4, 1), (4.01, 2), (1000, 250), (999.01, 250)]
)
def test_calls_are_whole_and_one_at_least(launches, calls):
    assert calls_for(launches, 4) == calls
