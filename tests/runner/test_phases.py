"""Warm-up, profiling and cool-down on a device that takes a fixed time."""

import time

import pytest

from fakes import FakeBackend, FakeTelemetry, FakeTimer
from kit.plan import Phases
from kit.ruleset import ruleset
from kit.runner.phases import Loop, Windows, cool_down, profile, settled_by, warm_up
from kit.stability import SETTLE_NS
from kit.trace import PROFILING, WARM_UP

RULES = ruleset("2026.1")


def phases(**changes):
    given = {
        "idle_s": 0.0,
        "warm_up_min_launches": 10,
        "warm_up_min_s": 0.0,
        "warm_up_max_s": 5.0,
        "profiling_min_launches": 20,
        "profiling_min_s": 0.0,
        "cool_down_min_s": 0.0,
        "cool_down_max_s": 1.0,
    }
    return Phases(**(given | changes))


@pytest.fixture
def clock():
    base = time.monotonic_ns() - 10_000_000_000
    return lambda: time.monotonic_ns() - base


@pytest.fixture
def loop(clock):
    backend = FakeBackend(gemm_s=0.0005)
    timer = FakeTimer(backend, clock)
    timer.start()
    return Loop(backend, timer, clock, 1, Windows([]))


def test_warm_up_makes_at_least_its_launches(loop):
    stop, _ = warm_up(loop, phases(warm_up_min_launches=450), 500_000.0, None)
    assert stop == "seconds"
    assert 450 <= loop.windows.launches < 450 + 200


def test_warm_up_lasts_at_least_its_seconds(loop, clock):
    start = clock()
    warm_up(loop, phases(warm_up_min_s=0.3), 500_000.0, None)
    assert clock() - start >= 0.3e9


def test_warm_up_ends_at_the_cap_when_nothing_settles(loop):
    stop, _ = warm_up(loop, phases(warm_up_max_s=0.3), 500_000.0, lambda _now: False)
    assert stop == "cap"


def test_warm_up_needs_two_looks_in_a_row(loop):
    answers = iter([True, False, True, True])
    seen = []

    def settled(now):
        seen.append(now)
        return next(answers)

    stop, _ = warm_up(loop, phases(), 500_000.0, settled)
    assert stop == "settled"
    assert len(seen) == 4


@pytest.mark.parametrize(
    ("power", "clock_mhz", "expected"),
    [
        (lambda t: 690_000, lambda t: 1480, True),
        (lambda t: 300_000 + t // 25_000, lambda t: 1480, False),  # a power ramp
        (lambda t: 690_000, lambda t: 1980 - t // 20_000_000, False),  # a falling clock
    ],
)
def test_settled_by_steady_power_and_clock(clock, power, clock_mhz, expected):
    telemetry = FakeTelemetry(clock, power, clock_mhz)
    assert settled_by(telemetry, RULES, None)(clock()) is expected


@pytest.mark.parametrize(
    ("power", "clock_mhz", "expected"),
    [
        (lambda t: 425_000, lambda t: 1500, True),
        (lambda t: 425_000, lambda t: 1515, True),  # one step
        (lambda t: 425_000, lambda t: 1480, False),  # steady, but not the clock asked for
        (lambda t: 425_000, lambda t: 1500 - 30 * (t // 20_000_000 % 90 == 0), False),  # it dips
        (lambda t: 300_000 + t // 25_000, lambda t: 1500, False),  # power still rises
    ],
)
def test_at_a_fixed_frequency_every_sample_shows_the_clock(clock, power, clock_mhz, expected):
    telemetry = FakeTelemetry(clock, power, clock_mhz)
    said = []
    assert settled_by(telemetry, RULES, 1500, said.append)(clock()) is expected
    assert said[0].endswith("MHz of 1500 MHz ")


def test_settled_needs_both_series(clock):
    assert not settled_by(FakeTelemetry(clock, None, lambda t: 1480), RULES, None)(clock())
    assert SETTLE_NS == 2_000_000_000


def test_profiling_launches_are_what_the_windows_hold(loop):
    warm_up(loop, phases(), 500_000.0, None)
    before = loop.windows.launches
    launches = profile(loop, phases(profiling_min_launches=33), 10, 500_000.0, RULES)
    loop.timer.finish(loop.last_output)
    table = loop.windows.table(loop.timer.durations_ns())
    profiling = table.rows(table["phase"] == PROFILING)
    assert launches == 40 == profiling["launches"].sum()
    assert len(profiling) == 10
    assert profiling["first_launch"][0] == before
    assert set(table["phase"]) == {WARM_UP, PROFILING}
    mean_ns = profiling["duration_ns"].sum() / launches
    assert mean_ns == pytest.approx(500_000, rel=0.01)


def test_profiling_lasts_at_least_its_seconds(loop):
    launches = profile(loop, phases(profiling_min_s=0.2), 4, 500_000.0, RULES)
    assert launches * 0.0005 >= 0.2


def test_windows_are_whole_calls(clock):
    backend = FakeBackend(gemm_s=0.0001)
    backend.per_call = 7
    timer = FakeTimer(backend, clock)
    timer.start()
    loop = Loop(backend, timer, clock, 7, Windows([]))
    launches = profile(loop, phases(profiling_min_launches=20), 2, 100_000.0, RULES)
    assert launches == 28
    assert [row[2] for row in loop.windows.rows] == [14, 14]


def test_cool_down_ends_when_power_is_back(clock):
    hot_until = clock() + 300_000_000

    def power(t):
        return 120_000 if t < idle[1] or t > hot_until else 700_000

    idle = (clock() - 2_000_000_000, clock() - 1_000_000_000)
    start = clock()
    assert (
        cool_down(clock, phases(cool_down_max_s=3.0), FakeTelemetry(clock, power), idle, RULES)
        == "idle"
    )
    assert clock() - start >= 500_000_000


def test_cool_down_ends_at_the_cap_when_power_stays(clock):
    idle = (clock() - 2_000_000_000, clock() - 1_000_000_000)
    telemetry = FakeTelemetry(clock, lambda t: 120_000 if t < idle[1] else 700_000)
    assert cool_down(clock, phases(cool_down_max_s=0.3), telemetry, idle, RULES) == "cap"


def test_cool_down_without_power_lasts_its_seconds(clock):
    start = clock()
    telemetry = FakeTelemetry(clock)
    assert cool_down(clock, phases(cool_down_min_s=0.2), telemetry, (0, 1), RULES) == "seconds"
    assert clock() - start >= 200_000_000
