"""Start a tuner process, ask it for timings, and make sure that it ends."""

import os
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from kit.evidence import Status
from kit.lines import Lines
from kit.records import decode, encode
from kit.runner.child import Child, reporting_child, stop
from kit.runner.process import worker_environment
from kit.runner.tuner_messages import Built, Message, Request, Stint


class TunerFailureError(Exception):
    """A tuner gave up or ended; `status` is what its case's runs would end with."""

    def __init__(self, status: Status, reason: str) -> None:
        super().__init__(reason)
        self.status = status
        self.reason = reason


class Tuner:
    """A tuner process that answers, to each question within `timeout_s`."""

    def __init__(self, child: Child, timeout_s: float) -> None:
        self._child = child
        self._timeout_s = timeout_s
        self._lines = Lines(child.reports.fileno())

    def built(self, on_phase: Callable[[str], None]) -> Built:
        """What it has compiled.

        Raises:
            TunerFailureError: it compiled nothing, or not in time.
        """
        deadline_s = time.monotonic() + self._timeout_s
        while True:
            message = self._hear(deadline_s)
            if message.phase is not None:
                on_phase(message.phase)
            if message.built is not None:
                return message.built

    def period_ns(self, stint: Stint) -> float:
        """One GEMM's period over the stint, in ns.

        Raises:
            TunerFailureError: it gave up, ended, or does not answer.
        """
        stdin = self._child.process.stdin
        assert stdin is not None  # noqa: S101 - it was started with a pipe
        try:
            stdin.write(encode(stint))
            stdin.flush()
        except BrokenPipeError:
            raise self._ended() from None
        message = self._hear(time.monotonic() + self._timeout_s)
        if message.period_ns is None:
            raise TunerFailureError("crashed", "the tuner answered something else than a timing")
        return message.period_ns

    def _hear(self, deadline_s: float) -> Message:
        try:
            line = self._lines.next(deadline_s)
        except TimeoutError:
            raise TunerFailureError("timed_out", "the tuner did not answer in time") from None
        if line is None:
            raise self._ended()
        message = decode(Message, line)
        if message.status is not None:
            raise TunerFailureError(message.status, message.reason)
        return message

    def _ended(self) -> TunerFailureError:
        stop(self._child.process)
        return TunerFailureError(*self._child.post_mortem())


@contextmanager
def tuner(request: Request) -> Iterator[Tuner]:
    """A tuner process for the request; it is gone when the context ends.

    It takes only the memory that it needs, so that several may live side by side.
    """
    path = Path(request.folder) / f"{request.attempt}.json"
    path.write_bytes(encode(request))
    environment = worker_environment(request.job, os.environ)
    environment["XLA_PYTHON_CLIENT_PREALLOCATE"] = "false"
    with reporting_child("kit.runner.tuner", path, environment, subprocess.PIPE) as child:
        yield Tuner(child, request.job.plan.timeout_s)
