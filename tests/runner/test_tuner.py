"""A tuner compiles, keeps the autotune results, and times what it is asked for."""

import time
from dataclasses import replace
from pathlib import Path

import pytest

from fakes import FakeBackend
from hlo_texts import library_gemms, plain_dots
from kit.bundle.layout import hlo_name
from kit.bundle.reader import MAXIMUM_HLO_BYTES
from kit.errors import MeasurementError
from kit.records import decode, encode
from kit.runner.dispatch import Handover
from kit.runner.failure import failure
from kit.runner.job import Job
from kit.runner.tuner import serve
from kit.runner.tuner_messages import Message, Request, Stint
from plans import small_plan

PLAN = small_plan()
CASE = PLAN.cases[0]
LIBRARY, TRITON = library_gemms(CASE, 1), plain_dots(CASE, 1)
ONE = Handover("single", "asked for", 2)


def job(plan=PLAN):
    return Job(plan, CASE.id, "gpu-0123456789ab", None, None, 1, 0, "/case", "/run", None)


def stint(implementation, lead_ms=0, timed_ms=120):
    return encode(Stint(implementation, lead_ms, timed_ms))


def served(tmp_path, backend, stints=(), implementations=("library", "triton"), **changes):
    request = Request(job(), 1, implementations, ONE, str(tmp_path))
    sent = []
    serve(replace(request, **changes), backend, 2**20, stints, sent.append)
    return sent, next(message.built for message in sent if message.built is not None)


def test_both_are_compiled_and_timed_in_turn(tmp_path):
    backend = FakeBackend(programs={"library": (LIBRARY, 0.004), "triton": (TRITON, 0.002)})
    sent, built = served(tmp_path, backend, map(stint, ("library", "triton", "library")))
    assert [c.hlo for c in built.candidates] == [hlo_name(LIBRARY), hlo_name(TRITON)]
    assert [c.gemms for c in built.candidates] == [{"__cublas$lt$matmul": 1}, {"dot": 1}]
    assert [Path(path).read_text() for path in built.results.values()] == [
        "tuned library\n", "tuned triton\n",
    ]  # fmt: skip
    periods = [message.period_ns for message in sent if message.period_ns is not None]
    assert periods == pytest.approx([4e6, 2e6, 4e6], rel=0.1)
    assert [event[0] for event in backend.events] == ["compile", "compile", "allocate"]


class Counting(FakeBackend):
    """It keeps how many calls were handed over at a time."""

    def __init__(self, **given):
        super().__init__(**given)
        self.calls = []

    def enqueue(self, calls):
        self.calls.append(calls)
        return super().enqueue(calls)


def test_a_stints_lead_is_launched_before_what_is_timed(tmp_path):
    backend = Counting(programs={"library": (LIBRARY, 0.001)})
    served(tmp_path, backend, [stint("library", 600, 60)], implementations=("library",))
    lead, timed = backend.calls[-2:]
    assert lead > 8 * timed
    assert timed >= 3


def test_a_disturbed_pilot_costs_later_stints_nothing(tmp_path):
    class Stalled(Counting):
        """The first of the pilot's calls finds the host away for a while."""

        def enqueue(self, calls):
            if len(self.calls) == 3:
                time.sleep(0.3)
            return super().enqueue(calls)

    backend = Stalled(programs={"library": (LIBRARY, 0.001)})
    stints = [stint("library", 200, 60)] * 2
    served(tmp_path, backend, stints, implementations=("library",))
    first, _, second, _ = backend.calls[-4:]
    assert second > 2 * first


def test_what_triton_cannot_compile_is_recorded(tmp_path):
    refusal = RuntimeError("INTERNAL: no config compiles\nmore")
    backend = FakeBackend(0.001, programs={"library": (LIBRARY, 0.001), "triton": (refusal, 0)})
    _, built = served(tmp_path, backend)
    library, triton = built.candidates
    assert library.reason == ""
    assert (triton.hlo, triton.reason) == (None, "RuntimeError: INTERNAL: no config compiles")
    assert list(built.results) == ["library"]


