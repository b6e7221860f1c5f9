"""Every file below a folder that a stranger made, as bytes, each opened and read once.

Nothing is followed, executed or waited for: directories are walked by descriptor, each entry is
opened with O_NOFOLLOW and O_NONBLOCK and judged by `fstat` of what was opened, so a change between
look and use cannot matter. POSIX only.
"""

import os
import stat
from collections.abc import Callable
from dataclasses import dataclass
from operator import attrgetter
from pathlib import Path

from kit.bundle.foreign_text import shown
from kit.bundle.manifest import MAXIMUM_DEPTH, MAXIMUM_FILES, is_segment
from kit.errors import BundleError

MAXIMUM_FILE_BYTES = 64 * 2**20
MAXIMUM_BUNDLE_BYTES = 512 * 2**20

_SAFE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY
_LITTER = frozenset((".DS_Store", "Thumbs.db", "desktop.ini", ".directory"))
_KINDS = {
    stat.S_IFLNK: "a symbolic link",
    stat.S_IFIFO: "a named pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a character device",
    stat.S_IFBLK: "a block device",
}


@dataclass(slots=True)
class _Tree:
    """What was read so far, and how many files and folders were met."""

    files: dict[str, bytes]
    entries: int = 0
    octets: int = 0


def read_tree(root: Path, refuse_top: Callable[[list[str]], None]) -> dict[str, bytes]:
    """Return the bytes of every file below `root`, by path relative to it.

    `root` itself may be a link. `refuse_top` is shown the names right below it before anything is
    opened and raises when they will not do.

    Raises:
        BundleError: names the entry that is unsafe, unreadable or beyond the limits.
    """
    tree = _Tree({})
    try:
        folder = os.open(root, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY)
        try:
            if not stat.S_ISDIR(os.fstat(folder).st_mode):
                raise BundleError("not a bundle: is not a folder")
            entries = _entries(folder, "the bundle", tree)
            refuse_top([entry.name for entry in entries])
            for entry in entries:
                _read_entry(folder, entry, entry.name, tree)
        finally:
            os.close(folder)
    except OSError as error:
        raise _unreadable("the bundle", error) from None
    return tree.files


def _read_folder(folder: int, path: str, tree: _Tree) -> None:
    if path.count("/") + 1 >= MAXIMUM_DEPTH:
        raise BundleError(f"{path}: folders are nested deeper than {MAXIMUM_DEPTH} levels")
    for entry in _entries(folder, path, tree):
        name = entry.name
        if not is_segment(name):
            raise BundleError(
                f"{path}: holds {shown(name)}, a name that a bundle may not use", hint=remedy(name)
            )
        _read_entry(folder, entry, f"{path}/{name}", tree)


def _entries(folder: int, path: str, tree: _Tree) -> list[os.DirEntry[str]]:
    """What lies in a folder, by name."""
    found = []
    with os.scandir(folder) as entries:
        for entry in entries:
            tree.entries += 1
            if tree.entries > MAXIMUM_FILES:
                raise BundleError(f"{path}: here the bundle exceeds {MAXIMUM_FILES} entries")
            found.append(entry)
    return sorted(found, key=attrgetter("name"))


def _read_entry(folder: int, entry: os.DirEntry[str], path: str, tree: _Tree) -> None:
    try:
        # Opening a device can act on it, so look first; what counts is the look after opening. The
        # first look is at what the folder says of its entries, which costs no call of the system.
        if not entry.is_file(follow_symlinks=False) and not entry.is_dir(follow_symlinks=False):
            _refuse_unsafe(entry.stat(follow_symlinks=False), path)
        opened = os.open(entry.name, _SAFE, dir_fd=folder)
        try:
            facts = os.fstat(opened)
            _refuse_unsafe(facts, path)
            if stat.S_ISDIR(facts.st_mode):
                _read_folder(opened, path, tree)
            else:
                _read_file(opened, facts.st_size, path, tree)
        finally:
            os.close(opened)
    except OSError as error:
        raise _unreadable(path, error) from None


def _refuse_unsafe(facts: os.stat_result, path: str) -> None:
    kind = stat.S_IFMT(facts.st_mode)
    if kind not in (stat.S_IFREG, stat.S_IFDIR):
        raise BundleError(f"{path}: is {_KINDS.get(kind, 'neither file nor folder')}")
    if kind == stat.S_IFREG and facts.st_nlink != 1:
        raise BundleError(
            f"{path}: is a hard link; a bundle holds each file once",
            hint="judge a plain copy: cp -r gives each file its own bytes, cp -l does not",
        )
    if kind == stat.S_IFREG and facts.st_size > MAXIMUM_FILE_BYTES:
        raise BundleError(f"{path}: has {facts.st_size} bytes; {MAXIMUM_FILE_BYTES} are allowed")


def _read_file(file: int, size: int, path: str, tree: _Tree) -> None:
    tree.octets += size
    if tree.octets > MAXIMUM_BUNDLE_BYTES:
        raise BundleError(f"{path}: here the bundle exceeds {MAXIMUM_BUNDLE_BYTES} bytes")
    parts = [os.read(file, size + 1)]
    left = size + 1 - len(parts[0])
    while left > 1 and (part := os.read(file, left)):
        parts.append(part)
        left -= len(part)
    if left != 1:
        raise BundleError(f"{path}: changed while it was read")
    tree.files[path] = parts[0] if len(parts) == 1 else b"".join(parts)


def remedy(name: str) -> str:
    """What to do about a file that a desktop leaves in folders it shows."""
    is_litter = name in _LITTER or name.startswith("._")
    return "a desktop left it there: delete it, and it alone" if is_litter else ""


def _unreadable(path: str, error: OSError) -> BundleError:
    return BundleError(f"{path}: cannot be read: {error.strerror}")
