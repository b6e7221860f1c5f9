"""The rules as documentation: a list, one rule's text, or the whole reference in Markdown."""

from textwrap import fill

from kit.checker.catalogue import whole_catalogue
from kit.checker.round_rule import RoundRule
from kit.checker.rule import Rule
from kit.checker.thresholds import Thresholds, thresholds_of
from kit.errors import UsageError
from kit.nearest import did_you_mean
from kit.ruleset import CURRENT, ruleset

AnyRule = Rule | RoundRule
_WIDTH = 100


def rule_list() -> str:
    """One line a rule: code, name and the fault it finds."""
    rules = whole_catalogue()
    width = max(len(rule.name) for rule in rules)
    return "\n".join(f"{rule.code}  {rule.name:<{width}}  {_summary(rule)}" for rule in rules)


def rule_text(code: str) -> str:
    """The text of the rule with that code or name, such as `GK501` or `claim-differs`.

    Raises:
        UsageError: there is none.
    """
    rules = {rule.code: rule for rule in whole_catalogue()}
    named = {rule.name: rule for rule in whole_catalogue()}
    found = rules.get(code.upper()) or named.get(code.lower())
    if found is None:
        known = rules if code.upper().startswith("GK") else named
        raise UsageError(f"there is no rule {code!r}", hint=did_you_mean(code, known))
    return _page(found, 1)


def reference() -> str:
    """Every rule's text in one Markdown document."""
    pages = "\n\n".join(_page(rule, 2) for rule in whole_catalogue())
    return f"# Rules\n\n{pages}"


def _summary(rule: AnyRule) -> str:
    return rule.text.strip().partition("\n")[0]


def _page(rule: AnyRule, level: int) -> str:
    heading = "#" * level
    text = rule.text.strip().replace("\n## ", f"\n{heading}# ")
    page = f"{heading} {rule.code} {rule.name}\n\n{text}\n\nSince edition {rule.since}."
    if isinstance(rule, Rule) and (read := thresholds_of(rule.check)):
        limits = "\n".join(map(_limit, read))
        page += f"\n\n{heading}# Thresholds of edition {CURRENT}\n{limits}"
    return page


def _limit(read: Thresholds) -> str:
    """Names, values and calibration, as an item of a list."""
    edition = ruleset(CURRENT)
    values = ", ".join(f"`{name}` {getattr(edition, name):,}" for name in read.names)
    text = f"{values}: {read.comment}" if read.comment else values
    return fill(text, _WIDTH, initial_indent="- ", subsequent_indent="  ",
                break_long_words=False, break_on_hyphens=False)  # fmt: skip
