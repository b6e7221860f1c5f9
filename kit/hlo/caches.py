"""What is remembered of the programs that were read, and let go of in one step.

Programs repeat the same few texts, types and shapes thousands of times. Each answer is a function
of its arguments alone; the arguments may be megabytes of a hostile text, so that no cache may
outlive the text that filled it.
"""

from collections.abc import Callable
from functools import lru_cache
from typing import ParamSpec, TypeVar, cast

P = ParamSpec("P")
R = TypeVar("R")
_forget: list[Callable[[], None]] = []


def cached(most: int) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Keep a function's last `most` answers, until `forget_all`."""

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        keeping = lru_cache(maxsize=most)(function)
        _forget.append(keeping.cache_clear)
        return cast("Callable[P, R]", keeping)

    return decorate


def forget_all() -> None:
    """Let go of all that was remembered."""
    for clear in _forget:
        clear()
