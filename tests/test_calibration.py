"""The edition's thresholds between honest H200 runs and known disturbances of the same runs.

Caught on every recorded profiling: a step of 6 % half a second or more from either end, an
oscillation of ±4 % at 1.5 s or slower whatever its phase, a ramp of 7.5 % within the two seconds
before profiling, a drift of 3 % a minute over a minute. Not caught, and shown at the end: that
drift over the usual 3 to 13 seconds, an oscillation at a second or a whole part of it, a step in
the last moments. The time-weighted mean clock, by which speed of light is reckoned, covers all
three. At a fixed frequency every sample counts, and nothing of 2 % or more escapes but between two
samples.
"""

import json

import numpy as np
import pytest

from kit.ruleset import ruleset
from kit.stability import (
    SETTLE_NS,
    clock_halves_limit,
    clock_is_steady,
    is_idle,
    is_settled,
    level,
    settling,
)
from kit.trace import Table
from recorded import FOLDER, recording, tables

RULES = ruleset("2026.1")
SECOND = 10**9
WHOLE = ("guideline_bf16", "e4m3_8192", "decode_16x8192x8192", "zero_4096")
TRACES = ("trace_8192_uniform", "trace_8192_zero")
SHORT = ("tf32_4096", "bf16_4096")
EVERY = WHOLE + TRACES + SHORT
HELD = {"decode_16x8192x8192": 1980, "zero_4096": 1845}
"""Tests whose clock stood still, at 0.1 s after the first moment: honest at a fixed frequency."""


def profiling(name):
    """Clocks, power, and where profiling begins and ends."""
    if name in WHOLE:
        test = recording(name)
        end = test.marks["cool"]
        return test.tables["clocks.csv"], test.tables["power.csv"], end - test.profiling_ns, end
    if name in TRACES:
        marks = json.loads((FOLDER / f"{name}.marks.json").read_text())
        found = tables(name)
        return found["clocks.csv"], found["power.csv"], marks["profile"], marks["cool"]
    clocks, power = (short(name, file) for file in ("clocks", "power"))
    return clocks, power, SETTLE_NS, int(clocks["t_ns"][-1]) + 1


def short(name, file):
    path = FOLDER / "short" / f"{name}.{file}.csv"
    header = path.read_text().splitlines()[0].split(",")
    rows = np.loadtxt(path, dtype=np.int64, delimiter=",", skiprows=1)
    return Table(dict(zip(header, rows.T, strict=True)))


def disturbed(table, column, start, factor):
    """The column times `factor(seconds since start)`, in whole units."""
    values = table[column] * factor((table["t_ns"] - start) / SECOND)
    return Table(table.columns | {column: np.rint(values).astype(np.int64)})


def clock_steady(name, factor):
    clocks, power, start, end = profiling(name)
    changed = disturbed(clocks, "graphics_mhz", start, factor)
    return clock_is_steady(settling(changed, power, start, end, RULES).clock, RULES)


def seconds_of(name):
    _, _, start, end = profiling(name)
    return (end - start) / SECOND


def shares(found):
    """How much of each limit is used."""
    return {
        "clock halves": found.clock.halves_difference / clock_halves_limit(found.clock, RULES),
        "clock mean": found.clock.mean_range / RULES.clock_mean_range,
        "power halves": found.power.halves_difference / RULES.power_halves_difference,
        "power spread": found.power.spread / RULES.power_spread,
    }


@pytest.mark.parametrize("name", EVERY)
def test_an_honest_profiling_uses_at_most_three_quarters_of_any_limit(name):
    clocks, power, start, end = profiling(name)
    assert max(shares(settling(clocks, power, start, end, RULES)).values()) <= 0.75


