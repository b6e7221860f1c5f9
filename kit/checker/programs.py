"""Which program a run launched, as its optimised HLO tells."""

from dataclasses import dataclass

from kit.bundle import layout
from kit.checker.rule import Unproven
from kit.checker.runs import MeasuredRun
from kit.hlo.census import Census, census
from kit.launch_proof import Proof, prove


@dataclass(frozen=True, slots=True)
class Program:
    """The text, what it does, and the file's path in the bundle."""

    text: str
    census: Census
    place: str


def program(run: MeasuredRun) -> Program:
    """The program of one run.

    Raises:
        Unproven: the file is not there, or is no HLO module, which GK206 calls a fault.
    """
    text = _text(run)
    try:
        return Program(text, census(text), place(run))
    except ValueError as error:
        raise Unproven(f"the HLO cannot be read: {error}") from None


def proof(run: MeasuredRun) -> Proof:
    """What departs in the program from the launches that the run counts for each call.

    Raises:
        Unproven: the file is not there.
        ValueError: it cannot be read or followed.
    """
    gemms = run.document.executable.gemms_per_call
    sets = max(1, min(gemms, run.document.rotation.sets))
    return prove(_text(run), run.case.workload, run.number_format, sets)


def place(run: MeasuredRun) -> str:
    """Path of the program's text in the bundle."""
    return layout.hlo_file(run.case.id, run.document.executable.hlo)


def _text(run: MeasuredRun) -> str:
    text = run.hlo.get(run.document.executable.hlo)
    if text is None:
        raise Unproven("the HLO that executable.hlo names is missing")
    return text
