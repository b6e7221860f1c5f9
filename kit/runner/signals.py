"""What a signal does to a measurement: it ends the run in progress, and never the sealing."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NoReturn

_ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def interrupt_on_termination() -> None:
    """Let SIGTERM and SIGHUP, by which batch systems and terminals end a job, act as Ctrl-C.

    A signal that the caller ignores, as `nohup` does, stays ignored. Elsewhere than in the main
    thread Python has no signals, and nothing changes.
    """
    if threading.current_thread() is threading.main_thread():
        for number in _ENDING[1:]:
            if signal.getsignal(number) is not signal.SIG_IGN:
                signal.signal(number, _interrupt)


def _interrupt(_number: int, _frame: object) -> NoReturn:
    raise KeyboardInterrupt


@contextmanager
def undisturbed() -> Iterator[None]:
    """Ignore these signals: a second Ctrl-C while sealing would cost everything measured."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.signal(number, signal.SIG_IGN) for number in _ENDING}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