@pytest.mark.parametrize("name", EVERY)
def test_the_moment_at_which_the_windows_begin_decides_nothing(name):
    """A capped clock swings about once a second: over half seconds, the phase did decide."""
    clocks, power, start, end = profiling(name)
    ranges = [
        settling(clocks, power, start + offset, end, RULES).clock.mean_range
        for offset in range(0, SECOND, SECOND // 25)
    ]
    assert max(ranges) <= 0.8 * RULES.clock_mean_range


@pytest.mark.parametrize("name", EVERY)
def test_before_profiling_an_honest_run_uses_at_most_three_fifths_of_what_the_checker_allows(name):
    clocks, power, start, _ = profiling(name)
    found = settling(clocks, power, start - SETTLE_NS, start, RULES)
    assert is_settled(found, RULES)
    assert max(shares(found).values()) <= 0.6 * RULES.settled_slack


@pytest.mark.parametrize("name", EVERY)
@pytest.mark.parametrize("share", [0.25, 0.5, 0.8])
@pytest.mark.parametrize("factor", [0.94, 1.06])
def test_a_step_of_six_percent_in_profiling_is_caught(name, share, factor):
    at = share * seconds_of(name)
    assert not clock_steady(name, lambda t: np.where(t < at, 1.0, factor))


@pytest.mark.parametrize("name", EVERY)
@pytest.mark.parametrize("period", [1.5, 2.0])
def test_an_oscillation_of_four_percent_is_caught_at_every_phase(name, period):
    for phase in np.linspace(0, 1, 8, endpoint=False):
        assert not clock_steady(name, oscillation(period, phase)), phase


def oscillation(period, phase):
    return lambda t: 1 + 0.04 * np.sin(2 * np.pi * (t / period + phase))


@pytest.mark.parametrize("name", EVERY)
@pytest.mark.parametrize("slope", [-0.05, 0.05])
def test_a_ramp_before_profiling_is_caught_within_the_checkers_slack(name, slope):
    """10 % within the two seconds: more than an H200's first seconds show."""
    clocks, power, start, _ = profiling(name)
    before = (start - SETTLE_NS, start)
    ramp = disturbed(clocks, "graphics_mhz", before[0], lambda t: 1 + slope * t)
    found = settling(ramp, power, *before, RULES)
    assert not is_settled(found, RULES, RULES.settled_slack)


@pytest.mark.parametrize("name", EVERY)
def test_a_ramp_of_seven_and_a_half_percent_ends_no_warm_up(name):
    """Honest clocks wander by 1 % from one second to the next and may lean against the ramp."""
    clocks, power, start, _ = profiling(name)
    before = (start - SETTLE_NS, start)
    ramp = disturbed(clocks, "graphics_mhz", before[0], lambda t: 1 - 0.0375 * t)
    assert not is_settled(settling(ramp, power, *before, RULES), RULES)


@pytest.mark.parametrize("name", EVERY)
def test_a_rise_of_power_before_profiling_is_caught(name):
    clocks, power, start, _ = profiling(name)
    before = (start - SETTLE_NS, start)
    rising = disturbed(power, "power_average_mw", start, lambda t: 1 + 0.02 * t)
    found = settling(clocks, rising, *before, RULES)
    assert not is_settled(found, RULES, RULES.settled_slack)


def repeated(name, seconds):
    """The recorded profiling's clock over and over: the same noise for a longer time."""
    clocks, _, start, end = profiling(name)
    inside = (clocks["t_ns"] >= start) & (clocks["t_ns"] < end)
    t, mhz = clocks["t_ns"][inside] - start, clocks["graphics_mhz"][inside]
    times = -(-seconds * SECOND // (end - start))
    table = Table(
        {
            "t_ns": np.concatenate([t + i * (end - start) for i in range(times)]),
            "graphics_mhz": np.tile(mhz, times),
        }
    )
    return table.rows(table["t_ns"] < seconds * SECOND)


@pytest.mark.parametrize("name", EVERY)
def test_a_drift_of_three_percent_a_minute_is_caught_over_a_minute(name):
    level_clock = repeated(name, 60)
    drifting = disturbed(level_clock, "graphics_mhz", 0, lambda t: 1 - 0.03 * t / 60)
    for clocks, steady in ((level_clock, True), (drifting, False)):
        found = settling(clocks, None, 0, 60 * SECOND, RULES).clock
        assert clock_is_steady(found, RULES) == steady


@pytest.mark.parametrize("name", HELD)
def test_a_held_clock_settles_and_one_sample_beyond_a_step_does_not(name):
    clocks, power, start, _ = profiling(name)
    before = (start - SETTLE_NS, start)
    assert is_settled(settling(clocks, power, *before, RULES, clock_mhz=HELD[name]), RULES)
    dips = clocks["graphics_mhz"].copy()
    dips[np.searchsorted(clocks["t_ns"], start - SECOND)] -= 2 * RULES.clock_step_mhz
    dipped = Table(clocks.columns | {"graphics_mhz": dips})
    found = settling(dipped, power, *before, RULES, clock_mhz=HELD[name])
    assert not is_settled(found, RULES, RULES.settled_slack)
    assert is_settled(settling(dipped, power, *before, RULES), RULES)  # at a fixed power it may


@pytest.mark.parametrize("name", HELD)
@pytest.mark.parametrize("period", [0.1, 0.5, 1.0, 2.0])
@pytest.mark.parametrize("size", [0.02, 0.04])
def test_a_held_clock_shows_any_oscillation(name, period, size):
    clocks, power, start, _ = profiling(name)
    swing = disturbed(
        clocks, "graphics_mhz", start, lambda t: 1 + size * np.sin(2 * np.pi * t / period)
    )
    found = settling(swing, power, start - SETTLE_NS, start, RULES, clock_mhz=HELD[name])
    assert not found.held.held


@pytest.mark.parametrize("name", ["guideline_bf16", "e4m3_8192", "tf32_4096"])
def test_a_capped_run_never_settles_at_a_fixed_frequency(name):
    clocks, power, start, _ = profiling(name)
    for requested in (1980, 1410):
        found = settling(clocks, power, start - SETTLE_NS, start, RULES, clock_mhz=requested)
        assert not is_settled(found, RULES, RULES.settled_slack)


@pytest.mark.parametrize("name", WHOLE)
def test_a_rest_of_a_second_and_a_half_after_load_gives_a_cold_baseline(name):
    """The idle phase follows fill and pilot by `idle_s`: here, after a far longer load."""
    test = recording(name)
    power, marks = test.tables["power.csv"], test.marks
    cold = level(power, marks["idle"], marks["warmup"])
    rested = marks["cool"] + 3 * SECOND // 2
    baseline = level(power, rested, rested + SECOND // 2)
    assert abs(baseline.power_mw - cold.power_mw) < 3_000
    assert abs(baseline.gpu_c - cold.gpu_c) < 3
    soon = level(power, marks["cool"], marks["cool"] + SECOND // 2)
    assert not is_idle(cold.power_mw, cold.gpu_c, soon.power_mw, soon.gpu_c, RULES)


@pytest.mark.parametrize("name", ["guideline_bf16", "zero_4096", "bf16_4096"])
def test_what_is_not_caught(name):
    """Within the noise of a power-capped clock; written down so that nobody relies on it."""
    seconds = seconds_of(name)
    assert clock_steady(name, lambda t: 1 - 0.03 * t / 60)
    for period in (0.5, 1.0):
        assert clock_steady(name, oscillation(period, 0.0))
    assert clock_steady(name, lambda t: np.where(t < seconds - 0.15, 1.0, 0.94))
