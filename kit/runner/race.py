"""Which of the tuner's programs is the fastest: all of them in heats, the first few in a final.

They are timed in turn, round after round, each in the process that compiled it.
"""

import statistics
from collections.abc import Callable
from dataclasses import dataclass, replace

from kit.candidates import choose
from kit.evidence import Candidate
from kit.plan import Implementation
from kit.runner.tuner_messages import Stint
from kit.runner.tuner_process import Tuner, TunerFailureError

Entrants = dict[str, tuple[Tuner, Implementation]]
"""Whom to ask for timings of each program, by the name of its HLO."""


@dataclass(frozen=True, slots=True)
class Race:
    """Timings of each program in turn. The first `unsettled` do not count: clocks still fall."""

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


def raced(
    candidates: tuple[Candidate, ...], entrants: Entrants, on_phase: Callable[[str], None]
) -> tuple[Candidate, ...]:
    """The candidates with their periods: those of the heats, or of the final where there is one.

    Where the final loses a process, all others race again: its choice would be one of what is left.
    """
    on_phase("tune: compare")
    heats = timed_in_turn(entrants, HEATS)
    ranked = with_periods(candidates, heats, {})
    finalists = {name: entrants[name] for name in near_the_fastest(ranked, heats)}
    if len(finalists) < 2:
        return ranked
    on_phase("tune: final")
    periods = timed_in_turn(finalists, FINAL)
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


def timed_in_turn(entrants: Entrants, kind: Race) -> dict[str, float]:
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
