"""One measurement on one device at a time, across the processes of one user."""

import fcntl
import os
import re
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from kit.errors import MeasurementError

_DEVICE = re.compile(r"cpu|gpu-[0-9a-f]{12}")


@contextmanager
def device_lock(device_id: str, folder: Path | None = None) -> Iterator[None]:
    """Hold the device's lock. The system frees it whatever way the process ends.

    The lock is a file below `folder`, which is the user's runtime folder if there is one. Another
    user's measurement is not seen here, but by `Limits.other_processes`.

    Raises:
        MeasurementError: another measurement holds it, or the folder is not this user's own.
        ValueError: not the id of a device.
    """
    if _DEVICE.fullmatch(device_id) is None:
        raise ValueError(f"{device_id!r} is not a device id")
    path = _lock_folder(folder) / f"{device_id}.lock"
    try:
        lock = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise MeasurementError(f"cannot open the lock of {device_id}: {error.strerror}") from None
    try:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            holder = os.pread(lock, 32, 0).decode(errors="replace")
            who = f" (process {holder})" if holder.isdigit() else ""
            raise MeasurementError(
                f"another measurement{who} is running on {device_id}",
                hint="wait for it to end, or choose another device",
            ) from None
        os.ftruncate(lock, 0)
        os.pwrite(lock, str(os.getpid()).encode(), 0)
        yield
    finally:
        # The file stays: removing it would let two processes lock two files of one name.
        os.close(lock)


def _lock_folder(folder: Path | None) -> Path:
    """The folder of locks, made for this user alone; a shared /tmp may hold a stranger's trap."""
    base = folder or Path(os.environ.get("XDG_RUNTIME_DIR") or tempfile.gettempdir())
    own = base / f"gemm-kit-{os.getuid()}"
    try:
        own.mkdir(mode=0o700, exist_ok=True)
        found = own.lstat()
    except OSError as error:
        raise MeasurementError(
            f"cannot make a folder for device locks: {error.strerror}",
            hint="set XDG_RUNTIME_DIR or TMPDIR to a writable folder",
        ) from None
    theirs = found.st_uid != os.getuid() or found.st_mode & 0o022
    if theirs or not stat.S_ISDIR(found.st_mode):
        raise MeasurementError(
            "the folder for device locks is not this user's own",
            hint="set XDG_RUNTIME_DIR to a folder of your own",
        )
    return own
