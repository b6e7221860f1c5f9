"""Files that are written whole or not at all, and folders that are safe on the disk."""

import errno
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from kit.errors import UnwritableError, UsageError

_REMEDIES = {
    errno.ENOSPC: "free some space",
    errno.EDQUOT: "free some space",
    errno.EFBIG: "free some space",
    errno.EEXIST: "move away what is there",
    errno.ENOTDIR: "name a folder, not a file",
    errno.ENOENT: "name a folder that can be made",
    errno.EROFS: "name a folder on a disk that can be written",
}


@contextmanager
def writable(path: Path) -> Iterator[None]:
    """Turn every `OSError` inside into an `UnwritableError` that names `path` and the remedy."""
    try:
        yield
    except OSError as error:
        remedy = _REMEDIES.get(error.errno or 0, "make it writable")
        raise UnwritableError(
            f"{path}: cannot be written: {error.strerror}", hint=remedy
        ) from error


def real(path: Path) -> Path:
    """Where it lies once its links are followed.

    Raises:
        UsageError: they lead round in a circle.
    """
    found = Path(os.path.realpath(path))  # Path.resolve raises RuntimeError for a circle
    if found.is_symlink():
        raise UsageError(f"{path}: its links lead round in a circle", hint="name another place")
    return found


def require_outside_bundles(path: Path) -> None:
    """Refuse to write below a bundle, which would no longer be what was sealed.

    Raises:
        UsageError: a folder above `path` is a bundle, or its links lead round in a circle.
    """
    for folder in real(path).parents:
        if (folder / "bagit.txt").exists():
            raise UsageError(
                f"{path} would lie in the bundle {folder}", hint="choose another place"
            )


def require_writable(folder: Path) -> None:
    """Refuse a folder that cannot be made or written, as far as its permissions tell.

    Raises:
        UsageError: the nearest folder above it that exists cannot be written, or is a file.
    """
    folders = (folder, *folder.absolute().parents)
    there = next(place for place in folders if os.path.lexists(place))
    if not there.is_dir():
        raise UsageError(f"{there} is no folder", hint=_REMEDIES[errno.ENOTDIR])
    if not os.access(there, os.W_OK | os.X_OK):
        raise UsageError(f"{folder}: cannot be written", hint=f"make {there} writable")


def write_new(path: Path, data: bytes) -> None:
    """Write a file that must not exist yet.

    Raises:
        UnwritableError: it exists or cannot be written; a half-written file is removed.
    """
    with writable(path), path.open("xb") as file:
        try:
            file.write(data)
            file.flush()
        except OSError:
            path.unlink()
            raise


def replace(path: Path, data: bytes) -> None:
    """Write a file in one step, in place of an earlier one if there is one.

    Raises:
        UnwritableError: it cannot be written; an earlier file is left as it was.
    """
    fresh = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    with writable(path), fresh.open("xb") as file:  # no link that lies there is written through
        try:
            file.write(data)
            file.flush()
            fresh.replace(path)
        finally:
            fresh.unlink(missing_ok=True)


def prune(root: Path) -> None:
    """Remove empty folders below `root`."""
    for folder, _, _ in os.walk(root, topdown=False):
        path = Path(folder)
        if path != root and not any(path.iterdir()):
            path.rmdir()


def settle(root: Path) -> None:
    """Give files and folders below `root` plain modes and force them onto the disk."""
    for folder, _, names in os.walk(root, topdown=False):
        for name in names:
            _sync(Path(folder, name), 0o644)
        _sync(Path(folder), 0o755)


def sync_folder(path: Path) -> None:
    """Force a folder's own entries onto the disk."""
    _sync(path, None)


def _sync(path: Path, mode: int | None) -> None:
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        if mode is not None:
            os.fchmod(descriptor, mode)
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
