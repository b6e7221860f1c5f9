"""Which rules there are: every module of `kit.checker.rules` is one, and the folder is the list.

The rules about a whole round are those of `kit.checker.round_rules`.
"""

import importlib
import pkgutil
from functools import cache
from types import ModuleType
from typing import TypeVar

from kit.checker import round_rules, rules
from kit.checker.round_rule import RoundRule
from kit.checker.rule import Rule

Kind = TypeVar("Kind", Rule, RoundRule)


@cache
def all_rules() -> tuple[Rule, ...]:
    """Every rule about one bundle, in the order of the codes.

    Raises:
        TypeError: a module of the folder holds no rule called `check`.
    """
    return _load(rules, Rule)


@cache
def all_round_rules() -> tuple[RoundRule, ...]:
    """Every rule about a round, in the order of the codes.

    Raises:
        TypeError: a module of the folder holds no rule called `check`.
    """
    return _load(round_rules, RoundRule)


def whole_catalogue() -> tuple[Rule | RoundRule, ...]:
    """The rules about one bundle, then those about a round."""
    return (*all_rules(), *all_round_rules())


def rule_codes() -> tuple[str, ...]:
    """The codes of all rules, by the names of their files: no rule is imported."""
    return tuple(sorted((*bundle_rule_codes(), *_codes(round_rules))))


def bundle_rule_codes() -> tuple[str, ...]:
    """Those of `all_rules`, likewise."""
    return _codes(rules)


@cache
def _codes(folder: ModuleType) -> tuple[str, ...]:
    modules = pkgutil.iter_modules(folder.__path__)
    return tuple(sorted(entry.name[:5].upper() for entry in modules))


def _load(folder: ModuleType, kind: type[Kind]) -> tuple[Kind, ...]:
    found = []
    for module in pkgutil.iter_modules(folder.__path__, f"{folder.__name__}."):
        check = getattr(importlib.import_module(module.name), "check", None)
        if not isinstance(check, kind):
            raise TypeError(f"{module.name} has no rule called check")
        found.append(check)
    return tuple(sorted(found, key=lambda entry: entry.code))
