"""Tuning before a case's first run: who is timed, what all runs replay, and what goes wrong."""

import errno
import os
import tempfile
import time
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

import processes
from kit.bundle.layout import autotune_name
from kit.evidence import Candidate
from kit.ruleset import ruleset
from kit.runner import algorithms, race, tuning
from kit.runner.dispatch import Handover
from kit.runner.job import Job, ended
from kit.runner.tuner_messages import Built
from kit.runner.tuner_process import TunerFailureError
from kit.runner.tuning import Tunings, tune
from plans import small_plan

SINGLE = Handover("single", "asked for", 2)


def job(tmp_path, implementation="best", attempts=3, number=1):
    plan = small_plan()
    backend = replace(plan.backend, implementation=implementation, tuning_attempts=attempts)
    return Job(
        plan=replace(plan, backend=backend),
        case=plan.cases[0].id,
        device="cpu",
        pci_bus_id=None,
        uuid=None,
        number=number,
        base_ns=time.monotonic_ns(),
        case_folder=str(tmp_path),
        run_folder=str(tmp_path / "run"),
        tuning=None,
    )


class FakeTuner:
    """An attempt on a device where `programs` are (HLO, period, extra work) by implementation.

    A pair of periods is that of the heats and that of the final; None is no answer.
    """

    def __init__(self, request, programs, log):
        self.request = request
        self.programs = programs
        self.log = log

    def built(self, on_phase):
        if isinstance(self.programs, TunerFailureError):
            raise self.programs
        candidates, results = [], {}
        for implementation in self.request.implementations:
            hlo, _, extra = self.programs[implementation]
            reason = "" if hlo else "XlaRuntimeError: no config"
            candidates.append(
                Candidate(
                    self.request.attempt, implementation, "single", hlo, {}, extra, None, reason
                )
            )
            if hlo:
                path = Path(self.request.folder) / f"{self.request.attempt}-{implementation}.txt"
                path.write_text(f"results of {hlo}")
                results[implementation] = str(path)
        return Built(SINGLE, tuple(candidates), results)

    def period_ns(self, stint):
        self.log.append((self.request.attempt, stint.implementation, stint.lead_ms))
        period_ns = self.programs[stint.implementation][1]
        if isinstance(period_ns, tuple):
            period_ns = period_ns[bool(stint.lead_ms)]
        if period_ns is None:
            raise TunerFailureError("crashed", "gone")
        return period_ns


@pytest.fixture
def device(monkeypatch):
    """Let each attempt compile what is given for it; yields the order of timings."""

    def given(*attempts):
        log, requests = [], []

        @contextmanager
        def start(request):
            requests.append(request)
            yield FakeTuner(request, attempts[request.attempt - 1], log)

        monkeypatch.setattr(tuning, "tuner", start)
        return log, requests

    return given


def test_the_fastest_tuning_of_the_library_is_kept(device, tmp_path):
    log, requests = device(
        {"library": ("a", 210.0, {}), "triton": ("t", 250.0, {})},
        {"library": ("b", 203.0, {})},
        {"library": ("a", 1.0, {})},
    )
    found, text = tune(job(tmp_path), print)
    assert (found.implementation, text) == ("library", "results of b")
    assert found.autotune == autotune_name(text)
    assert [(c.hlo, c.period_ns) for c in found.candidates] == [
        ("a", 210.0), ("t", 250.0), ("b", 203.0), ("a", None),
    ]  # fmt: skip
    assert found.candidates[3].reason == "the same program as in attempt 1"
    assert log == [(1, "library", 0), (1, "triton", 0), (2, "library", 0)] * race.HEATS.rounds
    assert [r.implementations for r in requests] == [
        ("library", "triton"), ("library",), ("library",),
    ]  # fmt: skip
    assert [r.handover for r in requests] == [None, SINGLE, SINGLE]


def test_triton_wins_where_it_is_faster_and_clean(device, tmp_path):
    programs = {"library": ("a", 12.5, {}), "triton": ("t", 10.8, {})}
    device(programs)
    assert tune(job(tmp_path, attempts=1), print)[0].implementation == "triton"
    device(programs | {"triton": ("t", 10.8, {"reduce": 1})})
    found, text = tune(job(tmp_path, attempts=1), print)
    assert (found.implementation, text) == ("library", "results of a")
    assert found.candidates[1].period_ns == 10.8


def test_a_final_at_settled_clocks_decides_among_those_near_the_fastest(device, tmp_path):
    """The heats' winner may live on the power that the others left it."""
    log, _ = device(
        {"library": ("a", (273.0, 274.0), {}), "triton": ("t", 260.0, {"reduce": 1})},
        {"library": ("b", (270.0, 276.0), {})},
        {"library": ("c", (279.0, 273.0), {})},
    )
    phases = []
    found, text = tune(job(tmp_path), phases.append)
    assert text == "results of a"
    assert [(c.hlo, c.period_ns, c.reason) for c in found.candidates] == [
        ("a", 274.0, ""),
        ("t", None, "260 ns in the heats, not in the final"),
        ("b", 276.0, ""),
        ("c", None, "279 ns in the heats, not in the final"),
    ]
    final = [(number, name) for number, name, lead_ms in log if lead_ms]
    assert final == [(2, "library"), (1, "library")] * race.FINAL.rounds
    assert phases == ["tune: compare", "tune: final"]


