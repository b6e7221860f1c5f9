"""A child process with a pipe for what it reports: how it is started, and how it surely ends."""

import os
import signal
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, BinaryIO

from kit import own_process
from kit.evidence import Status

KILL_AFTER_S = 5.0
_TAIL = 2000


@dataclass(frozen=True, slots=True)
class Child:
    """A started child, the pipe that it reports on, and what it prints."""

    process: "subprocess.Popen[bytes]"
    reports: BinaryIO
    log: IO[str]

    def post_mortem(self) -> tuple[Status, str]:
        """How it ended without having said so, and the last line that it printed."""
        self.log.seek(0)
        lines = [line.strip() for line in self.log.read()[-_TAIL:].splitlines() if line.strip()]
        cause = f": {lines[-1][:300]}" if lines else ""
        code = self.process.returncode
        if code is not None and code < 0:
            return "crashed", f"the worker was killed by {signal.Signals(-code).name}{cause}"
        return "crashed", f"the worker ended with code {code} and said nothing{cause}"


@contextmanager
def reporting_child(
    module: str, request: Path, environment: Mapping[str, str], stdin: int = subprocess.DEVNULL
) -> Iterator[Child]:
    """Run `module REQUEST FD`, FD being the pipe; the child is gone when the context ends.

    Its temporary files lie beside `request`: a child that is stopped does not clear them away.
    """
    read_end, write_end = os.pipe()
    with (
        tempfile.TemporaryFile("w+", errors="replace") as log,
        os.fdopen(read_end, "rb") as reports,
    ):
        try:
            process = subprocess.Popen(
                own_process.command(module, str(request), str(write_end)),
                env={**environment, "TMPDIR": str(request.parent)},
                stdin=stdin,
                stdout=log,
                stderr=subprocess.STDOUT,
                pass_fds=(write_end,),
                start_new_session=True,
            )
        finally:
            os.close(write_end)
        try:
            yield Child(process, reports, log)
        finally:
            stop(process)
            if process.stdin is not None:
                process.stdin.close()


def stop(process: "subprocess.Popen[bytes]") -> None:
    """End a child and everything it started."""
    try:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGTERM)
            with suppress(subprocess.TimeoutExpired):
                process.wait(timeout=KILL_AFTER_S)
    finally:
        # The group outlives its leader as long as a child of it lives.
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
