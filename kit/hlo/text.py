"""The text of a program as evidence: normalised once, and parsed once for all who ask about it."""

import re

from kit.hlo.caches import cached, forget_all
from kit.hlo.module import Module, parse_module

MOST_REMEMBERED = 1024
"""Texts: those of all runs of a bundle, of which several rules ask one after the other.

`kit.bundle.reader` bounds how long they are together.
"""
MOST_KEPT = 2**21
"""Characters of texts that outlive their bundle: the programs of a round are often the same.

What is made of them takes up to ten times as much memory.
"""
_METADATA = re.compile(r', metadata=\{(?:[^{}"]|"(?:[^"\\]|\\.)*")*\}')
_TABLES = ("FileNames", "FunctionNames", "FileLocations", "StackFrames")


def normalise(text: str) -> str:
    """Strip source locations, which name local paths and change without the program changing."""
    kept: list[str] = []
    in_table = False
    for line in text.splitlines():
        if line in _TABLES:
            in_table = True
        elif in_table:
            in_table = bool(line)
        else:
            kept.append(_METADATA.sub("", line).rstrip())
    return re.sub(r"\n{3,}", "\n\n", "\n".join(kept).strip()) + "\n"


def parsed(text: str) -> Module:
    """The module that a text is.

    Raises:
        ValueError: it is none; says which line.
    """
    found = _parsed(text)
    if isinstance(found, str):
        raise ValueError(found)  # noqa: TRY004 - the text is wrong, not its type
    return found


_lengths: list[int] = []
"""Of the texts that were parsed since the last ones were let go."""


@cached(MOST_REMEMBERED)
def _parsed(text: str) -> Module | str:
    """A fault is remembered too: several rules ask about a text that is none."""
    _lengths.append(len(text))
    try:
        return parse_module(text)
    except ValueError as error:
        return str(error)


def forget() -> None:
    """After a bundle: let go of the programs that were read, unless they are small enough to keep.

    A program is known again by its whole text alone, whichever bundle holds it.
    """
    if sum(_lengths) > MOST_KEPT:
        forget_all()
        _lengths.clear()
