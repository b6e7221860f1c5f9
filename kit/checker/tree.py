"""Which folders below the given paths are bundles? Links are not followed, files are not opened."""

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from kit.bundle.layout import PARTIAL
from kit.checker.printable import printable
from kit.errors import UsageError

MARKS = frozenset(("bagit.txt", "tagmanifest-sha256.txt"))
"""What makes a folder a bundle. One that is called `.partial-` is found too, to be refused."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A folder to judge and what to call it. `problem` says why there is nothing to judge."""

    path: Path
    name: str
    problem: str = ""


def find_bundles(paths: Iterable[Path]) -> tuple[Candidate, ...]:
    """Every bundle at or below `paths`, in the order of the names.

    A bundle given by its own path is called by that path, one of a tree by its path below the
    tree, with the tree before it when several paths are given. A path without any bundle gives
    one candidate with a problem, so that it cannot pass unnoticed.

    Raises:
        UsageError: a path does not exist.
    """
    roots = list(dict.fromkeys(paths))
    found: dict[Path, Candidate] = {}
    for root in roots:
        if not os.path.lexists(root):
            raise UsageError(f"{printable(str(root))} does not exist")
        for candidate in _below(root, alone=len(roots) == 1):
            found.setdefault(candidate.path, candidate)
    return tuple(sorted(found.values(), key=lambda candidate: (candidate.name, candidate.path)))


def _below(root: Path, *, alone: bool) -> Iterator[Candidate]:
    if not root.is_dir():
        yield Candidate(root, str(root), "not a bundle: is not a folder")
        return
    empty = True
    waiting = [root]
    while waiting:
        folder = waiting.pop()
        name = str(folder.relative_to(root)) if alone and folder != root else str(folder)
        try:
            names, folders = _entries(folder)
        except OSError as error:
            empty = False
            yield Candidate(folder, name, f"cannot be read: {error.strerror}")
            continue
        if folder.name.startswith(PARTIAL) or names & MARKS:
            empty = False
            yield Candidate(folder, name)
        else:
            waiting.extend(folders)
    if empty:
        yield Candidate(root, str(root), "no bundle here")


def _entries(folder: Path) -> tuple[frozenset[str], list[Path]]:
    names, folders = set(), []
    with os.scandir(folder) as entries:
        for entry in entries:
            names.add(entry.name)
            if entry.is_dir(follow_symlinks=False):
                folders.append(folder / entry.name)
    return frozenset(names), folders
