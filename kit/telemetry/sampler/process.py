"""The sampler's process as its parent sees it: start, first answer, orderly or forced end."""

import os
import subprocess
import tempfile
from contextlib import suppress
from time import monotonic

from kit import own_process
from kit.errors import MeasurementError, UsageError
from kit.lines import Lines
from kit.records import decode, encode
from kit.telemetry.sampler.messages import Answer, Farewell, Job

_STOP_S = 5.0


class SamplerProcess:
    """A started sampler. Its standard input stays open as long as it shall sample."""

    def __init__(self, job: Job, timeout_s: float) -> None:
        """Start it and wait for its answer.

        Raises:
            MeasurementError: it does not become ready; the text is its own.
        """
        # An unnamed file: a pipe that nobody reads would block the sampler once it is full.
        self._stderr = tempfile.TemporaryFile()  # noqa: SIM115 - closed in `stop`
        self._process = subprocess.Popen(
            own_process.command("kit.telemetry.sampler"),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._stderr,
            env=own_process.with_kit(os.environ),
            process_group=0,
        )
        try:
            self._write(encode(job))
            self.answer = self._first_answer(timeout_s)
        except BaseException:
            self._process.kill()
            self.stop()
            raise

    @property
    def pid(self) -> int:
        """Process id of the sampler."""
        return self._process.pid

    def ended(self) -> str | None:
        """How it ended by itself, or None while it runs."""
        code = self._process.poll()
        if code is None:
            return None
        how = f"signal {-code}" if code < 0 else f"exit code {code}"
        return f"the telemetry sampler ended with {how}{self._last_words()}"

    def stop(self) -> Farewell | None:
        """End it, by force if it does not follow. Its last line, or None if it left none."""
        if self._process.stdin is not None:
            with suppress(BrokenPipeError):
                self._process.stdin.close()
        try:
            self._process.wait(_STOP_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            # A process that hangs inside the driver outlives even this; it is left to the system.
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(_STOP_S)
        self._stderr.close()
        stdout = self._process.stdout
        if stdout is None or self._process.returncode is None:
            return None
        with stdout:
            lines = stdout.read().splitlines()
        try:
            return decode(Farewell, lines[-1]) if lines else None
        except ValueError:
            return None

    def _write(self, data: bytes) -> None:
        stdin = self._process.stdin
        if stdin is not None:
            with suppress(BrokenPipeError):  # it ended already; `_first_answer` tells how
                stdin.write(data)
                stdin.flush()

    def _first_answer(self, timeout_s: float) -> Answer:
        stdout = self._process.stdout
        assert stdout is not None  # noqa: S101 - it was started with a pipe
        try:
            line = Lines(stdout.fileno()).next(monotonic() + timeout_s)
        except TimeoutError:
            raise MeasurementError(
                f"the telemetry sampler was not ready within {timeout_s:g} s{self._last_words()}",
                hint="see whether nvidia-smi answers",
            ) from None
        if line is None:
            self._process.wait(_STOP_S)
            raise MeasurementError(self.ended() or "the telemetry sampler said nothing")
        answer = decode(Answer, line)
        if answer.problem is not None:
            self._process.wait(_STOP_S)
            kind = UsageError if self._process.returncode == UsageError.exit_code else None
            raise (kind or MeasurementError)(answer.problem, hint=answer.hint)
        return answer

    def _last_words(self) -> str:
        """The last line of the sampler's standard error, behind a colon."""
        self._stderr.seek(0)
        lines = self._stderr.read()[-4096:].decode(errors="replace").strip().splitlines()
        return f": {lines[-1]}" if lines else ""
