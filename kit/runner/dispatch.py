"""Which dispatch mode: is one call's cost hidden behind one kernel's time?"""

import math
import statistics
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise

from kit.backends import Backend, Build
from kit.evidence import Candidate, Dispatch
from kit.plan import Backend as BackendPlan
from kit.plan import DispatchMode, Fill, Implementation
from kit.rotation import sets_for
from kit.ruleset import Ruleset
from kit.timing import Clock

_CALLS = 24
"""Calls of a pilot: below the 32 executions that JAX lets run ahead, so none of them waits."""
_COSTED = 8
"""Calls whose host cost counts: later ones may wait for room in the driver's launch queue."""


@dataclass(frozen=True, slots=True)
class Pilot:
    """Host cost of handing over one call, and the time until the device had done it, in ns."""

    enqueue_ns: int
    period_ns: int


def pilot(backend: Backend, clock: Clock) -> Pilot:
    """Time a few calls after two that load kernels and libraries."""
    backend.wait_for(backend.enqueue(2))
    marks = [clock()]
    last = None
    for _ in range(_CALLS):
        last = backend.enqueue(1)
        marks.append(clock())
    # Waiting for the whole pool would add a microsecond for each of its thousands of buffers.
    backend.wait_for(last)
    costs = [later - earlier for earlier, later in pairwise(marks[: _COSTED + 1])]
    return Pilot(
        enqueue_ns=round(statistics.median(costs)), period_ns=(clock() - marks[0]) // _CALLS
    )


def choose(plan: BackendPlan, found: Pilot | None, rules: Ruleset) -> tuple[DispatchMode, str]:
    """The mode and the reason for it, given the pilot of `single` (None where it was not run)."""
    if plan.dispatch != "auto":
        return plan.dispatch, f"backend.dispatch={plan.dispatch}"
    if found is None:
        return "single", "the host computes: a call costs the same in every mode"
    cost = f"a call costs {found.enqueue_ns} ns, a GEMM takes {found.period_ns} ns"
    if found.enqueue_ns <= rules.dispatch_headroom * found.period_ns:
        return "single", cost
    return "device_loop", cost


@dataclass(frozen=True, slots=True)
class Settled:
    """How launches will be handed over: mode, the reason for it, buffer sets."""

    mode: DispatchMode
    reason: str
    sets: int


@dataclass(frozen=True, slots=True)
class Try:
    """What a pilot of `single` needs: the fewest sets, and what fills them."""

    implementation: Implementation
    minimum_sets: int
    fill: Fill
    seed: str


@dataclass(frozen=True, slots=True)
class Chooser:
    """What decides the mode beside the device itself, and where progress goes."""

    plan: BackendPlan
    rules: Ruleset
    clock: Clock
    report: Callable[[str], None]

    def settle(self, backend: Backend, attempt: Try) -> Settled:
        """Choose mode and sets, with a pilot of `single` where plan or loop need one."""
        found, period_ns = None, math.inf
        if self.plan.platform != "cpu" and self.plan.dispatch in ("auto", "device_loop"):
            self.report("pilot")
            backend.compile("single", attempt.minimum_sets, Build(attempt.implementation))
            backend.allocate(attempt.minimum_sets, attempt.fill, attempt.seed)
            found = pilot(backend, self.clock)
            period_ns = found.period_ns
            backend.release()
        mode, reason = choose(self.plan, found, self.rules)
        return Settled(mode, reason, sets_for(mode, attempt.minimum_sets, period_ns))


def record(
    settled: Settled, found: Pilot, per_call: int, candidates: tuple[Candidate, ...]
) -> Dispatch:
    """The dispatch document, from the pilot of the program that will be used."""
    return Dispatch(
        mode=settled.mode,
        reason=settled.reason,
        pilot_enqueue_ns=found.enqueue_ns,
        pilot_period_ns=found.period_ns // per_call,
        candidates=candidates,
    )
