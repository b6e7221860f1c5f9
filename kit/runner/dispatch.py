"""Which dispatch mode: are one call's cost and the gap after it small beside one kernel's time?"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise

from kit.backends import Backend, Build
from kit.errors import UnsupportedError
from kit.evidence import Candidate, Dispatch
from kit.plan import Backend as BackendPlan
from kit.plan import DispatchMode, Fill, Implementation
from kit.rotation import LOOP_BODY_NS, MOST_SETS, SHORTEST_GEMM_NS, most_sets, sets_for
from kit.ruleset import Ruleset
from kit.timing import Clock

_CALLS = 24
"""Calls of a pilot: below the 32 executions that JAX lets run ahead, so none waits for JAX."""
_SINGLE_GAP_NS = 5_000
"""What a GEMM launched on its own may lose between kernels: on an H200 5 µs for e4m3 and int8 at
4096^3, 3.2 to 3.5 µs for fp64 and fp32, 1 to 2.8 µs for bf16."""
_GAP_SHARE = 0.01


@dataclass(frozen=True, slots=True)
class Pilot:
    """Host cost of handing over one call, and the time until the device had done it, in ns."""

    enqueue_ns: int
    period_ns: int


def pilot(backend: Backend, per_call: int, clock: Clock) -> Pilot:
    """Time a few calls of `per_call` GEMMs each, after two that load kernels and libraries.

    A call's cost is the mean over all of them for one launch a call, so that it is as large as the
    period where the host limits it. For a loop it is the least of them: a call may wait for room in
    the driver's queue, which holds a thousand launches (H200: 4.8 calls of 96 GEMMs of 4096^3, each
    with a memset, beside 28 calls of loops that XLA made graphs of), or for a disturbed host (once
    119 ms of an 81 ms call, beside 37).
    """
    backend.wait_for(backend.enqueue(2))
    marks = [clock()]
    last = None
    for _ in range(_CALLS):
        last = backend.enqueue(1)
        marks.append(clock())
    # Waiting for the whole pool would add a microsecond for each of its thousands of buffers.
    backend.wait_for(last)
    period_ns = (clock() - marks[0]) // _CALLS
    if per_call == 1:
        return Pilot(enqueue_ns=(marks[-1] - marks[0]) // _CALLS, period_ns=period_ns)
    least_ns = min(later - earlier for earlier, later in pairwise(marks))
    return Pilot(enqueue_ns=least_ns, period_ns=period_ns)


def choose(plan: BackendPlan, found: Pilot | None, rules: Ruleset) -> tuple[DispatchMode, str]:
    """The mode and the reason for it, given the pilot of `single` (None where it was not run)."""
    if plan.dispatch != "auto":
        return plan.dispatch, f"backend.dispatch={plan.dispatch}"
    if found is None:
        return "single", "the host computes: a call costs the same in every mode"
    cost = f"a call costs {found.enqueue_ns} ns, a GEMM takes {found.period_ns} ns"
    keeps_up = found.enqueue_ns <= rules.dispatch_headroom * found.period_ns
    if keeps_up and found.period_ns >= _SINGLE_GAP_NS / _GAP_SHARE:
        return "single", cost
    return "device_loop", cost


@dataclass(frozen=True, slots=True)
class Handover:
    """How launches will be handed over: mode, the reason for it, buffer sets."""

    mode: DispatchMode
    reason: str
    sets: int


@dataclass(frozen=True, slots=True)
class Trial:
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

    def choose(self, backend: Backend, trial: Trial) -> Handover:
        """Choose mode and sets, by pilots of `single` for the mode and of a loop for its sets.

        Raises:
            UnsupportedError: a problem so small needs more sets than a checker follows, or than a
                loop's program may name.
        """
        _require_few(trial.minimum_sets, MOST_SETS)
        found = None
        if self.plan.platform != "cpu" and self.plan.dispatch == "auto":
            self.report("pilot")
            found, _ = self._pilot(backend, "single", trial)
        mode, reason = choose(self.plan, found, self.rules)
        # To compile what is too large for a bundle would take minutes.
        _require_few(trial.minimum_sets, most_sets(mode))
        period_ns = math.inf
        if mode == "device_loop" and trial.minimum_sets * SHORTEST_GEMM_NS < LOOP_BODY_NS:
            # The pilot of `single` took as long as the host: only a loop shows the GEMM's own time.
            looped, per_call = self._pilot(backend, mode, trial)
            period_ns = looped.period_ns / per_call
        return Handover(mode, reason, sets_for(mode, trial.minimum_sets, period_ns))

    def _pilot(self, backend: Backend, mode: DispatchMode, trial: Trial) -> tuple[Pilot, int]:
        """The pilot of a mode with the fewest sets, and the GEMMs of one of its calls."""
        build = Build(trial.implementation)
        executable, _ = backend.compile(mode, trial.minimum_sets, build)
        backend.allocate(trial.minimum_sets, trial.fill, trial.seed)
        found = pilot(backend, executable.gemms_per_call, self.clock)
        backend.release()
        return found, executable.gemms_per_call


def _require_few(sets: int, most: int) -> None:
    if sets > most:
        raise UnsupportedError(
            f"{sets} buffer sets would outgrow the cache; {most} are the most",
            hint="measure a larger problem, or many at once (workload.batch)",
        )


def record(
    handover: Handover, found: Pilot, per_call: int, candidates: tuple[Candidate, ...]
) -> Dispatch:
    """The dispatch document, from the pilot of the program that will be used."""
    return Dispatch(
        mode=handover.mode,
        reason=handover.reason,
        pilot_enqueue_ns=found.enqueue_ns,
        pilot_period_ns=found.period_ns // per_call,
        candidates=candidates,
    )
