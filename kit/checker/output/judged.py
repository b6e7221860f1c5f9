"""A verdict with the folder it is about, and where in it a finding lies, for output formats."""

import re
from dataclasses import dataclass
from pathlib import Path

from kit.bundle.layout import BAG_FILES, PAYLOAD, SIGNATURES
from kit.checker.rule import Finding
from kit.checker.verdict import Verdict

_FILE = re.compile(rf"(?!.*\.\.)(?:{PAYLOAD}|{SIGNATURES})(?:/[A-Za-z0-9._-]+)+")


@dataclass(frozen=True, slots=True)
class Judged:
    """One verdict; `folder` is the bundle's, below the working directory or absolute."""

    verdict: Verdict
    folder: str


def judged(verdict: Verdict, path: Path) -> Judged:
    """Put the verdict beside its folder at `path`."""
    try:
        folder = str(path.absolute().relative_to(Path.cwd()))
    except (OSError, ValueError):
        folder = str(path)
    return Judged(verdict, folder)


def file_of(entry: Judged, finding: Finding) -> str:
    """The file that a finding is about, or the bundle's folder where it names none.

    The text before the first colon is a path in the bundle if it looks like one: rules put it
    there, and what a bundle can put there names a file that is not, at worst.
    """
    file = finding.place.partition(": ")[0]
    known = file in BAG_FILES or _FILE.fullmatch(file)
    return f"{entry.folder}/{file}" if known else entry.folder
