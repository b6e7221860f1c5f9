"""The process that holds a clock lock: `python -m kit.runner.clock_guard`, a job on its input.

It locks the clock, answers, and waits for its standard input to end. That input is a pipe whose
other end only the launcher holds, so it ends when the launcher releases the lock, raises, is told
to stop or is killed. Then the guard resets the clock, and only then does it end. It lives in a
session of its own and ignores every polite signal, because whoever sends one to all processes
ends the launcher too.
"""

import signal
import sys
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from kit.errors import KitError
from kit.evidence import MetricStatus
from kit.records import decode, encode
from kit.system import DeviceAddress
from kit.system.clock_lock import reset_clock, set_clock
from kit.system.nvml import Refusal, device, session

_POLITE = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)


@dataclass(frozen=True, slots=True)
class LockJob:
    """Which GPU to lock, and at which clock."""

    pci_bus_id: str
    uuid: str
    clock_mhz: int


@dataclass(frozen=True, slots=True)
class NvmlAnswer:
    """What NVML answered to a lock or a reset; `reason` is empty for `ok`."""

    status: MetricStatus
    reason: str


def main() -> int:
    """Lock, wait, reset; 0 if NVML took both."""
    for number in _POLITE:
        signal.signal(number, signal.SIG_IGN)
    job = decode(LockJob, sys.stdin.buffer.readline())
    try:
        with session() as nvml:
            return _hold(nvml, device(nvml, DeviceAddress(job.pci_bus_id, job.uuid)), job)
    except KitError as error:
        _say(NvmlAnswer("error", str(error)))
        return error.exit_code


def _hold(nvml: Any, handle: Any, job: LockJob) -> int:
    refused = set_clock(nvml, handle, job.clock_mhz)
    if refused is not None and refused.status != "error":
        _say(answer(refused))
        return 1
    # From here on the clock may be locked: an unclear error may have come after the fact.
    left: Refusal | None = Refusal("error", "not tried")
    try:
        _say(answer(refused))
        if refused is None:
            sys.stdin.buffer.read()
    finally:
        left = reset_clock(nvml, handle)
        if left is not None:
            _warn(f"gemm-kit: the clock of {job.pci_bus_id} stays locked ({left.reason}): "
                  f"nvidia-smi -i {job.pci_bus_id} -rgc resets it")  # fmt: skip
        _say(answer(left))
    return 0 if refused is None and left is None else 1


def answer(refused: Refusal | None) -> NvmlAnswer:
    """NVML's answer as the record has it."""
    return NvmlAnswer("ok", "") if refused is None else NvmlAnswer(refused.status, refused.reason)


def _say(message: NvmlAnswer) -> None:
    with suppress(OSError):  # a launcher that was killed does not listen
        sys.stdout.buffer.write(encode(message))
        sys.stdout.buffer.flush()


def _warn(text: str) -> None:
    with suppress(OSError):
        print(text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
