"""What a rule about a whole round is: it sees every judged bundle's traits beside one another.

A rule file is `round_rules/gkNNN_<fault>.py`, built like those of `kit.checker.rules`: the module
docstring is the rule's text, and its one function `check`, decorated with `@round_rule`, yields the
number of a bundle, that of the other bundle it was held against, and a `Finding` about the first.
The most credible bundles come first, so that a rule may compare with the first that it meets.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from kit.checker.rule import Finding, module_text
from kit.checker.traits import Traits


@dataclass(frozen=True, slots=True)
class Member:
    """One bundle of a round, as far as the others concern it. `name` may carry foreign text.

    `is_compliant` by itself; `is_trusted` where its signature is, or where the auditor did not ask.
    """

    name: str
    digest: str
    traits: Traits
    is_compliant: bool = True
    is_trusted: bool = True

    @property
    def credibility(self) -> tuple[bool, bool]:
        """Its rank among those of the round."""
        return self.is_compliant, self.is_trusted

    def may_fail(self, other: "Member") -> bool:
        """Whether what this bundle holds may be held against another one.

        Otherwise anybody could sink a bundle with a worthless one that names its GPU or repeats
        its published data.
        """
        return self.is_compliant and (self.is_trusted or not other.is_trusted)


RoundCheck = Callable[[Sequence[Member]], Iterator[tuple[int, int, Finding]]]


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
        text = module_text(check.__globals__)
        return RoundRule(code, name, clauses, since, text, check)

    return decorate
