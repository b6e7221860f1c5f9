"""Everything the kit raises on purpose, and the exit code each kind ends the command with.

Findings about a bundle are data (`kit.checker.rule.Finding`), never exceptions. An exception here
means that the kit could not do what it was asked, and says problem, place and remedy in one line.
"""


class KitError(Exception):
    """A fault of the kit itself; subclasses say whose fault it is instead."""

    exit_code = 4

    def __init__(self, problem: str, *, hint: str = "") -> None:
        super().__init__(problem)
        self.problem = problem
        self.hint = hint

    def __str__(self) -> str:
        return f"{self.problem} ({self.hint})" if self.hint else self.problem


class UsageError(KitError):
    """The command line, the configuration or a plan asks for something that cannot be."""

    exit_code = 2


class BundleError(KitError):
    """A bundle is malformed or unsafe to read. The only exception that reading one raises."""

    exit_code = 3


class UndecidableError(KitError):
    """The bundle may be right, but this kit cannot tell: unknown edition, missing key."""

    exit_code = 5


class MeasurementError(KitError):
    """The machine could not measure what was asked: no GPU, no memory, a lost device."""

    exit_code = 6


class UnwritableError(MeasurementError):
    """A file cannot be written: there is no room for it, or no permission."""


class UnsupportedError(MeasurementError):
    """The kit cannot measure that: on this platform, in this mode, or at this size."""


class UntunedError(MeasurementError):
    """XLA refused to compile from stored autotune results: nothing was tuned anew."""
