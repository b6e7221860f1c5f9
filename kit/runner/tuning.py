"""Tune each case once on each device, before its first run, and hand the outcome to all its runs.

XLA's autotuner settles on other kernels from process to process, some of them slower by several
per cent. So a fresh process lets it tune, further ones compile the library's other algorithms, or
tune again where the results name none. Their programs then race (`kit.runner.race`), and every run
replays the results behind the winner.
"""

import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path

from kit.bundle import durable
from kit.bundle.layout import autotune_name
from kit.bundle.reader import MAXIMUM_AUTOTUNE_BYTES
from kit.candidates import choose
from kit.evidence import Candidate
from kit.plan import Backend, Implementation
from kit.runner.algorithms import others
from kit.runner.failure import recordable
from kit.runner.job import Job, Report, Tuning, ended
from kit.runner.process import run_job
from kit.runner.race import Entrants, raced
from kit.runner.tuner_messages import Built, Request
from kit.runner.tuner_process import Tuner, TunerFailureError, tuner

_BUDGET_S = 30.0
"""A further attempt begins only while it would probably end within this time."""

OnPhase = Callable[[str], None]


@dataclass(slots=True)
class Tunings:
    """What was settled so far, by case and device; a tuner's failure fails all runs of its case."""

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
                    durable.replace(Path(job.case_folder) / tuning.autotune, text.encode())
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
    """What the first attempt compiles; later ones only vary the first of these."""
    return ("library", "triton") if plan.implementation == "best" else (plan.implementation,)


def tune(job: Job, on_phase: OnPhase) -> tuple[Tuning, str]:
    """Tune the job's case on its device; (what every run does, the text of its autotune results).

    Raises:
        TunerFailureError: the first attempt compiled nothing, or no program could be timed.
    """
    # What a tuner started may be writing still: that must not hide what was settled.
    scratch = tempfile.TemporaryDirectory(prefix="gemm-kit-tuner-", ignore_cleanup_errors=True)
    with scratch as folder, ExitStack() as living:
        attempts, candidates = _attempts(job, folder, living, on_phase)
        candidates = raced(candidates, entrants_of(attempts), on_phase)
        chosen = choose(candidates)
        if chosen is None:
            raise TunerFailureError("crashed", "no program could be timed")
        built = next(
            attempt.built
            for attempt in attempts
            if attempt.built.candidates[0].attempt == chosen.attempt
        )
        text, reason = _results(built.results.get(chosen.implementation))
    tuning = Tuning(
        implementation=chosen.implementation,
        handover=built.handover,
        autotune=None if reason else autotune_name(text),
        autotune_reason=reason,
        candidates=candidates,
    )
    return tuning, text


def _attempts(
    job: Job, folder: str, living: ExitStack, on_phase: OnPhase
) -> tuple[list[Attempt], tuple[Candidate, ...]]:
    """The living tuners, and every candidate that they compiled or failed to compile."""
    plan = job.plan.backend
    start_s = time.monotonic()
    process = living.enter_context(tuner(Request(job, 1, implementations(plan), None, folder)))
    first = Attempt(process, process.built(on_phase))
    took_s = time.monotonic() - start_s
    handover = first.built.handover
    wanted = next(c.implementation for c in first.built.candidates if not c.reason)
    results, _ = _results(first.built.results.get(wanted))
    numbers = range(2, plan.tuning_attempts + 1)
    variants = tuple(islice(others(results), len(numbers))) if wanted == "library" else ()
    later: Iterator[Attempt | Candidate]
    if variants:
        requests = []
        for number, text in zip(numbers, variants, strict=True):
            path = Path(folder) / f"{number}-given.txt"
            path.write_text(text, encoding="utf-8")
            requests.append(Request(job, number, (wanted,), handover, folder, str(path)))
        later = _side_by_side(requests, living, on_phase)
    else:
        requests = [Request(job, number, (wanted,), handover, folder) for number in numbers]
        later = _in_turn(requests, living, on_phase, _BUDGET_S - took_s, took_s)
    attempts, candidates = [first], list(first.built.candidates)
    for found in later:
        if isinstance(found, Attempt):
            attempts.append(found)
            candidates.extend(found.built.candidates)
        else:
            candidates.append(found)
    told = (replace(c, reason=recordable(c.reason)) for c in candidates)
    return attempts, tuple(told)


def _side_by_side(
    requests: list[Request], living: ExitStack, on_phase: OnPhase
) -> Iterator[Attempt | Candidate]:
    """Tuners that only compile and so do not disturb one another, all at work at the same time."""
    processes = [living.enter_context(tuner(request)) for request in requests]
    on_phase(f"tune: {len(requests)} more algorithms")
    for request, process in zip(requests, processes, strict=True):
        yield _heard(request, process, on_phase)


def _in_turn(
    requests: list[Request], living: ExitStack, on_phase: OnPhase, left_s: float, longest_s: float
) -> Iterator[Attempt | Candidate]:
    """Tuners that time as they compile, one after another, while there are seconds left."""
    for request in requests:
        if longest_s > left_s:
            yield _missing(request, f"not tried: attempts may take {_BUDGET_S:g} s")
            continue
        start_s = time.monotonic()
        yield _heard(request, living.enter_context(tuner(request)), on_phase)
        took_s = time.monotonic() - start_s
        left_s, longest_s = left_s - took_s, max(longest_s, took_s)


def _heard(request: Request, process: Tuner, on_phase: OnPhase) -> Attempt | Candidate:
    try:
        return Attempt(process, process.built(on_phase))
    except TunerFailureError as failure:
        return _missing(request, failure.reason)


def _missing(request: Request, reason: str) -> Candidate:
    assert request.handover is not None  # noqa: S101 - only the first attempt settles it
    wanted = request.implementations[0]
    return Candidate(request.attempt, wanted, request.handover.mode, None, {}, {}, None, reason)


def entrants_of(attempts: list[Attempt]) -> Entrants:
    """Whom to ask for timings of each program, by the name of its HLO."""
    entrants: Entrants = {}
    for attempt in attempts:
        for candidate in attempt.built.candidates:
            if candidate.hlo is not None and not candidate.reason:
                entrants.setdefault(candidate.hlo, (attempt.tuner, candidate.implementation))
    return entrants


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