def test_three_at_most_reach_the_final(device, tmp_path):
    """What it draws is bounded, as GK414 allows for it."""
    log, _ = device(*({"library": (name, 270.0, {})} for name in "abcdef"))
    found, _ = tune(job(tmp_path, "library", 6), print)
    assert [c.period_ns for c in found.candidates] == [270.0] * 3 + [None] * 3
    spent_ms = len([None for *_, lead_ms in log if lead_ms]) * (
        race.FINAL.lead_ms + race.FINAL.timed_ms
    )
    assert spent_ms <= ruleset("2026.1").between_final_s * 1000


@pytest.mark.parametrize("extra", [{}, {"reduce": 1}])
def test_what_a_lost_finalist_leaves_races_again(device, tmp_path, extra):
    """Else a program with extra work would win, or none, while a clean one lives."""
    lost = {"library": ("a", (270.0, None), {}), "triton": ("t", 268.0, extra)}
    log, _ = device(lost, {"library": ("b", (271.0, 272.0), {})}, {"library": ("c", 300.0, {})})
    found, text = tune(job(tmp_path), print)
    assert text == "results of b"
    gone = "its process failed while programs were timed"
    assert [(c.period_ns, c.reason) for c in found.candidates] == [
        (None, gone), (None, gone), (271.0, ""), (300.0, ""),
    ]  # fmt: skip
    assert {number for number, *_ in log[-2 * race.HEATS.rounds :]} == {2, 3}


def test_one_near_the_fastest_needs_no_final(device, tmp_path):
    log, _ = device(
        {"library": ("a", 27.0, {})}, {"library": ("b", 28.0, {})}, {"library": ("c", None, {})}
    )
    found, _ = tune(job(tmp_path, "library"), print)
    assert [c.period_ns for c in found.candidates] == [27.0, 28.0, None]
    assert not any(lead_ms for *_, lead_ms in log)


def test_triton_asked_for_is_taken_with_its_extra_work(device, tmp_path):
    _, requests = device({"triton": ("t", 10.8, {"reduce": 1})}, {"triton": ("t", 10.8, {})})
    assert tune(job(tmp_path, "triton", 2), print)[0].implementation == "triton"
    assert {request.implementations for request in requests} == {("triton",)}


def test_a_library_that_fails_leaves_triton_to_be_tuned_again(device, tmp_path):
    _, requests = device(
        {"library": (None, 0.0, {}), "triton": ("t", 10.8, {})}, {"triton": ("u", 9.0, {})}
    )
    found, text = tune(job(tmp_path, attempts=2), print)
    assert text == "results of u"
    assert found.candidates[0].reason == "XlaRuntimeError: no config"
    assert requests[1].implementations == ("triton",)


def test_a_later_attempt_that_fails_is_recorded(device, tmp_path):
    failure = TunerFailureError("out_of_memory", "2 rotation sets need too much")
    device({"library": ("a", 2.0, {})}, failure)
    found, _ = tune(job(tmp_path, "library", 2), print)
    assert found.candidates[1].reason == "2 rotation sets need too much"
    assert found.candidates[1].hlo is None


def test_a_process_lost_in_the_race_is_left_out(device, tmp_path):
    device({"library": ("a", 2.0, {})}, {"library": ("b", None, {})})
    found, text = tune(job(tmp_path, "library", 2), print)
    assert text == "results of a"
    assert found.candidates[1].reason == "its process failed while programs were timed"


@pytest.mark.parametrize(("late", "asked"), [("library", 1), ("triton", 2)])
def test_a_process_that_answers_too_late_is_asked_nothing_more(device, tmp_path, late, asked):
    """It would take the next question's answer for the one that it still owes."""
    programs = {"library": ("a", 2.0, {}), "triton": ("t", 1.0, {})}
    programs[late] = (programs[late][0], None, {})
    log, _ = device(programs, {"library": ("b", 3.0, {})})
    found, text = tune(job(tmp_path, attempts=2), print)
    assert text == "results of b"
    assert [entry[0] for entry in log].count(1) == asked
    reason = "its process failed while programs were timed"
    assert [c.reason for c in found.candidates] == [reason, reason, ""]


def test_tuning_ends_when_its_time_is_up(device, tmp_path, monkeypatch):
    monkeypatch.setattr(tuning, "_BUDGET_S", 0.0)
    device({"library": ("a", 2.0, {})})
    found, _ = tune(job(tmp_path, "library", 3), print)
    assert [c.reason for c in found.candidates] == [""] + ["not tried: attempts may take 0 s"] * 2


