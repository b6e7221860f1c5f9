"""What a rule is: code, name, text and one function from evidence to findings.

A rule file is `rules/gkNNN_<fault>.py`. Its module docstring is the rule's published text, its
one function `check`, decorated with `@rule`, yields a `Finding` for every fault and nothing for
sound evidence. It may raise `Unproven` where the evidence it needs is missing and `NotApplicable`
where the clause does not concern this bundle.
"""

import ast
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from kit.bundle.reader import Bundle
    from kit.ruleset import Ruleset

Severity = Literal["fail", "warn"]
Outcome = Literal["pass", "fail", "warn", "not_applicable", "unproven", "error"]
Check = Callable[["Bundle", "Ruleset"], Iterator["Finding"]]


@dataclass(frozen=True, slots=True)
class Finding:
    """One fault: where (bundle-relative path and place in it), what was found, what is required.

    All three texts may carry foreign content; whoever prints them escapes.
    """

    place: str
    found: str
    required: str
    severity: Severity = "fail"


def outcome_of(severities: Collection[Severity]) -> Outcome:
    """What the findings of a rule that came to its end amount to."""
    if "fail" in severities:
        return "fail"
    return "warn" if severities else "pass"


class Unproven(Exception):  # noqa: N818 - an outcome, not an error
    """The evidence that would decide is not in the bundle; the text says which and why."""


class NotApplicable(Exception):  # noqa: N818 - an outcome, not an error
    """The clause does not concern this bundle; the text says why."""


def module_text(module: Mapping[str, Any]) -> str:
    """The docstring of the module with these globals, also where Python was told to drop it."""
    text: str | None = module["__doc__"]
    if text is None:  # python -OO, PYTHONOPTIMIZE=2
        source = Path(module["__file__"]).read_text(encoding="utf-8")
        text = ast.get_docstring(ast.parse(source), clean=False)
    return text or ""


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule of the catalogue. `clauses` are ids of the methodology, such as `M19`."""

    code: str
    name: str
    clauses: tuple[str, ...]
    since: str
    text: str
    check: Check


def rule(code: str, name: str, *, clauses: tuple[str, ...], since: str) -> Callable[[Check], Rule]:
    """Make a `Rule` of a check function; its text is the docstring of the function's module."""

    def decorate(check: Check) -> Rule:
        text = module_text(check.__globals__)
        return Rule(code, name, clauses, since, text, check)

    return decorate


def methodology_severity(bundle: "Bundle") -> Severity:
    """How grave a departure from the methodology is, as opposed to a contradiction.

    The closed division must follow every clause; the open one may depart, if it says so. A figure
    that contradicts its own evidence fails in both.
    """
    return "fail" if bundle.plan.submission.division == "closed" else "warn"
