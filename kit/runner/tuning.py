"""Tune each case once on each device, before its first run, and hand the outcome to all its runs.

XLA's autotuner settles on other kernels from process to process, some of them slower by several
per cent. So each of several fresh processes lets it tune; their programs are then timed in turn,
round after round, and every run replays the results behind the fastest.
"""

import statistics
import tempfile
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path

from kit.bundle.durable import replace as write_file
from kit.bundle.layout import autotune_name
from kit.bundle.reader import MAXIMUM_AUTOTUNE_BYTES
from kit.candidates import choose
from kit.checker.printable import printable
from kit.evidence import Candidate
from kit.plan import Backend, Implementation
from kit.runner.job import Job, Report, Tuning, ended
from kit.runner.process import run_job
from kit.runner.tuner_messages import Built, Request
from kit.runner.tuner_process import Tuner, TunerFailureError, tuner
from kit.system import scrub

_ROUNDS = 6
"""Timings of each program, of about 0.12 s; the first, in which clocks still fall, is left out."""
_BUDGET_S = 30.0
"""A further attempt begins only while it would probably end within this time."""

OnPhase = Callable[[str], None]


@dataclass(slots=True)
class Tunings:
    """What was settled so far, by case and device; a failed tuning fails all runs of its case."""

    found: dict[tuple[str, str], Tuning | TunerFailureError] = field(default_factory=dict)

    def run(self, job: Job, on_phase: OnPhase) -> Report:
        """Run the job in a fresh process, after tuning if the plan asks for it."""
        if not job.plan.backend.tuning_attempts:
            return run_job(job, on_phase)
        key = (job.case, job.device)
        if key not in self.found:
            try:
                tuning, text = tune(job, on_phase)
            except TunerFailureError as failure:
                self.found[key] = failure
            else:
                self.found[key] = tuning
                if tuning.autotune is not None:
                    write_file(Path(job.case_folder) / tuning.autotune, text.encode())
        found = self.found[key]
        if isinstance(found, TunerFailureError):
            return ended(found.status, f"tuner: {found.reason}")
        return run_job(replace(job, tuning=found), on_phase)


@dataclass(frozen=True, slots=True)
class Attempt:
    """A living tuner and what it has built."""

    tuner: Tuner
    built: Built


def implementations(plan: Backend) -> tuple[Implementation, ...]:
    """What the first attempt compiles; later ones only tune the first of these again."""
    return ("library", "triton") if plan.implementation == "best" else (plan.implementation,)


def tune(job: Job, on_phase: OnPhase) -> tuple[Tuning, str]:
    """Tune the job's case on its device; (what every run does, the text of its autotune results).

    Raises:
        TunerFailureError: the first attempt compiled nothing, or no program could be timed.
    """
    with tempfile.TemporaryDirectory(prefix="gemm-kit-tuner-") as folder, ExitStack() as living:
        attempts, candidates = _attempts(job, folder, living, on_phase)
        on_phase("tune: compare")
        periods = race(attempts)
        candidates = with_periods(candidates, periods)
        chosen = choose(candidates)
        if chosen is None:
            raise TunerFailureError("crashed", "no program could be timed")
        built = next(a.built for a in attempts if chosen in _of(a, candidates))
        text, reason = _results(built.results.get(chosen.implementation))
    tuning = Tuning(
        implementation=chosen.implementation,
        settled=built.settled,
        autotune=None if reason else autotune_name(text),
        autotune_reason=reason,
        candidates=candidates,
    )
    return tuning, text


def _of(attempt: Attempt, candidates: tuple[Candidate, ...]) -> list[Candidate]:
    number = attempt.built.candidates[0].attempt
    return [candidate for candidate in candidates if candidate.attempt == number]


def _attempts(
    job: Job, folder: str, living: ExitStack, on_phase: OnPhase
) -> tuple[list[Attempt], tuple[Candidate, ...]]:
    plan = job.plan.backend
    wanted = implementations(plan)
    attempts: list[Attempt] = []
    candidates: list[Candidate] = []
    start_s, longest_s = time.monotonic(), 0.0
    for number in range(1, plan.tuning_attempts + 1):
        begin_s = time.monotonic()
        settled = attempts[0].built.settled if attempts else None
        if settled is not None and begin_s - start_s + longest_s > _BUDGET_S:
            why = f"not tried: tuning may take {_BUDGET_S:g} s"
            candidates.append(_missing(number, wanted[0], attempts[0], why))
            continue
        request = Request(job, number, wanted, settled, folder)
        try:
            process = living.enter_context(tuner(request))
            built = process.built(job.plan.timeout_s, on_phase)
        except TunerFailureError as failure:
            if not attempts:
                raise
            candidates.append(_missing(number, wanted[0], attempts[0], failure.reason[:800]))
            continue
        attempts.append(Attempt(process, built))
        candidates.extend(built.candidates)
        first = next(c.implementation for c in built.candidates if not c.reason)
        wanted = (first,)
        longest_s = max(longest_s, time.monotonic() - begin_s)
    told = (replace(c, reason=printable(scrub(c.reason), 800)) for c in candidates)
    return attempts, tuple(told)


def _missing(number: int, wanted: Implementation, first: Attempt, reason: str) -> Candidate:
    return Candidate(number, wanted, first.built.settled.mode, None, {}, {}, None, reason)


def race(attempts: list[Attempt]) -> dict[str, float]:
    """Median period in ns of every program, by the name of its HLO, each timed in turn.

    A program whose process fails on the way is left out.
    """
    entrants: dict[str, tuple[Tuner, Implementation]] = {}
    for attempt in attempts:
        for candidate in attempt.built.candidates:
            if candidate.hlo is not None and not candidate.reason:
                entrants.setdefault(candidate.hlo, (attempt.tuner, candidate.implementation))
    times: dict[str, list[float]] = {name: [] for name in entrants}
    for _ in range(_ROUNDS):
        for name, (process, implementation) in tuple(entrants.items()):
            try:
                times[name].append(process.period_ns(implementation))
            except TunerFailureError:
                del entrants[name]
    return {name: statistics.median(times[name][1:]) for name in entrants}


def with_periods(
    candidates: tuple[Candidate, ...], periods: dict[str, float]
) -> tuple[Candidate, ...]:
    """The candidates with their periods; a program that came up before keeps the first one's."""
    seen: dict[str, int] = {}
    done = []
    for candidate in candidates:
        name = candidate.hlo
        if name is None or candidate.reason:
            done.append(candidate)
        elif name in seen:
            done.append(replace(candidate, reason=f"the same program as in attempt {seen[name]}"))
        elif name in periods:
            seen[name] = candidate.attempt
            done.append(replace(candidate, period_ns=periods[name]))
        else:
            done.append(replace(candidate, reason="its process ended while it was timed"))
    return tuple(done)


def _results(path: str | None) -> tuple[str, str]:
    """(text of the autotune results, why there are none or "")."""
    if path is None:
        return "", "XLA wrote no autotune results"
    data = Path(path).read_bytes()
    if not data.strip():
        return "", "XLA's autotune results are empty"
    if len(data) > MAXIMUM_AUTOTUNE_BYTES:
        return "", f"XLA's autotune results have {len(data)} bytes, more than a bundle may hold"
    try:
        return data.decode("utf-8"), ""
    except UnicodeDecodeError:
        return "", "XLA's autotune results are no text"
