"""What a run launches: its own choice, or the tuner's, which is replayed or refused."""

import time
from pathlib import Path

import pytest

from fakes import FAKE_HLO, FakeBackend
from kit.bundle.reader import MAXIMUM_HLO_BYTES
from kit.errors import MeasurementError, UntunedError
from kit.plan import Backend
from kit.ruleset import ruleset
from kit.runner.dispatch import Chooser, Handover, Trial
from kit.runner.failure import status_of
from kit.runner.job import Tuning
from kit.runner.program import Replay, build_program
from plans import small_plan

NAME = "0123456789abcdef.autotune.txt"
TRIAL = Trial("library", 2, "uniform", "0" * 16)
LOOP = Handover("device_loop", "the tuner's", 30)


def chooser(platform="cuda", dispatch="auto"):
    plan = Backend("jax_gemm", platform, dispatch, "library", 0)
    return Chooser(plan, ruleset("2026.1"), time.monotonic_ns, lambda _: None)


def replay(autotune=NAME, reason=""):
    tuning = Tuning("triton", LOOP, autotune, reason, ())
    return Replay(tuning, Path("/case"))


def test_a_tuning_is_replayed_and_nothing_is_settled_anew():
    backend = FakeBackend()
    found = build_program(chooser(), replay(), backend, TRIAL)
    ((event, mode, sets, build),) = backend.events
    assert (event, mode, sets, build.implementation) == ("compile", "device_loop", 30, "triton")
    assert (build.load_from, build.dump_to) == (f"/case/{NAME}", None)
    assert (found.executable.autotune, found.executable.autotune_reason) == (NAME, "")
    assert found.handover == LOOP


def test_a_tuning_without_results_says_why():
    backend = FakeBackend()
    found = build_program(chooser(), replay(None, "XLA wrote no autotune results"), backend, TRIAL)
    assert backend.events[0][3].load_from is None
    assert found.executable.autotune_reason == "XLA wrote no autotune results"


def test_results_that_do_not_fit_end_the_run_as_untuned():
    refusal = RuntimeError("NOT_FOUND: No cached config found for HLO instr: %x\nmore")
    backend = FakeBackend(programs={"triton": (refusal, 0)})
    with pytest.raises(UntunedError, match=f"refused to compile from {NAME}.*No cached") as caught:
        build_program(chooser(), replay(), backend, TRIAL)
    assert status_of(caught.value) == "untuned"
    assert len(backend.events) == 1, "nothing may be compiled a second time"


def test_memory_that_runs_out_is_not_the_tunings_fault():
    refusal = RuntimeError("RESOURCE_EXHAUSTED: out of memory")
    backend = FakeBackend(programs={"triton": (refusal, 0)})
    with pytest.raises(RuntimeError, match="RESOURCE") as caught:
        build_program(chooser(), replay(), backend, TRIAL)
    assert status_of(caught.value) == "out_of_memory"


def test_without_a_tuner_the_run_settles_the_mode():
    backend = FakeBackend(gemm_s=0.002)
    found = build_program(chooser(), None, backend, TRIAL)
    assert found.handover.mode == "single"
    assert "tuning_attempts=0" in found.executable.autotune_reason
    names = [event[0] for event in backend.events]
    assert names == ["compile", "allocate", "release", "compile"]


def test_a_loop_asked_for_still_needs_the_pilots_period():
    found = build_program(chooser(dispatch="device_loop"), None, FakeBackend(gemm_s=0.0001), TRIAL)
    assert found.handover.mode == "device_loop"
    assert 8 <= found.handover.sets <= 10  # 1 ms of GEMMs that take 100 µs each


def test_a_cpu_has_nothing_to_tune():
    found = build_program(chooser("cpu"), None, FakeBackend(), TRIAL)
    assert found.executable.autotune_reason == "XLA tunes nothing on a CPU"
    assert found.handover == Handover("single", found.handover.reason, 2)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (FAKE_HLO + " " * MAXIMUM_HLO_BYTES, "bytes; 8388608 are allowed"),
        (FAKE_HLO.replace("  ROOT", "  ?\n  ROOT"), "line 4 is no instruction"),
    ],
)
def test_a_program_that_the_checker_could_not_read_is_not_measured(text, problem):
    backend = FakeBackend(programs={"library": (text, 0.001)})
    with pytest.raises(MeasurementError, match=problem) as caught:
        build_program(chooser("cpu"), None, backend, TRIAL)
    assert status_of(caught.value) == "unsupported"
    assert "backend.dispatch=single" in caught.value.hint


def test_a_plan_for_a_cpu_tunes_nothing():
    plan = small_plan()
    assert (plan.backend.implementation, plan.backend.tuning_attempts) == ("library", 0)
