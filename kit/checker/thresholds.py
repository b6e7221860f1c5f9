"""Which of an edition's thresholds a rule reads, and what the edition says about each.

Both are read from the source: a rule's text names what it checks, its code alone how far.
"""

import ast
from collections.abc import Iterator
from dataclasses import dataclass, fields
from functools import cache
from inspect import unwrap
from pathlib import Path
from types import FunctionType
from typing import Any

from kit import ruleset as edition
from kit.checker.rule import Check
from kit.ruleset import Ruleset

_ARGUMENT = "rules"
"""What a function that reads thresholds calls its `Ruleset`."""


@dataclass(frozen=True, slots=True)
class Thresholds:
    """Names of one or more thresholds that stand together, and the comment above them."""

    names: tuple[str, ...]
    comment: str


def thresholds_of(check: Check) -> tuple[Thresholds, ...]:
    """What the module of a rule's `check` and the functions that it hands its `Ruleset` to read."""
    names = set(_read_by(check.__globals__, None, set()))
    return tuple(
        Thresholds(read, group.comment)
        for group in _groups()
        if (read := tuple(name for name in group.names if name in names))
    )


def _read_by(module: dict[str, Any], function: str | None, seen: set[Any]) -> Iterator[str]:
    """Names read by one function of a module with these globals, or by all of it."""
    tree = _tree(Path(module["__file__"]))
    for node in ast.walk(tree if function is None else _definition(tree, function)):
        if isinstance(node, ast.Attribute) and _is_ruleset(node.value):
            yield node.attr
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            named: Any = module.get(node.func.id)
            called = unwrap(named)
            given = [*node.args, *(keyword.value for keyword in node.keywords)]
            is_handed = isinstance(called, FunctionType) and any(map(_is_ruleset, given))
            if is_handed and called not in seen:
                seen.add(called)
                yield from _read_by(called.__globals__, called.__name__, seen)


def _definition(tree: ast.AST, function: str) -> ast.AST:
    return next(
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef) and node.name == function
    )


def _is_ruleset(node: ast.AST) -> bool:
    return isinstance(node, ast.Name) and node.id == _ARGUMENT


@cache
def _tree(path: Path) -> ast.AST:
    return ast.parse(path.read_text(encoding="utf-8"))


@cache
def _groups() -> tuple[Thresholds, ...]:
    """All thresholds, in order: those without a comment of their own belong to the one above."""
    path = Path(edition.__file__)
    lines = path.read_text(encoding="utf-8").splitlines()
    (table,) = (
        node
        for node in ast.walk(_tree(path))
        if isinstance(node, ast.ClassDef) and node.name == Ruleset.__name__
    )
    known = {field.name for field in fields(Ruleset)} - {"edition"}
    groups: list[Thresholds] = []
    for node in table.body:
        if not isinstance(node, ast.AnnAssign) or not isinstance(node.target, ast.Name):
            continue
        if node.target.id not in known:
            continue
        first = node.lineno - 1
        while lines[first - 1].lstrip().startswith("#"):
            first -= 1
        comment = " ".join(line.strip(" #") for line in lines[first : node.lineno - 1])
        if comment or not groups:
            groups.append(Thresholds((node.target.id,), comment))
        else:
            last = groups.pop()
            groups.append(Thresholds((*last.names, node.target.id), last.comment))
    return tuple(groups)
