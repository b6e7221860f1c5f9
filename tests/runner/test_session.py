"""A whole session over fakes: order of work, what is recorded."""

import math
import time
from dataclasses import replace

import numpy as np
import pytest

from bundles import honest_cpu
from fakes import FakeBackend, FakeTelemetry, FakeTimer
from kit.ruleset import ruleset
from kit.runner.session import Seeds, Session, buffers_table
from kit.timeline import host_period_ns, mean_period_ns, rows_of_phase
from kit.trace import PROFILING


@pytest.fixture
def session():
    bundle = honest_cpu()
    phases = replace(
        bundle.plan.phases,
        idle_s=0.01,
        warm_up_min_launches=5,
        warm_up_min_s=0.05,
        profiling_min_launches=10,
        profiling_min_s=0.05,
        cool_down_min_s=0.05,
        cool_down_max_s=0.2,
    )
    plan = replace(bundle.plan, phases=phases)
    backend = FakeBackend()
    reports = []

    def make_timer():
        backend.drop_graphs()  # it compiles what captures the stream
        return FakeTimer(backend, time.monotonic_ns)

    made = Session(
        plan=plan,
        case=plan.cases[0],
        seeds=Seeds("0" * 16, "1" * 16),
        cache_bytes=2**20,
        rules=ruleset(plan.edition),
        backend=backend,
        make_timer=make_timer,
        telemetry=FakeTelemetry(time.monotonic_ns),
        clock=time.monotonic_ns,
        report=reports.append,
    )
    return made, backend, reports


def test_work_is_done_in_the_guidelines_order(session):
    made, backend, reports = session
    measured = made.run()
    assert [event[0] for event in backend.events] == ["compile", "allocate", "sample"]
    assert reports == [
        "compile", "fill", "pilot", "idle", "warm-up", "profiling", "cool-down", "evidence",
    ]  # fmt: skip
    marks = measured.phases
    assert marks.idle_start_ns < marks.idle_end_ns <= measured.timing.start.before_ns
    assert measured.timing.end.after_ns <= marks.cool_down_start_ns < marks.cool_down_end_ns
    windows = measured.tables["windows.csv"]
    assert windows["launches"][windows["phase"] == 0].sum() == marks.warm_up_launches
    assert windows["launches"][windows["phase"] == 1].sum() == marks.profiling_launches
    assert measured.loops.compilations == 0


def test_the_pilot_leaves_the_first_window_nothing_to_make(session):
    """H200: at 128^3 the first window of 155 ms took 74 ms longer while it made 1,920 nodes."""
    made, backend, _ = session
    made.run()
    assert backend.graphs == 1


def test_the_warm_up_uses_every_set(session):
    """Slow products of many sets would end it by seconds before all outputs were written."""
    made, _, _ = session
    measured = replace(made, cache_bytes=12 * 2**20).run()
    sets = measured.rotation.sets
    assert sets > 300
    assert measured.phases.warm_up_launches >= sets


def test_scales_follow_d_in_the_table_and_d_holds_nothing():
    names = ("a", "b", "d", "a_scale", "b_scale")
    before = {name: [100 * i, 100 * i + 50] for i, name in enumerate(names)}
    columns = ("zeros", "checksum", *(f"bin_{index}" for index in range(16)))
    table = buffers_table(before, before, {name: np.arange(1, 9) for name in columns})
    assert list(table["operand"]) == [0, 0, 1, 1, 2, 2, 3, 3, 4, 4]
    assert list(table["set"]) == [0, 1] * 5
    assert list(table["checksum"]) == [1, 2, 3, 4, 0, 0, 5, 6, 7, 8]
    assert list(table["address_before"]) == [100 * i + j for i in range(5) for j in (0, 50)]


def test_addresses_are_told_above_the_lowest():
    before = {"a": [5000, 7000], "b": [4000, 9000], "d": [4500, 6000]}
    after = before | {"d": [4500, 6500]}
    contents = {"zeros": np.arange(4), "checksum": np.arange(4)} | {
        f"bin_{index}": np.arange(4) for index in range(16)
    }
    table = buffers_table(before, after, contents)
    assert list(table["operand"]) == [0, 0, 1, 1, 2, 2]
    assert list(table["address_before"]) == [1000, 3000, 0, 5000, 500, 2000]
    assert list(table["address_after"])[-1] == 2500
    assert list(table["zeros"]) == [0, 1, 2, 3, 0, 0]


def test_a_gpu_adds_a_slope_planned_by_the_windows(session):
    """The host runs 32 calls ahead of the device, so that its own estimate would ask for more."""
    made, _, _ = session
    plan = replace(made.plan, backend=replace(made.plan.backend, platform="cuda"))
    rules = replace(made.rules, slope_s=0.05)
    measured = replace(made, plan=plan, rules=rules).run()
    (slope,) = measured.timing.controls
    windows = measured.tables["windows.csv"]
    period_ns = mean_period_ns(rows_of_phase(windows, PROFILING))
    assert slope.name == "host_slope"
    assert slope.launches == math.ceil(0.05e9 / period_ns) < 0.05e9 / host_period_ns(windows)
    assert slope.duration_ns >= 0.9 * slope.launches * period_ns
