"""The rules as documentation: a list, one rule's text, or the whole reference in Markdown."""

from kit.checker.catalogue import whole_catalogue
from kit.checker.round_rule import RoundRule
from kit.checker.rule import Rule
from kit.errors import UsageError
from kit.nearest import did_you_mean

AnyRule = Rule | RoundRule


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
    return f"{heading} {rule.code} {rule.name}\n\n{text}\n\nSince edition {rule.since}."
