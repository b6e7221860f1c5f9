"""Files that a user names for output: written whole, or through where they are pipes or devices."""

import os
import stat
from pathlib import Path


def is_stream(path: Path) -> bool:
    """Whether it is written through and never replaced: a pipe, a device, or where stdout goes."""
    try:
        found = path.stat()
    except OSError:
        return False
    if stat.S_ISREG(found.st_mode):
        return os.path.samestat(found, os.fstat(1))
    return not stat.S_ISDIR(found.st_mode)


def write_file(path: Path, data: bytes) -> None:
    """Write all of it or leave the old file, so that a reader never sees half of it.

    Raises:
        UnwritableError: the file cannot be written.
        OSError: a stream cannot, or its reader has left.
    """
    from kit.bundle.durable import replace

    if is_stream(path):
        with path.open("ab") as stream:
            stream.write(data)
    else:
        replace(path.resolve(), data)  # a link stays a link
