"""What is told beside the result: on stderr, and never at the result's cost."""

import sys
from contextlib import suppress

_LONGEST = 5000
"""A path of 4,096 bytes, which is never cut, and what is said of it."""


def tell(text: str, begin: str = "", end: str = "\n") -> None:
    """Print to stderr, if that can be written: a full disk there changes no exit code.

    What acts in `text`, such as in a file's name, is escaped; `begin` and `end` are the kit's own.
    """
    from kit.checker.printable import printable

    with suppress(OSError):
        print(f"{begin}{printable(text, _LONGEST)}", end=end, file=sys.stderr, flush=True)
