"""Files that a user names for output: written whole, or through where they are pipes or devices."""

import os
import stat
import sys
from pathlib import Path
from typing import TextIO


def is_stream(path: Path) -> bool:
    """Whether it is never replaced: a pipe, a device, or where stdout or stderr go."""
    try:
        found = path.stat()
    except OSError:
        return False
    is_other = not (stat.S_ISREG(found.st_mode) or stat.S_ISDIR(found.st_mode))
    return is_other or _standard(found) is not None


def _standard(found: os.stat_result) -> TextIO | None:
    """The stream of this process that goes there, if one does."""
    streams = ((1, sys.stdout), (2, sys.stderr))
    return next((s for number, s in streams if os.path.samestat(found, os.fstat(number))), None)


def write_file(path: Path, data: bytes) -> None:
    """Write all of it or leave the old file, so that a reader never sees half of it.

    Raises:
        UnwritableError: it cannot be written.
        UsageError: its links lead round in a circle.
        OSError: stdout or stderr cannot, or its reader has left.
    """
    from kit.bundle.durable import real, replace, writable

    if not is_stream(path):
        replace(real(path), data)  # a link stays a link
        return
    standard = _standard(path.stat())
    if standard is not None:  # opened anew it would be at another place than what is printed
        standard.flush()
        standard.buffer.write(data)
        standard.flush()
        return
    with writable(path), path.open("ab") as stream:
        stream.write(data)
