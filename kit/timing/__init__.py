"""How time is taken: one module per method, found by its name.

A method marks boundaries between windows of launches. It never sees what is launched: the session
hands it the last output, and the method decides whether to record an event behind it or to wait.
"""

from collections.abc import Callable
from importlib import import_module
from pkgutil import iter_modules
from typing import Any, Protocol

from kit.errors import UsageError
from kit.evidence import Anchor, Control
from kit.plan import TimingMethod


class Timer(Protocol):
    """One run's clock. Times are nanoseconds; host times count from the bundle's start."""

    method: TimingMethod
    drains: int
    """How often the host waited for the device inside the loops."""

    def start(self) -> Anchor:
        """Drain the device, open the first window, and say when on the host that was."""

    def boundary(self, last_output: Any) -> None:
        """Close the current window behind the launch that makes `last_output`; open the next."""

    def open_control(self, last_output: Any) -> None:
        """Begin the independent timing of the profiling windows, if the method has one."""

    def close_control(self, last_output: Any, launches: int) -> None:
        """End it."""

    def finish(self, last_output: Any) -> Anchor:
        """Wait for the last window's end."""

    def durations_ns(self) -> list[int]:
        """Duration of every window so far, in order; only after `finish`."""

    def controls(self) -> tuple[Control, ...]:
        """The independent timings taken."""


Clock = Callable[[], int]


def methods() -> tuple[str, ...]:
    """Names of all methods: the modules of this package."""
    return tuple(module.name for module in iter_modules(__path__))


def timer(method: str, backend: Any, clock: Clock) -> Timer:
    """Return the method's timer for a backend; `clock` gives host ns since the bundle's start.

    Raises:
        UsageError: there is no such method.
    """
    if method not in methods():
        raise UsageError(
            f"timing method {method!r} is unknown", hint=f"known: {', '.join(methods())}"
        )
    made: Timer = import_module(f"{__name__}.{method}").connect(backend, clock)
    return made