def test_every_run_replays_one_tuning(device, tmp_path, monkeypatch):
    _, requests = device({"library": ("a", 2.0, {})})
    jobs = []
    monkeypatch.setattr(tuning, "run_job", lambda job, _: jobs.append(job) or ended("measured", ""))
    tunings = Tunings()
    for number in (1, 2, 3):
        tunings.run(job(tmp_path, "library", 1, number), print)
    assert len(requests) == 1
    assert [job.number for job in jobs] == [1, 2, 3]
    assert len({job.tuning for job in map(_hashable, jobs)}) == 1
    assert (tmp_path / jobs[0].tuning.autotune).read_text() == "results of a"
    assert jobs[0].tuning.handover == SINGLE


def _hashable(job):
    return replace(job, tuning=repr(job.tuning))


def test_a_failed_tuning_fails_every_run_of_its_case(device, tmp_path, monkeypatch):
    _, requests = device(TunerFailureError("unsupported", "fp4 is unsupported"))
    monkeypatch.setattr(tuning, "run_job", lambda *_: pytest.fail("nothing may be measured"))
    tunings = Tunings()
    for number in (1, 2):
        report = tunings.run(job(tmp_path, number=number), print)
        assert (report.status, report.reason) == ("unsupported", "tuner: fp4 is unsupported")
    assert len(requests) == 1


def test_a_folder_that_cannot_be_cleared_away_fails_no_tuning(device, tmp_path, monkeypatch):
    def refuse(*_arguments, **_options):
        raise OSError(errno.ENOTEMPTY, "Directory not empty")

    device({"library": ("a", 2.0, {})})
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(os, "rmdir", refuse)
    assert tune(job(tmp_path, "library", 1), print)[1] == "results of a"


def test_without_attempts_no_tuner_runs(tmp_path, monkeypatch):
    monkeypatch.setattr(tuning, "tune", lambda *_: pytest.fail("no tuner was asked for"))
    jobs = []
    monkeypatch.setattr(tuning, "run_job", lambda job, _: jobs.append(job) or ended("measured", ""))
    Tunings().run(job(tmp_path, "library", 0), print)
    assert jobs[0].tuning is None


def test_real_processes_tune_and_are_gone_afterwards(tmp_path):
    """A CPU tunes nothing, so there is a program and no file; its processes are the real ones."""
    phases = []
    found, text = tune(job(tmp_path, "library", 2), phases.append)
    assert (found.autotune, text) == (None, "")
    assert found.autotune_reason == "XLA wrote no autotune results"
    first, second = found.candidates
    assert first.period_ns > 0
    assert second.reason == "the same program as in attempt 1"
    assert first.hlo == second.hlo
    assert phases[-1] == "tune: compare"
    assert not processes.children()


def test_a_real_tuner_without_memory_says_so(tmp_path):
    plan = small_plan(m=2**20, n=2**20, k=2**10)
    huge = replace(job(tmp_path, "library", 1), case=plan.cases[0].id)
    backend = replace(plan.backend, tuning_attempts=1)
    with pytest.raises(TunerFailureError, match="2 rotation sets need") as failure:
        tune(replace(huge, plan=replace(plan, backend=backend)), print)
    assert failure.value.status == "out_of_memory"


def test_the_librarys_other_algorithms_are_compiled_side_by_side(tmp_path, monkeypatch):
    """Where XLA's results name an algorithm, later attempts are given others instead of tuning."""
    chosen = "backend: CUBLASLT\n backend_config {\n gemm {\n algorithm: 1\n }\n }\n"
    living, most, given = [], [], []

    class Ranked(FakeTuner):
        def built(self, on_phase):
            most.append(len(living))
            if self.request.load_from is None:
                text, rank = "\n" + chosen, 1
            else:
                text = Path(self.request.load_from).read_text()
                rank = algorithms.algorithm(text)
            given.append((self.request.attempt, rank))
            if rank == 3:
                raise TunerFailureError("crashed", "Algorithm index is out of range: 3")
            self.programs = {"library": (f"rank{rank}", 210.0 - rank, {})}
            built = super().built(on_phase)
            Path(built.results["library"]).write_text(text)
            return built

    @contextmanager
    def start(request):
        living.append(request.attempt)
        yield Ranked(request, None, [])

    monkeypatch.setattr(tuning, "tuner", start)
    found, text = tune(job(tmp_path, "library", 4), print)
    assert given == [(1, 1), (2, 0), (3, 2), (4, 3)]
    assert most == [1, 4, 4, 4]
    assert algorithms.algorithm(text) == 2
    assert [candidate.hlo for candidate in found.candidates] == ["rank1", "rank0", "rank2", None]
    assert "out of range" in found.candidates[3].reason
