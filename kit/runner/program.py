"""Which program does a run launch: one of its own choice, or the one that the tuner settled."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from kit.backends import Backend, Build
from kit.errors import UntunedError
from kit.evidence import Candidate, Executable
from kit.plan import RunPlan
from kit.ruleset import Ruleset
from kit.runner.dispatch import Settled, Try, settle
from kit.runner.job import Tuning
from kit.timing import Clock


@dataclass(frozen=True, slots=True)
class Program:
    """What a run launches and how, with what is recorded about it."""

    executable: Executable
    hlo: str
    settled: Settled
    candidates: tuple[Candidate, ...]


@dataclass(frozen=True, slots=True)
class Replay:
    """A tuner's outcome, and the folder where its autotune results lie."""

    tuning: Tuning
    folder: Path


def build_program(
    plan: RunPlan,
    replay: Replay | None,
    backend: Backend,
    attempt: Callable[[], Try],
    clock: Clock,
    rules: Ruleset,
    report: Callable[[str], None],
) -> Program:
    """Compile what the run will launch. Without a tuner the run settles the mode by itself.

    Raises:
        UntunedError: the stored autotune results do not cover the program.
    """
    if replay is None:
        trial = attempt()
        settled = settle(plan.backend, backend, trial, clock, rules, report)
        report("compile")
        build = Build(trial.implementation)
        executable, hlo = backend.compile(settled.mode, settled.sets, build)
        reason = "XLA tunes nothing on a CPU"
        if plan.backend.platform != "cpu":
            reason = "backend.tuning_attempts=0: XLA tuned in this run"
        return Program(replace(executable, autotune_reason=reason), hlo, settled, ())
    tuning = replay.tuning
    report("compile")
    settled = Settled(tuning.mode, tuning.mode_reason, tuning.sets)
    executable, hlo = _replayed(backend, replay)
    executable = replace(
        executable, autotune=tuning.autotune, autotune_reason=tuning.autotune_reason
    )
    return Program(executable, hlo, settled, tuning.candidates)


def _replayed(backend: Backend, replay: Replay) -> tuple[Executable, str]:
    tuning = replay.tuning
    if tuning.autotune is None:
        return backend.compile(tuning.mode, tuning.sets, Build(tuning.implementation))
    build = Build(tuning.implementation, load_from=str(replay.folder / tuning.autotune))
    try:
        return backend.compile(tuning.mode, tuning.sets, build)
    except RuntimeError as error:  # JAX's own kind is one
        if "RESOURCE_EXHAUSTED" in str(error):
            raise
        said = (str(error).splitlines() or [""])[0][:300]
        raise UntunedError(
            f"XLA refused to compile from {tuning.autotune}: {said}",
            hint="tune again in a new bundle; nothing was tuned anew",
        ) from error
