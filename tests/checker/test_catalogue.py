import importlib
import pkgutil
import re
from pathlib import Path

import pytest

from kit.checker import round_rules, rules
from kit.checker.catalogue import all_round_rules, all_rules, rule_codes

OF_BUNDLES = sorted(module.name for module in pkgutil.iter_modules(rules.__path__))
OF_ROUNDS = sorted(module.name for module in pkgutil.iter_modules(round_rules.__path__))
MODULES = OF_BUNDLES + OF_ROUNDS
HEADINGS = [
    "## What it checks",
    "## Why it matters",
    "## How to fix",
    "## Clause",
    "## Example",
]
CLAUSES = {f"M{number:02d}" for number in range(1, 27)}


def folder_of(name):
    return round_rules if name in OF_ROUNDS else rules


def rule_of(name):
    return importlib.import_module(f"{folder_of(name).__name__}.{name}").check


@pytest.mark.parametrize(
    ("found", "modules"), [(all_rules, OF_BUNDLES), (all_round_rules, OF_ROUNDS)]
)
def test_the_folder_is_the_list(found, modules):
    assert [rule.code for rule in found()] == sorted(rule_of(name).code for name in modules)


def test_no_code_or_name_stands_twice():
    rules_of_all = (*all_rules(), *all_round_rules())
    assert len({rule.code for rule in rules_of_all}) == len(MODULES)
    assert len({rule.name for rule in rules_of_all}) == len(MODULES)
    assert rule_codes() == tuple(sorted(rule.code for rule in rules_of_all))


@pytest.mark.parametrize("name", MODULES)
def test_file_is_called_by_code_and_name(name):
    rule = rule_of(name)
    assert name == f"{rule.code.lower()}_{rule.name.replace('-', '_')}"
    assert re.fullmatch(r"GK[0-9]{3}", rule.code)
    assert re.fullmatch(r"[a-z][a-z0-9-]{0,63}", rule.name)


@pytest.mark.parametrize("name", MODULES)
def test_text_has_every_heading_in_order(name):
    text = rule_of(name).text
    assert re.findall(r"^## .*$", text, re.MULTILINE) == HEADINGS
    first, blank, _ = text.split("\n", 2)
    assert first.endswith(".")
    assert not blank
    for part in re.split(r"^## .*$", text, flags=re.MULTILINE):
        assert part.strip()


@pytest.mark.parametrize("name", MODULES)
def test_text_names_the_clauses_and_both_examples(name):
    rule = rule_of(name)
    assert rule.clauses
    assert set(rule.clauses) <= CLAUSES
    clause, example = re.split(r"^## (?:Clause|Example)$", rule.text, flags=re.MULTILINE)[1:]
    assert set(re.findall(r"M[0-9]{2}", clause)) == set(rule.clauses)
    assert re.search(r"^Passes: .+", example, re.MULTILINE)
    assert re.search(r"^Fails: .+", example, re.MULTILINE)


@pytest.mark.parametrize("name", MODULES)
def test_every_rule_has_its_test(name):
    folder = folder_of(name).__name__.rpartition(".")[2]
    assert (Path(__file__).parent / folder / f"test_{name}.py").is_file()


def test_a_module_without_a_rule_is_not_passed_over(tmp_path, monkeypatch):
    (tmp_path / "gk999_empty.py").write_text('"""Holds no rule."""\n')
    monkeypatch.setattr(rules, "__path__", [*rules.__path__, str(tmp_path)])
    all_rules.cache_clear()
    with pytest.raises(TypeError, match="gk999_empty has no rule"):
        all_rules()
    monkeypatch.undo()
    all_rules.cache_clear()
    assert len(all_rules()) == len(OF_BUNDLES)
