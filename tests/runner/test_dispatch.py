"""The pilot chooses the mode whose host cost hides behind the device's time."""

import time

import pytest

from fakes import FakeBackend
from kit.plan import Backend
from kit.ruleset import ruleset
from kit.runner.dispatch import Pilot, Settled, choose, pilot, record

RULES = ruleset("2026.1")
AUTO = Backend("jax_gemm", "cuda", "auto", "library", 0)


def test_pilot_measures_call_cost_and_period():
    found = pilot(FakeBackend(gemm_s=0.004, enqueue_s=0.001), time.monotonic_ns)
    assert found.enqueue_ns == pytest.approx(1e6, rel=0.5)
    assert found.period_ns == pytest.approx(4e6, rel=0.5)


@pytest.mark.parametrize(
    ("enqueue_ns", "mode"), [(20_000, "single"), (70_000, "single"), (70_001, "device_loop")]
)
def test_single_needs_headroom(enqueue_ns, mode):
    chosen, reason = choose(AUTO, Pilot(enqueue_ns, 100_000), RULES)
    assert chosen == mode
    assert str(enqueue_ns) in reason


def test_a_mode_asked_for_is_taken():
    plan = Backend("jax_gemm", "cuda", "unrolled", "library", 0)
    assert choose(plan, Pilot(1, 100), RULES) == ("unrolled", "backend.dispatch=unrolled")


def test_without_a_pilot_the_host_computes():
    assert choose(AUTO, None, RULES)[0] == "single"


def test_record_gives_the_period_of_one_gemm():
    assert record(Settled("unrolled", "x", 30), Pilot(100, 3000), 30, ()).pilot_period_ns == 100
