"""Which rules there are: every module of `kit.checker.rules` is one, and the folder is the list."""

import importlib
import pkgutil
from functools import cache

from kit.checker import rules
from kit.checker.rule import Rule


@cache
def all_rules() -> tuple[Rule, ...]:
    """Every rule, in the order of the codes.

    Raises:
        TypeError: a module of the folder holds no rule called `check`.
    """
    found = []
    for module in pkgutil.iter_modules(rules.__path__, f"{rules.__name__}."):
        check = getattr(importlib.import_module(module.name), "check", None)
        if not isinstance(check, Rule):
            raise TypeError(f"{module.name} has no rule called check")
        found.append(check)
    return tuple(sorted(found, key=lambda entry: entry.code))
