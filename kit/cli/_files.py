"""Files that a user names for output: written whole, or through where they are pipes or devices."""

import os
import stat
import sys
from pathlib import Path


def is_stream(path: Path) -> bool:
    """Whether it is written through and never replaced: a pipe, a device, or where stdout goes."""
    try:
        found = path.stat()
    except OSError:
        return False
    return _is_stdout(path) or not (stat.S_ISREG(found.st_mode) or stat.S_ISDIR(found.st_mode))


def _is_stdout(path: Path) -> bool:
    return os.path.samestat(path.stat(), os.fstat(1))


def write_file(path: Path, data: bytes) -> None:
    """Write all of it or leave the old file, so that a reader never sees half of it.

    Raises:
        UnwritableError: the file cannot be written.
        OSError: a stream cannot, or its reader has left.
    """
    from kit.bundle.durable import replace

    if not is_stream(path):
        replace(path.resolve(), data)  # a link stays a link
    elif _is_stdout(path):  # a file opened anew would be at another place than what is printed
        sys.stdout.flush()
        sys.stdout.buffer.write(data)
        sys.stdout.flush()
    else:
        with path.open("ab") as stream:
            stream.write(data)
