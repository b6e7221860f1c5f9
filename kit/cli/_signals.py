"""SIGTERM and SIGHUP end a command as Ctrl-C does: with what it still has to say, and code 130."""

import signal
import threading
from typing import NoReturn


def interrupt_on_termination() -> None:
    """Let the signals by which batch systems and terminals end a job act as Ctrl-C.

    A signal that the caller ignores, as `nohup` does, stays ignored. Elsewhere than in the main
    thread Python has no signals, and nothing changes.
    """
    if threading.current_thread() is threading.main_thread():
        for number in (signal.SIGTERM, signal.SIGHUP):
            if signal.getsignal(number) is not signal.SIG_IGN:
                signal.signal(number, _interrupt)


def _interrupt(_number: int, _frame: object) -> NoReturn:
    raise KeyboardInterrupt
