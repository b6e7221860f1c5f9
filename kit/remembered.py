"""What was worked out about a table or a bundle: asked for often, derived once, gone with it."""

from collections.abc import Callable
from functools import wraps
from typing import Any, Protocol, TypeVar, TypeVarTuple


class Remembering(Protocol):
    """What keeps the answers about itself."""

    @property
    def known(self) -> dict[tuple[Any, ...], Any]:
        """Answers of `remembered` functions, by the function and what else it was asked."""


Subject = TypeVar("Subject", bound=Remembering)
Asked = TypeVarTuple("Asked")
Answer = TypeVar("Answer")


def remembered(derive: Callable[[Subject, *Asked], Answer]) -> Callable[[Subject, *Asked], Answer]:
    """Make a function answer a question about one subject once, as long as the subject lives.

    The subject must not change. No answer may hold it: it would keep itself alive.
    """

    @wraps(derive)
    def answer(subject: Subject, *asked: *Asked) -> Answer:
        question = (derive, *asked)
        if question not in subject.known:
            subject.known[question] = derive(subject, *asked)
        found: Answer = subject.known[question]
        return found

    return answer
