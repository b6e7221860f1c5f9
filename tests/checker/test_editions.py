"""A bundle is judged by its own edition, and an edition's verdicts stay what they were."""

import json
from dataclasses import replace

import pytest

from bundles import honest_cpu
from golden import BUNDLES, GOLDEN, verdict_of
from kit import ruleset
from kit.checker.catalogue import all_round_rules, all_rules
from kit.checker.judge import run_rule
from kit.checker.rule import Finding, Rule

STORED = sorted(GOLDEN.glob("*/*.json"))


@pytest.mark.parametrize("path", STORED, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_the_stored_verdict_is_still_given(path):
    assert verdict_of(BUNDLES[path.stem]) == json.loads(path.read_text(encoding="utf-8"))


def test_every_committed_bundle_has_a_stored_verdict():
    assert sorted(BUNDLES) == sorted(path.stem for path in STORED)


def test_every_rule_came_with_a_known_edition():
    assert {rule.since for rule in (*all_rules(), *all_round_rules())} <= set(ruleset.EDITIONS)


@pytest.fixture
def next_edition(monkeypatch):
    """An edition after the current one, with a threshold of its own."""
    newer = replace(ruleset.ruleset(ruleset.CURRENT), edition="2099.1", minimum_windows=1000)
    monkeypatch.setitem(ruleset.EDITIONS, "2099.1", newer)
    return newer


def refuse(bundle, rules):
    yield Finding("anywhere", f"{rules.minimum_windows}", "nothing")


def test_a_younger_rule_does_not_judge_an_older_bundle(next_edition):
    rule = Rule("GK999", "too-new", ("M26",), "2099.1", "text", refuse)
    older = run_rule(rule, honest_cpu(), ruleset.ruleset(ruleset.CURRENT))
    assert older.outcome == "not_applicable"
    assert "2099.1" in older.reason
    assert run_rule(rule, honest_cpu(), next_edition).outcome == "fail"


def test_an_older_rule_judges_a_younger_bundle_by_its_thresholds(next_edition):
    rule = Rule("GK999", "old", ("M26",), ruleset.CURRENT, "text", refuse)
    assert run_rule(rule, honest_cpu(), next_edition).findings[0].found == "1000"