def test_what_cannot_be_read_is_not_timed(tmp_path):
    backend = FakeBackend(
        0.001, programs={"library": (LIBRARY, 0.001), "triton": ("HloModule\n", 0)}
    )
    _, built = served(tmp_path, backend)
    assert "does not begin an HLO module" in built.candidates[1].reason


def test_a_program_too_large_for_a_bundle_ends_the_first_tuner(tmp_path):
    text = LIBRARY + " " * MAXIMUM_HLO_BYTES
    backend = FakeBackend(programs={"library": (text, 0.001), "triton": (text, 0.001)})
    with pytest.raises(MeasurementError, match="bytes; 8388608 are allowed") as caught:
        served(tmp_path, backend)
    status, reason = failure(caught.value)
    assert status == "unsupported"
    assert "backend.dispatch=single" in reason
    assert [event[0] for event in backend.events] == ["compile", "compile"]


def test_one_program_that_is_small_enough_is_timed(tmp_path):
    text = LIBRARY + " " * MAXIMUM_HLO_BYTES
    backend = FakeBackend(programs={"library": (text, 0.001), "triton": (TRITON, 0.001)})
    _, built = served(tmp_path, backend)
    assert "UnsupportedError: the program's HLO" in built.candidates[0].reason
    assert built.candidates[1].reason == ""


@pytest.mark.parametrize(("failing", "other"), [("library", "triton"), ("triton", "library")])
def test_what_cannot_be_launched_leaves_the_other_to_be_timed(tmp_path, failing, other):
    refusal = RuntimeError("RESOURCE_EXHAUSTED: no room for a temporary\nmore")
    programs = {"library": (LIBRARY, 0.002), "triton": (TRITON, 0.002)}
    backend = FakeBackend(programs=programs | {failing: (programs[failing][0], refusal)})
    sent, built = served(tmp_path, backend, [stint(other)])
    reasons = {c.implementation: c.reason for c in built.candidates}
    said = "RuntimeError: RESOURCE_EXHAUSTED: no room for a temporary"
    assert reasons == {failing: said, other: ""}
    assert [c.hlo for c in built.candidates] == [hlo_name(LIBRARY), hlo_name(TRITON)]
    assert sent[-1].period_ns == pytest.approx(2e6, rel=0.1)


def test_nothing_launched_is_the_tuners_end(tmp_path):
    programs = {
        "library": (LIBRARY, RuntimeError("INTERNAL: no such rank")),
        "triton": (TRITON, RuntimeError("RESOURCE_EXHAUSTED: no room")),
    }
    with pytest.raises(RuntimeError, match="no room"):
        served(tmp_path, FakeBackend(programs=programs))


def test_nothing_compiled_is_the_first_ones_fault(tmp_path):
    refusal = RuntimeError("INTERNAL: nothing works")
    with pytest.raises(RuntimeError, match="nothing works"):
        served(
            tmp_path, FakeBackend(programs={"library": (refusal, 0)}), implementations=("library",)
        )


def test_the_first_attempt_settles_the_mode(tmp_path):
    backend = FakeBackend(0.001, programs={"library": (LIBRARY, 0.001)})
    plan = replace(PLAN, backend=replace(PLAN.backend, platform="cuda"))
    _, built = served(tmp_path, backend, implementations=("library",), handover=None, job=job(plan))
    assert built.handover.mode == "single"
    assert "a call costs" in built.handover.reason
    names = [event[0] for event in backend.events]
    assert names == ["compile", "allocate", "release", "compile", "allocate"]


def test_messages_survive_their_journey():
    backend_said = Message(status="out_of_memory", reason="2 sets need 5 bytes")
    assert decode(Message, encode(backend_said)) == backend_said
    request = Request(job(), 2, ("triton",), ONE, "/folder")
    assert decode(Request, encode(request)) == request
