"""What is told beside the result: on stderr, and never at the result's cost."""

import sys
from contextlib import suppress


def tell(text: str, end: str = "\n") -> None:
    """Print to stderr, if that can be written: a full disk there changes no exit code."""
    with suppress(OSError):
        print(text, end=end, file=sys.stderr, flush=True)
