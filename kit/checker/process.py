"""How is the process that judges started, and ended?

It imports next to nothing, so that whoever checks can start a process first and import the rest
while that one does the same.
"""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress

WORKER_ENVIRONMENT = {
    # One thread for linear algebra: there are as many workers as processors.
    "OPENBLAS_NUM_THREADS": "1",
    "OMP_NUM_THREADS": "1",
    # glibc keeps freed memory instead of asking the kernel for the same megabytes for every array.
    "MALLOC_MMAP_THRESHOLD_": str(32 * 2**20),
    "MALLOC_TRIM_THRESHOLD_": str(64 * 2**20),
}

# The parent's own search path, so that a worker finds the same kit and nothing from the folder it
# happens to be started in.
_START = "import sys; sys.path = sys.argv[1:]; from kit.checker.worker import serve; serve()"

Process = subprocess.Popen[bytes]


def start() -> Process:
    """A process that answers requests (`kit.checker.worker`) until its stdin ends."""
    return subprocess.Popen(
        [sys.executable, "-P", "-c", _START, *sys.path],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**os.environ, **WORKER_ENVIRONMENT},
        # Out of reach of the terminal's Ctrl-C, which it would answer with a traceback: this
        # process ends it, or the end of its stdin does.
        process_group=0,
    )


@contextmanager
def started() -> Iterator[Process]:
    """A process for as long as the block lasts."""
    process = start()
    try:
        yield process
    finally:
        end(process)


def end(process: Process, grace_s: float = 0.0) -> str:
    """End a process after `grace_s`; says how it ended, by itself where it had."""
    with suppress(subprocess.TimeoutExpired):
        process.wait(grace_s)
    process.kill()
    status = process.wait()
    for pipe in (process.stdin, process.stdout):
        if pipe is not None:
            with suppress(OSError):
                pipe.close()
    return f"signal {-status}" if status < 0 else f"exit code {status}"
