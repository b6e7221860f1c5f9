"""What a rule about a whole round is: it sees every judged bundle's traits beside one another.

A rule file is `round_rules/gkNNN_<fault>.py`, built like those of `kit.checker.rules`: the module
docstring is the rule's text, and its one function `check`, decorated with `@round_rule`, yields the
number of a bundle and a `Finding` about it.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from kit.checker.rule import Finding
from kit.checker.traits import Traits


@dataclass(frozen=True, slots=True)
class Member:
    """One bundle of a round, as far as the others concern it. `name` may carry foreign text."""

    name: str
    digest: str
    traits: Traits


RoundCheck = Callable[[Sequence[Member]], Iterator[tuple[int, Finding]]]


@dataclass(frozen=True, slots=True)
class RoundRule:
    """One rule about a round; fields as of `kit.checker.rule.Rule`."""

    code: str
    name: str
    clauses: tuple[str, ...]
    since: str
    text: str
    check: RoundCheck


def round_rule(
    code: str, name: str, *, clauses: tuple[str, ...], since: str
) -> Callable[[RoundCheck], RoundRule]:
    """Make a `RoundRule` of a check function; its text is the function's module's docstring."""

    def decorate(check: RoundCheck) -> RoundRule:
        text = check.__globals__["__doc__"]
        return RoundRule(code, name, clauses, since, text, check)

    return decorate
