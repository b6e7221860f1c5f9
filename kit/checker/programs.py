"""Which program a run launched, as its optimised HLO tells."""

from dataclasses import dataclass

from kit.bundle import layout
from kit.checker.rule import Unproven
from kit.checker.runs import MeasuredRun
from kit.hlo import Census, census


@dataclass(frozen=True, slots=True)
class Program:
    """The text, what it does, and the file's path in the bundle."""

    text: str
    census: Census
    place: str


def program(run: MeasuredRun) -> Program:
    """The program of one run.

    Raises:
        Unproven: the file is not there, or is no HLO module.
    """
    name = run.document.executable.hlo
    text = run.hlo.get(name)
    if text is None:
        raise Unproven("the HLO that executable.hlo names is missing")
    try:
        return Program(text, census(text), layout.hlo_file(run.case.id, name))
    except ValueError as error:
        raise Unproven(f"the HLO cannot be read: {error}") from None
