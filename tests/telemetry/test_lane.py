from itertools import count
from threading import Event
from types import SimpleNamespace

import pytest

from kit.telemetry import BurstFailedError
from kit.telemetry.sampler.lane import Cadence, Lane, sustainable_period_ns

MS = 1_000_000


@pytest.mark.parametrize(
    ("now_ms", "missed", "deadline_ms"),
    [(100, 0, 120), (119, 0, 120), (120, 1, 140), (139, 1, 140), (181, 4, 200), (90, 0, 120)],
)
def test_a_deadline_that_passed_is_skipped_and_counted(now_ms, missed, deadline_ms):
    cadence = Cadence(100 * MS, 20 * MS)
    assert cadence.advance(now_ms * MS) == missed
    assert cadence.deadline_ns == deadline_ms * MS


def test_deadlines_do_not_drift():
    cadence = Cadence(7, 20 * MS)
    for turn in range(1000):
        assert cadence.deadline_ns == 7 + turn * 20 * MS
        cadence.advance(cadence.deadline_ns + 3 * MS)


@pytest.mark.parametrize(
    ("cost_ms", "period_ms", "sustained_ms"),
    [(0, 20, 20), (4, 20, 20), (5, 20, 40), (15, 20, 80), (15, 200, 200), (5000, 20, 1280),
     (5000, 200, 1600), (5000, 999, 1998), (5000, 1000, 1000)],
)  # fmt: skip
def test_a_period_is_doubled_until_a_burst_takes_a_fifth_of_it(cost_ms, period_ms, sustained_ms):
    now = SimpleNamespace(ns=0)

    def read():
        now.ns += cost_ms * MS
        return []

    assert sustainable_period_ns(read, period_ms * MS, lambda: now.ns) == sustained_ms * MS


def test_one_slow_first_call_does_not_lengthen_the_period():
    costs = count()
    now = SimpleNamespace(ns=0)

    def read():
        now.ns += 15 * MS if next(costs) == 0 else 0
        return []

    assert sustainable_period_ns(read, 20 * MS, lambda: now.ns) == 20 * MS


def test_a_failed_burst_is_counted_and_gives_no_row():
    stop = Event()
    turns = count()
    told, series = [], Recorder()

    def read():
        turn = next(turns)
        if turn == 3:
            stop.set()
        if turn % 2:
            raise BurstFailedError("error", f"turn {turn}")
        return [turn]

    Lane(read, series, Cadence(0, MS), base_ns=0, failed=told.append).run(stop)
    assert told == ["turn 1", "turn 3"]
    assert series.failed == 2
    assert [row[2] for row in series.rows] == [0, 2]


class Recorder:
    def __init__(self):
        self.rows, self.failed = [], 0

    def beat(self, now_ns):
        self.beaten = now_ns

    def append(self, row):
        self.rows.append(row)

    def fail(self):
        self.failed += 1

    def overrun(self, missed):
        self.missed = missed
