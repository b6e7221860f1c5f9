"""Which processes run, from /proc."""

import os
from pathlib import Path


def children(parent=None):
    """Process ids of a process's living children, of this one's by default."""
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[1]) == (parent or os.getpid()) and fields[0] != "Z":
            found.append(int(stat.parent.name))
    return found


def lives(pid):
    """Whether a process runs and is not just waiting to be reaped."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"
