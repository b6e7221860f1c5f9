"""Tune each case once on each device, before its first run, and hand the outcome to all its runs.

XLA's autotuner settles on other kernels from process to process, some of them slower by several
per cent. So a fresh process lets it tune, further ones compile the library's other algorithms, or
tune again where the results name none. Their programs are then timed in turn, round after round:
all of them in heats, the fastest few in a final if they are close, and every run replays the
results behind the winner.
"""

import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path

from kit.bundle.durable import replace as write_file
from kit.bundle.layout import autotune_name
from kit.bundle.reader import MAXIMUM_AUTOTUNE_BYTES
from kit.candidates import choose
from kit.evidence import Candidate
from kit.plan import Backend, Implementation
from kit.runner.algorithms import others
from kit.runner.failure import recordable
from kit.runner.job import Job, Report, Tuning, ended
from kit.runner.process import run_job
from kit.runner.tuner_messages import Built, Request, Stint
from kit.runner.tuner_process import Tuner, TunerFailureError, tuner


@dataclass(frozen=True, slots=True)
class Race:
    """Timings of each program in turn, without the first, in which clocks still fall."""

    rounds: int
    unsettled: int
    lead_ms: int
    timed_ms: int


HEATS = Race(rounds=6, unsettled=1, lead_ms=0, timed_ms=120)
"""Long enough that a timing's start and end are below 0.1 % of it."""
FINAL = Race(rounds=3, unsettled=0, lead_ms=1_200, timed_ms=600)
"""A power limit is kept over a second (H200): until then a program runs at the clock that others
before it have left it, and one that draws more power looks faster than it is (2048^3 in bf16: 27.0
against 27.3 µs in heats, and no faster alone)."""
_NEAR, _FINALISTS = 1.03, 3
"""Who reaches the final: the fastest of those within 3 % of the one that the heats would choose.
`between_final_s` of the edition's rules bounds what a final draws."""
_BUDGET_S = 30.0
"""A further attempt begins only while it would probably end within this time."""

OnPhase = Callable[[str], None]
Entrants = dict[str, tuple[Tuner, Implementation]]


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


def raced(
    candidates: tuple[Candidate, ...], entrants: Entrants, on_phase: OnPhase
) -> tuple[Candidate, ...]:
    """The candidates with their periods: those of the heats, or of the final where there is one.

    Where the final loses a process, all others race again: its choice would be one of what is left.
    """
    on_phase("tune: compare")
    heats = race(entrants, HEATS)
    ranked = with_periods(candidates, heats, {})
    finalists = {name: entrants[name] for name in near_the_fastest(ranked, heats)}
    if len(finalists) < 2:
        return ranked
    on_phase("tune: final")
    periods = race(finalists, FINAL)
    lost = {process for name, (process, _) in finalists.items() if name not in periods}
    if lost:
        living = {name: entrants[name] for name in heats if entrants[name][0] not in lost}
        return raced(candidates, living, on_phase)
    eliminated = {name: heat for name, heat in heats.items() if name not in finalists}
    return with_periods(candidates, periods, eliminated)


def near_the_fastest(candidates: tuple[Candidate, ...], heats: dict[str, float]) -> list[str]:
    """The programs that meet in the final: none with extra work where a clean one was timed."""
    chosen = choose(candidates)
    if chosen is None:
        return []
    unlike = {c.hlo for c in candidates if bool(c.extra) != bool(chosen.extra)}
    fastest = sorted((name for name in heats if name not in unlike), key=heats.__getitem__)
    return [name for name in fastest if heats[name] <= _NEAR * heats[fastest[0]]][:_FINALISTS]


def race(entrants: Entrants, kind: Race) -> dict[str, float]:
    """Median period in ns of every program, each timed in turn.

    The programs of a process that fails on the way are left out. It is asked nothing more: what it
    says next may be the late answer to another question.
    """
    times: dict[str, list[float]] = {name: [] for name in entrants}
    lost: set[Tuner] = set()
    for _ in range(kind.rounds):
        for name, (process, implementation) in entrants.items():
            if process not in lost:
                try:
                    stint = Stint(implementation, kind.lead_ms, kind.timed_ms)
                    times[name].append(process.period_ns(stint))
                except TunerFailureError:
                    lost.add(process)
    return {
        name: statistics.median(times[name][kind.unsettled :])
        for name, (process, _) in entrants.items()
        if process not in lost
    }


def with_periods(
    candidates: tuple[Candidate, ...], periods: dict[str, float], eliminated: dict[str, float]
) -> tuple[Candidate, ...]:
    """The candidates with their periods, or why they have none.

    A program that came up before keeps the first one's. One that was `eliminated` has none but that
    of the heats, where clocks are others than in the final.
    """
    seen: dict[str, int] = {}
    done = []
    for candidate in candidates:
        name = candidate.hlo
        if name is None or candidate.reason:
            done.append(candidate)
        elif name in seen:
            done.append(replace(candidate, reason=f"the same program as in attempt {seen[name]}"))
        elif name in eliminated:
            seen[name] = candidate.attempt
            reason = f"{eliminated[name]:.0f} ns in the heats, not in the final"
            done.append(replace(candidate, reason=reason))
        elif name in periods:
            seen[name] = candidate.attempt
            done.append(replace(candidate, period_ns=periods[name]))
        else:
            done.append(replace(candidate, reason="its process failed while programs were timed"))
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
