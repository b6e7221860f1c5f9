"""Idle again: levels of power and temperature, on recorded H200 tests and at the edges."""

import numpy as np
import pytest

from kit.ruleset import ruleset
from kit.stability import IDLE_NS, is_idle, level
from kit.trace import Table
from recorded import recording

RULES = ruleset("2026.1")
SECOND = 10**9
RECORDED = ("guideline_bf16", "e4m3_8192", "decode_16x8192x8192", "zero_4096")


def test_levels_are_means_of_their_stretch_by_instantaneous_power_where_there_is_one():
    t = np.arange(4, dtype=np.int64) * SECOND
    table = Table({"t_ns": t, "power_instant_mw": 100 * t // SECOND, "gpu_c": 30 + t // SECOND})
    found = level(table, SECOND, 3 * SECOND)
    assert (found.power_mw, found.gpu_c) == (150.0, 31.5)
    averaged = Table({"t_ns": t, "power_average_mw": 7 + 0 * t})
    assert level(averaged, 0, SECOND).power_mw == 7.0
    assert level(averaged, 0, SECOND).gpu_c is None
    for nothing in (level(None, 0, SECOND), level(table, 9 * SECOND, 10 * SECOND)):
        assert (nothing.power_mw, nothing.gpu_c) == (None, None)


@pytest.mark.parametrize("name", RECORDED)
def test_every_recorded_cool_down_ends_idle_and_begins_busy(name):
    test = recording(name)
    table, marks = test.tables["power.csv"], test.marks
    idle = level(table, marks["idle"], marks["warmup"])
    busy = level(table, marks["cool"] - IDLE_NS, marks["cool"])
    after = level(table, marks["end"] - IDLE_NS, marks["end"])
    assert not is_idle(idle.power_mw, idle.gpu_c, busy.power_mw, busy.gpu_c, RULES)
    assert is_idle(idle.power_mw, idle.gpu_c, after.power_mw, after.gpu_c, RULES)


@pytest.mark.parametrize(
    ("baseline_mw", "power_mw", "idle"),
    [(20_000, 30_000, True), (20_000, 30_001, False), (200_000, 220_000, True),
     (200_000, 220_001, False)],
)  # fmt: skip
def test_idle_power_is_within_ten_watts_or_a_tenth(baseline_mw, power_mw, idle):
    assert is_idle(baseline_mw, None, power_mw, None, RULES) == idle


@pytest.mark.parametrize(
    ("baseline_c", "gpu_c", "idle"),
    [(38.0, 50.0, True), (38.0, 50.1, False), (None, 90.0, True), (38.0, None, True)],
)
def test_idle_temperature_is_within_twelve_degrees_where_known(baseline_c, gpu_c, idle):
    assert is_idle(100_000, baseline_c, 100_000, gpu_c, RULES) == idle
