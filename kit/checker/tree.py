"""Which folders below the given paths are bundles? Links are not followed, files are not opened."""

import os
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from kit.bundle.layout import BAG_FILES, PARTIAL, PAYLOAD, PLAN
from kit.checker.printable import printable
from kit.errors import UsageError

MARKS = frozenset(BAG_FILES)
"""Any of these makes a folder a bundle: one that lost the others is found too, to be refused."""
_PLAN_NAME = PLAN.rpartition("/")[2]


@dataclass(frozen=True, slots=True)
class Candidate:
    """A folder to judge and what to call it. `problem` says why there is nothing to judge."""

    path: Path
    name: str
    problem: str = ""


def find_bundles(paths: Iterable[Path]) -> tuple[Candidate, ...]:
    """Every bundle at or below `paths`, in the order of the names; each folder once.

    A bundle given by its own path is called by that path, one of a tree by its path below the tree,
    however many paths are given; where two would be called the same, both have the tree before
    them. A path without any bundle gives one candidate with a problem, so that it cannot pass
    unnoticed.

    Raises:
        UsageError: a path does not exist.
    """
    found: dict[object, Candidate] = {}
    for root in dict.fromkeys(paths):
        if not os.path.lexists(root):
            raise UsageError(
                f"{printable(str(root))} does not exist", hint="name a bundle or a tree"
            )
        for candidate in _below(root):
            found.setdefault(_identity(candidate.path), candidate)
    names = Counter(candidate.name for candidate in found.values())
    candidates = (
        replace(candidate, name=str(candidate.path)) if names[candidate.name] > 1 else candidate
        for candidate in found.values()
    )
    return tuple(sorted(candidates, key=lambda candidate: (candidate.name, candidate.path)))


def _identity(path: Path) -> object:
    """What tells a folder from another one, whichever way led to it."""
    try:
        status = path.stat()
    except OSError:
        return path
    return status.st_dev, status.st_ino


def _below(root: Path) -> Iterator[Candidate]:
    if not root.is_dir():
        problem = "not a bundle: is not a folder; unpack an archive first"
        yield Candidate(root, str(root), _part_of_a_bundle(root) or problem)
        return
    empty = True
    waiting = [root]
    while waiting:
        folder = waiting.pop()
        name = str(folder.relative_to(root)) if folder != root else str(root)
        try:
            names, folders = _entries(folder)
        except OSError as error:
            empty = False
            yield Candidate(folder, name, f"cannot be read: {error.strerror}")
            continue
        if folder.name.startswith(PARTIAL) or names & MARKS or _has_plan(folder, folders):
            empty = False
            yield Candidate(folder, name)
        else:
            waiting.extend(folders)
    if empty:
        yield Candidate(root, str(root), _part_of_a_bundle(root) or "no bundle here")


def _part_of_a_bundle(root: Path) -> str:
    """What is wrong with a path such as `BUNDLE/data`; "" where no folder above is a bundle."""
    for folder in root.absolute().parents:
        if any(os.path.lexists(folder / mark) for mark in MARKS):
            shown = folder if root.is_absolute() else os.path.relpath(folder)
            return f"only part of a bundle: give {printable(str(shown))}"
    return ""


def _has_plan(folder: Path, folders: list[Path]) -> bool:
    """Whether this is what is left of a bundle that lost its manifests."""
    payload = folder / PAYLOAD
    return payload in folders and os.path.lexists(payload / _PLAN_NAME)


def _entries(folder: Path) -> tuple[frozenset[str], list[Path]]:
    names, folders = set(), []
    with os.scandir(folder) as entries:
        for entry in entries:
            names.add(entry.name)
            if entry.is_dir(follow_symlinks=False):
                folders.append(folder / entry.name)
    return frozenset(names), folders
