"""What went wrong, as the status and the one line that a bundle records."""

from kit.checker.printable import printable
from kit.errors import KitError, UnsupportedError, UntunedError, UnwritableError
from kit.evidence import Status
from kit.system import scrub

LONGEST = 800
"""Characters of a reason."""


def failure(error: Exception) -> tuple[Status, str]:
    """How a run ends that ended with this exception, whoever raised it."""
    if isinstance(error, KitError):
        return status_of(error), str(error)
    if isinstance(error, MemoryError):
        return "out_of_memory", str(error) or "the host has no memory left"
    return status_of(error), first_line(error)


def first_line(error: Exception) -> str:
    """The kind of what went wrong and the first line of its text, cut short."""
    return f"{type(error).__name__}: {(str(error).splitlines() or [''])[0][:500]}"


def status_of(error: Exception) -> Status:
    """How a run ends that this ended."""
    text = str(error)
    if isinstance(error, UntunedError):
        return "untuned"
    if "RESOURCE_EXHAUSTED" in text:
        return "out_of_memory"
    if isinstance(error, UnsupportedError | NotImplementedError):
        return "unsupported"
    if "UNIMPLEMENTED" in text or "unsupported" in text:  # XLA's words
        return "unsupported"
    is_device = isinstance(error, KitError) and not isinstance(error, UnwritableError)
    return "device_error" if is_device else "crashed"


def recordable(reason: str) -> str:
    """A reason as a bundle may hold it: printable, without this machine's names, not too long."""
    return printable(scrub(reason), LONGEST)
