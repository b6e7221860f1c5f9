"""Which valid name did a mistyped one most likely mean?"""

from collections.abc import Iterable
from difflib import get_close_matches

_LISTED = 12
_OFFERED = 3


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """Hint for an error line: the names that begin with `word` or are near it, else all of them."""
    names = sorted(known)
    begun = [name for name in names if word and name.lower().startswith(word.lower())]
    near = begun[:_OFFERED] or get_close_matches(word, names, n=1)
    if near:
        return f"did you mean {' or '.join(near)}?"
    listed = ", ".join(names[:_LISTED])
    return f"known: {listed}{', ...' if len(names) > _LISTED else ''}"
