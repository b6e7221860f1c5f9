"""The pilot chooses the mode whose host cost hides behind the device's time."""

import time

import pytest

from fakes import FakeBackend
from kit.errors import UnsupportedError
from kit.plan import Backend
from kit.ruleset import ruleset
from kit.runner.dispatch import Chooser, Handover, Pilot, Trial, choose, pilot, record
from kit.runner.failure import status_of

RULES = ruleset("2026.1")
AUTO = Backend("jax_gemm", "cuda", "auto", "library", 0)


def test_pilot_measures_call_cost_and_period():
    found = pilot(FakeBackend(gemm_s=0.004, enqueue_s=0.001), 1, time.monotonic_ns)
    # A busy machine sleeps longer, never shorter: only the order is certain.
    assert 1e6 <= found.enqueue_ns < found.period_ns
    assert found.period_ns >= 4e6


@pytest.mark.parametrize(
    ("enqueue_ns", "mode"), [(20_000, "single"), (700_000, "single"), (700_001, "device_loop")]
)
def test_single_needs_headroom(enqueue_ns, mode):
    chosen, reason = choose(AUTO, Pilot(enqueue_ns, 1_000_000), RULES)
    assert chosen == mode
    assert str(enqueue_ns) in reason


@pytest.mark.parametrize(("period_ns", "mode"), [(500_000, "single"), (499_999, "device_loop")])
def test_single_needs_gemms_beside_which_the_gap_after_one_is_small(period_ns, mode):
    assert choose(AUTO, Pilot(20_000, period_ns), RULES)[0] == mode


@pytest.mark.parametrize("quick", [range(3, 6), range(4, 5)])
def test_a_loops_cost_is_that_of_a_call_that_nothing_holds_up(quick):
    """The driver's queue is full after some calls; the host may be disturbed in the first."""

    class Queue(FakeBackend):
        calls = 0

        def enqueue(self, calls):
            self.calls += calls
            time.sleep(0.001 if self.calls in quick else 0.016)
            return time.monotonic()

    found = pilot(Queue(), 160, time.monotonic_ns)
    assert found.enqueue_ns < 8e6


def test_a_problem_too_small_to_rotate_is_refused_before_anything_is_compiled():
    backend = FakeBackend()
    chooser = Chooser(AUTO, RULES, time.monotonic_ns, lambda _: None)
    with pytest.raises(UnsupportedError, match=r"32769 buffer sets.*32768 are the most") as caught:
        chooser.choose(backend, Trial("library", 2**15 + 1, "uniform", "0" * 16))
    assert status_of(caught.value) == "unsupported"
    assert not backend.events


def test_a_loop_too_large_for_a_bundle_is_refused_before_it_is_compiled():
    backend = FakeBackend(0.000_01)
    chooser = Chooser(AUTO, RULES, time.monotonic_ns, lambda _: None)
    with pytest.raises(UnsupportedError, match=r"4000 buffer sets.*3195 are the most"):
        chooser.choose(backend, Trial("library", 4000, "uniform", "0" * 16))
    assert [event[1] for event in backend.events if event[0] == "compile"] == ["single"]


def test_a_mode_asked_for_is_taken():
    plan = Backend("jax_gemm", "cuda", "unrolled", "library", 0)
    assert choose(plan, Pilot(1, 100), RULES) == ("unrolled", "backend.dispatch=unrolled")


def test_without_a_pilot_the_host_computes():
    assert choose(AUTO, None, RULES)[0] == "single"


def test_record_gives_the_period_of_one_gemm():
    assert record(Handover("unrolled", "x", 30), Pilot(100, 3000), 30, ()).pilot_period_ns == 100


def test_where_the_host_is_slower_both_times_are_the_hosts():
    found = pilot(FakeBackend(gemm_s=0.00001, enqueue_s=0.002), 1, time.monotonic_ns)
    assert choose(AUTO, found, RULES)[0] == "device_loop"


def test_a_loops_sets_follow_from_the_gemms_own_time_not_from_the_hosts():
    backend = FakeBackend(gemm_s=0.0001, enqueue_s=0.002)
    chooser = Chooser(AUTO, RULES, time.monotonic_ns, print)
    handover = chooser.choose(backend, Trial("library", 2, "uniform", "0" * 16))
    assert handover.mode == "device_loop"
    assert 8 <= handover.sets <= 10  # 1 ms of GEMMs that take 100 µs each
    assert [event[1] for event in backend.events if event[0] == "compile"] == [
        "single",
        "device_loop",
    ]


def test_many_sets_fill_a_loops_body_without_another_pilot():
    backend = FakeBackend(gemm_s=0.000003, enqueue_s=0.001)
    chooser = Chooser(AUTO, RULES, time.monotonic_ns, print)
    handover = chooser.choose(backend, Trial("library", 480, "uniform", "0" * 16))
    assert (handover.mode, handover.sets) == ("device_loop", 480)
