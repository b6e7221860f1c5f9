"""Which manipulations there are: small functions, each registered with what must catch it.

A manipulation takes an honest bundle and returns what a cheater would hand over instead. What is
easy to keep consistent stays consistent: the harness derives the claims anew and seals the result.
Modules of this folder that hold manipulations are its kinds, and their names are the table's rows.
"""

import importlib
import pkgutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, Literal

from kit.bundle.reader import Auditor

Change = Literal["records", "files"]
REFUSED = "refused"
"""Stands in a rule's place where the bundle must not even be read."""
UNDECIDED = "undecided"
"""Stands in a rule's place where no rule may run, since nobody knows the edition."""


@dataclass(frozen=True, slots=True)
class Manipulation:
    """One way to cheat: `forge` changes records (a Bundle) or files (a sealed folder).

    `base` names an honest bundle of `battery.bases`. `stands_for` is the clause of the methodology
    that is broken, or `attack` for one on the checker itself. `rule` must catch it. `claims` says
    whether the claims follow the evidence, `sealed` whether the manifests are made anew.
    """

    kind: str
    name: str
    base: str
    stands_for: str
    rule: str
    text: str
    change: Change
    forge: Callable[..., Any]
    options: Mapping[str, Any] = field(default_factory=dict)
    claims: bool = True
    sealed: bool = True
    auditor: Auditor = field(default_factory=Auditor)

    @property
    def id(self) -> str:
        """Kind and name, unique in the battery."""
        return f"{self.kind}/{self.name}"


_registered: dict[str, Manipulation] = {}


def manipulation(
    rule: str | Mapping[str, str],
    stands_for: str,
    base: str = "guideline",
    variants: Mapping[str, Mapping[str, Any]] | None = None,
    **more: Any,
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Register a function of a bundle; each of `variants` is a manipulation with those options.

    A mapping as `rule` names the rule of each variant.
    """
    return _register("records", rule, stands_for, base, variants, more)


def on_files(
    rule: str | Mapping[str, str],
    stands_for: str,
    base: str = "guideline",
    variants: Mapping[str, Mapping[str, Any]] | None = None,
    **more: Any,
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Register a function that edits the files of a sealed bundle's folder."""
    return _register("files", rule, stands_for, base, variants, more)


def _register(change, rule, stands_for, base, variants, more):
    def decorate(forge):
        kind = forge.__module__.removeprefix("battery.")
        for label, options in (variants or {"": {}}).items():
            name = f"{forge.__name__}-{label}" if label else forge.__name__
            code = rule if isinstance(rule, str) else rule[label]
            add(
                Manipulation(
                    kind,
                    name,
                    base,
                    stands_for,
                    code,
                    " ".join(forge.__doc__.split()),
                    change,
                    forge,
                    options,
                    **more,
                )
            )
        return forge

    return decorate


def add(entry: Manipulation) -> None:
    """Put one manipulation into the battery; two of one name are a mistake."""
    assert entry.id not in _registered, entry.id
    _registered[entry.id] = entry


@cache
def battery() -> dict[str, Manipulation]:
    """Every manipulation by its id, in the order of kinds and registration."""
    for module in pkgutil.iter_modules([str(Path(__file__).parent)]):
        if not module.name.startswith(("_", "test_")):
            importlib.import_module(f"battery.{module.name}")
    return dict(sorted(_registered.items(), key=lambda item: item[1].kind))
