"""Hold a GPU's graphics clock for the length of a measurement, and let it go on every way out.

The lock is set and reset by a guard process (`kit.runner.clock_guard`), which outlives a launcher
that is killed. A guard that was killed itself leaves the reset to the launcher. Only when both are
killed at once does the clock stay locked.
"""

import os
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from time import monotonic

from kit import own_process
from kit.errors import KitError, MeasurementError
from kit.evidence import ClockLock
from kit.lines import Lines
from kit.records import decode, encode
from kit.runner.clock_guard import LockJob, NvmlAnswer, answer
from kit.system import DeviceAddress
from kit.system.clock_lock import LOCK_REMEDY, require_clock, reset_clock_of

_ANSWER_S = 30.0
"""NVML's driver was seen to block for tens of seconds; a lock that slow is a broken device."""


@contextmanager
def locked_clock(
    device: str, address: DeviceAddress, clock_mhz: int, clock: Callable[[], int]
) -> Iterator["HeldLock"]:
    """Lock the graphics clock of one GPU; it is reset at the end, or at `release` before.

    Raises:
        UsageError: the GPU has no such clock.
        MeasurementError: NVML refused the lock.
    """
    require_clock(address, clock_mhz, among_supported=True)
    guard = _guard()
    assert guard.stdout is not None  # noqa: S101 - it was started with a pipe
    held = HeldLock(device, address, clock_mhz, clock, guard, Lines(guard.stdout.fileno()))
    try:
        held.set()
        yield held
    finally:
        held.release()


@dataclass(slots=True)
class HeldLock:
    """One device's lock and the guard that holds it."""

    device: str
    address: DeviceAddress
    clock_mhz: int
    clock: Callable[[], int]
    guard: "subprocess.Popen[bytes]"
    answers: Lines
    set_ns: int = 0
    maybe_locked: bool = True
    record: ClockLock | None = None

    def set(self) -> None:
        """Have the guard lock the clock.

        Raises:
            MeasurementError: NVML refused, or the guard did not answer.
        """
        job = LockJob(str(self.address.pci_bus_id), str(self.address.uuid), self.clock_mhz)
        if self.guard.stdin is not None:
            with suppress(BrokenPipeError):  # it ended already; it has no answer either
                self.guard.stdin.write(encode(job))
                self.guard.stdin.flush()
        found = self._answer()
        self.set_ns = self.clock()
        self.maybe_locked = found is None or found.status in ("ok", "error")
        what = f"cannot lock the graphics clock of {self.device} at {self.clock_mhz} MHz"
        if found is None:
            raise MeasurementError(f"{what}: no answer", hint="see whether nvidia-smi answers")
        if found.status == "no_permission":
            raise MeasurementError(f"{what}: no permission", hint=LOCK_REMEDY)
        if found.status != "ok":
            raise MeasurementError(f"{what}: {found.reason}", hint="or test_type.lock=false")

    def release(self) -> ClockLock:
        """Reset the clock and say how that went; a second call only says it again."""
        if self.record is None:
            found, by = self._reset()
            self.record = ClockLock(
                device=self.device,
                requested_mhz=self.clock_mhz,
                set_ns=self.set_ns,
                set_status="ok",
                set_reason="",
                reset_ns=self.clock(),
                reset_status=found.status,
                reset_reason=found.reason,
                reset_by="guard" if by == "guard" else "launcher",
            )
        return self.record

    def _reset(self) -> tuple[NvmlAnswer, str]:
        with suppress(BrokenPipeError):
            if self.guard.stdin is not None:
                self.guard.stdin.close()
        found = self._answer()
        # A guard that hangs in the driver is not killed: its reset may still come through.
        with suppress(subprocess.TimeoutExpired):
            self.guard.wait(1.0)
        if self.guard.stdout is not None:
            self.guard.stdout.close()
        if found is not None:
            return found, "guard"
        if self.guard.returncode is None or not self.maybe_locked:
            return NvmlAnswer("error", "the guard gave no answer"), "guard"
        try:
            return answer(reset_clock_of(self.address)), "launcher"
        except KitError as error:
            return NvmlAnswer("error", error.problem[:400]), "launcher"

    def _answer(self) -> NvmlAnswer | None:
        """The guard's next line, or None if it ended or stays silent."""
        try:
            line = self.answers.next(monotonic() + _ANSWER_S)
        except TimeoutError:
            return None
        return None if line is None else decode(NvmlAnswer, line)


def _guard() -> "subprocess.Popen[bytes]":
    return subprocess.Popen(
        own_process.command("kit.runner.clock_guard"),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=own_process.with_kit(os.environ),
        start_new_session=True,
    )
