"""Whether a clock was held, and the next lower one that would have been."""

import numpy as np
import pytest

from kit.held_clock import held_clock, remedy, step_that_held
from kit.ruleset import ruleset
from recorded import recording

STEP = ruleset("2026.1").clock_step_mhz


def profiling_clocks(name):
    test = recording(name)
    table, end = test.tables["clocks.csv"], test.marks["cool"]
    inside = (table["t_ns"] >= end - test.profiling_ns) & (table["t_ns"] < end)
    return table["graphics_mhz"][inside]


@pytest.mark.parametrize(
    ("name", "requested", "held", "advice"),
    [
        ("decode_16x8192x8192", 1980, True, ""),
        ("zero_4096", 1845, True, ""),
        ("zero_4096", 1980, False, "test_type.clock_mhz=1845 would have held"),
        ("guideline_bf16", 1980, False, "test_type.clock_mhz=1425 would have held"),
        ("guideline_bf16", 1470, False, "test_type.clock_mhz=1425 would have held"),
        ("e4m3_8192", 1980, False, "test_type.clock_mhz=1395 would have held"),
        ("decode_16x8192x8192", 1500, False, "lock it at 1500 MHz before the run"),
    ],
)
def test_recorded_runs_against_requested_clocks(name, requested, held, advice):
    """Free-running tests of an H200, judged as if each had been asked to hold a clock."""
    samples = profiling_clocks(name)
    found = held_clock(samples, requested, STEP)
    assert found.held == held
    said = remedy(found, 1980, STEP)
    assert advice in said
    assert bool(said) != held


def test_the_suggested_clock_is_one_that_no_sample_undercut():
    for name in ("guideline_bf16", "e4m3_8192", "zero_4096"):
        samples = profiling_clocks(name)
        step = step_that_held(int(samples.min()), 1980, STEP)
        assert (1980 - step) % STEP == 0
        assert step <= samples.min() < step + STEP


@pytest.mark.parametrize(
    ("lowest", "maximum", "wanted"),
    [(1980, 1980, 1980), (2010, 1980, 1980), (1979, 1980, 1965), (1965, 1980, 1965),
     (1410, 1410, 1410), (1400, 1410, 1395), (15, 1980, 15), (14, 1980, None), (0, 1980, None)],
)  # fmt: skip
def test_steps_count_down_from_the_devices_maximum(lowest, maximum, wanted):
    assert step_that_held(lowest, maximum, STEP) == wanted


def test_one_step_is_the_same_clock_and_one_sample_beyond_it_is_not():
    steady = np.full(100, 1500, np.int64)
    assert held_clock(steady + 15, 1500, STEP).held
    assert held_clock(steady - 15, 1500, STEP).held
    steady[40] = 1484
    found = held_clock(steady, 1500, STEP)
    assert (found.held, found.off, found.lowest_mhz, found.highest_mhz) == (False, 1, 1484, 1500)
    assert found.text == "1484 to 1500 MHz, 1 of 100 samples off"


def test_no_samples_are_no_evidence():
    assert held_clock(np.empty(0, np.int64), 1500, STEP) is None


def test_without_a_known_maximum_steps_count_from_the_requested_clock():
    found = held_clock(np.array([1478, 1500]), 1500, STEP)
    assert "clock_mhz=1470" in remedy(found, None, STEP)
