"""Windows on the host's time line, and which telemetry belongs to them."""

import numpy as np
import pytest

from kit.evidence import Anchor, Control, TimingRecord
from kit.timeline import (
    anchored_span_ns,
    around,
    device_span_ns,
    host_lead_ns,
    largest_gap_ns,
    profiling_interval,
    window_edges,
    within,
)
from kit.trace import Table, rows_within
from recorded import recording


def timing(start=(1000, 1200), end=(9000, 9100)):
    controls = (Control("host_slope", 1, 1),)
    return TimingRecord("cuda_events", Anchor(*start), Anchor(*end), controls)


def windows(phases, durations):
    return Table({"phase": np.array(phases), "duration_ns": np.array(durations, np.int64)})


def samples(*t_ns):
    return Table({"t_ns": np.array(t_ns, np.int64), "n": np.arange(len(t_ns))})


def test_edges_run_from_the_middle_of_the_first_drained_moment():
    edges = window_edges(timing(), windows([0, 0, 1], [10, 20, 30]))
    assert edges.tolist() == [1100, 1110, 1130, 1160]


def test_profiling_begins_where_the_warm_up_windows_end():
    assert profiling_interval(timing(), windows([0, 0, 1, 1], [10, 20, 30, 40])) == (1130, 1200)
    assert profiling_interval(timing(), windows([1], [7])) == (1100, 1107)
    with pytest.raises(ValueError, match="no profiling window"):
        profiling_interval(timing(), windows([0, 0], [10, 20]))


def test_the_hosts_marks_would_be_a_tenth_of_a_second_off():
    """The recorded host enqueued 32 launches ahead, so its mark precedes the device's edge."""
    test = recording("guideline_bf16")
    warm_up_ns = test.marks["cool"] - test.marks["warmup"] - test.profiling_ns
    record = timing((test.marks["warmup"],) * 2)
    durations = [warm_up_ns, *(ns for _, ns in test.windows)]
    start, end = profiling_interval(record, windows([0] + [1] * 40, durations))
    assert end == test.marks["cool"]
    launches_ahead = (start - test.marks["profile"]) / (test.profiling_ns / 4000)
    assert 31 <= launches_ahead <= 33


def test_the_span_is_exact_even_beyond_64_bits():
    assert device_span_ns(windows([1, 1], [5, 6])) == 11
    assert device_span_ns(windows([1] * 4, [2**62] * 4)) == 2**64


def test_the_anchored_span_is_from_middle_to_middle_with_both_widths():
    assert anchored_span_ns(timing()) == (9050 - 1100, 200 + 100)
    assert anchored_span_ns(timing((5, 5), (8, 8))) == (3, 0)


def test_the_hosts_lead_is_the_time_from_the_last_launch_to_the_windows_end():
    table = windows([0, 1], [10, 20])
    table.columns["enqueue_end_ns"] = np.array([1090, 1140], np.int64)
    drained = timing(end=(1130, 1130))
    assert host_lead_ns(drained, table).tolist() == [1110 - 1090, 1130 - 1140]


def test_the_hosts_lead_is_by_its_own_clock():
    """Which ran a tenth faster than the device's timer: 33 ns for the 30 of the windows."""
    table = windows([0, 1], [10, 20])
    table.columns["enqueue_end_ns"] = np.array([1090, 1140], np.int64)
    assert host_lead_ns(timing(end=(1133, 1133)), table).tolist() == [1111 - 1090, 1133 - 1140]


def test_within_is_half_open():
    assert within(samples(0, 10, 20, 30), 10, 30)["t_ns"].tolist() == [10, 20]
    assert not len(within(samples(0, 10), 11, 12))


@pytest.mark.parametrize(
    ("start", "end", "rows"),
    [
        (11, 29, [10, 20, 30]),
        (10, 30, [0, 10, 20, 30]),
        (0, 5, [0, 10]),
        (25, 99, [20, 30, 40]),
        (41, 99, [40]),
        (-9, -1, [0]),
    ],
)
def test_around_brackets_the_interval_with_one_row_on_either_side(start, end, rows):
    assert around(samples(0, 10, 20, 30, 40), start, end)["t_ns"].tolist() == rows


@pytest.mark.parametrize(
    ("t_ns", "gap"),
    [
        ((0, 10, 20, 30), (10, 0)),
        ((0, 10, 25, 30), (15, 10)),
        ((12, 20, 30), (12, 0)),
        ((0, 10), (20, 10)),
        ((), (30, 0)),
        ((-50, 90), (30, 0)),
    ],
)
def test_the_largest_gap_counts_both_ends_of_the_interval(t_ns, gap):
    assert largest_gap_ns(samples(*t_ns), 0, 30) == gap


@pytest.mark.parametrize("start_ns", [-(2**70), -1, 0, 5, 20, 45, 50, 2**70])
@pytest.mark.parametrize("end_ns", [-(2**70), 0, 20, 21, 50, 51, 2**70])
def test_an_interval_may_begin_and_end_anywhere(start_ns, end_ns):
    t_ns = np.array([0, 10, 20, 30, 40, 50])
    table = Table({"t_ns": t_ns})
    inside = (t_ns >= start_ns) & (t_ns < end_ns)
    assert t_ns[rows_within(table, start_ns, end_ns)].tolist() == t_ns[inside].tolist()
    assert within(table, start_ns, end_ns)["t_ns"].tolist() == t_ns[inside].tolist()
