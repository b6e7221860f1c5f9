"""Which program does a run launch: one of its own choice, or the one that the tuner settled."""

from dataclasses import dataclass, replace
from pathlib import Path

from kit.backends import Backend, Build
from kit.bundle.reader import MAXIMUM_HLO_BYTES
from kit.errors import UnsupportedError, UntunedError
from kit.evidence import Candidate, Executable
from kit.hlo.text import parsed
from kit.runner.dispatch import Chooser, Handover, Trial
from kit.runner.job import Tuning


@dataclass(frozen=True, slots=True)
class Program:
    """What a run launches and how, with what is recorded about it."""

    executable: Executable
    hlo: str
    handover: Handover
    candidates: tuple[Candidate, ...]


@dataclass(frozen=True, slots=True)
class Replay:
    """A tuner's outcome, and the folder where its autotune results lie."""

    tuning: Tuning
    folder: Path


def build_program(
    chooser: Chooser, replay: Replay | None, backend: Backend, trial: Trial
) -> Program:
    """Compile what the run will launch. Without a tuner the run settles the mode by itself.

    Raises:
        UntunedError: the stored autotune results do not cover the program.
        UnsupportedError: the checker could not read the program, which only costs time to measure.
    """
    found = _built(chooser, replay, backend, trial)
    require_readable(found.hlo)
    return found


def require_readable(hlo: str) -> None:
    """Refuse a program that the checker would not read.

    Raises:
        UnsupportedError: it is too large for a bundle, or no HLO that the kit knows.
    """
    size, problem = len(hlo.encode()), ""
    if size > MAXIMUM_HLO_BYTES:
        problem = f"it has {size} bytes; {MAXIMUM_HLO_BYTES} are allowed"
    else:
        try:
            parsed(hlo)
        except ValueError as error:
            problem = str(error)
    if problem:
        raise UnsupportedError(
            f"the program's HLO is no evidence: {problem}",
            hint="with backend.dispatch=single a call goes through one buffer set",
        )


def _built(chooser: Chooser, replay: Replay | None, backend: Backend, trial: Trial) -> Program:
    if replay is None:
        handover = chooser.choose(backend, trial)
        chooser.report("compile")
        build = Build(trial.implementation)
        executable, hlo = backend.compile(handover.mode, handover.sets, build)
        reason = "backend.tuning_attempts=0: XLA tuned in this run"
        if chooser.plan.platform == "cpu":
            reason = "XLA tunes nothing on a CPU"
        return Program(replace(executable, autotune_reason=reason), hlo, handover, ())
    tuning = replay.tuning
    chooser.report("compile")
    executable, hlo = _replayed(backend, replay)
    executable = replace(
        executable, autotune=tuning.autotune, autotune_reason=tuning.autotune_reason
    )
    return Program(executable, hlo, tuning.handover, tuning.candidates)


def _replayed(backend: Backend, replay: Replay) -> tuple[Executable, str]:
    tuning, handover = replay.tuning, replay.tuning.handover
    if tuning.autotune is None:
        return backend.compile(handover.mode, handover.sets, Build(tuning.implementation))
    build = Build(tuning.implementation, load_from=str(replay.folder / tuning.autotune))
    try:
        return backend.compile(handover.mode, handover.sets, build)
    except RuntimeError as error:  # JAX's own kind is one
        if "RESOURCE_EXHAUSTED" in str(error):
            raise
        said = (str(error).splitlines() or [""])[0][:300]
        raise UntunedError(
            f"XLA refused to compile from {tuning.autotune}: {said}",
            hint="tune again in a new bundle; nothing was tuned anew",
        ) from error
