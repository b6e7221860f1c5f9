"""`explain` names the thresholds that a rule reads, whatever function reads them."""

import re
from dataclasses import fields
from pathlib import Path

import pytest

import kit
from kit.checker.catalogue import all_rules
from kit.checker.reference import rule_text
from kit.checker.thresholds import thresholds_of
from kit.ruleset import CURRENT, Ruleset, ruleset

RULES = {rule.code: rule for rule in all_rules()}
READ = {code: thresholds_of(rule.check) for code, rule in RULES.items()}
ALL = {field.name for field in fields(Ruleset)} - {"edition"}


def names(code):
    return {name for group in READ[code] for name in group.names}


def test_none_is_read_by_nobody():
    by_rules = set().union(*map(names, RULES))
    runner = Path(kit.__file__).parent / "runner"
    sources = [path.read_text(encoding="utf-8") for path in runner.rglob("*.py")]
    by_runner = set(re.findall(r"rules\.(\w+)", "".join(sources)))
    assert ALL - by_rules - by_runner == set()
    assert by_rules <= ALL


def test_each_says_whence_it_comes():
    assert all(group.comment for groups in READ.values() for group in groups)


@pytest.mark.parametrize(
    ("code", "name"),
    [
        ("GK318", "slope_gap_s"),  # in a function of the rule's own
        ("GK402", "clock_halves_s"),  # in kit.stability
        ("GK313", "kernel_gap_share"),
    ],
)
def test_functions_that_a_rule_hands_its_thresholds_to_count(code, name):
    assert name in names(code)
    assert "minimum_replicates" not in names(code)


def test_the_page_tells_values_and_calibration():
    page = rule_text("GK318")
    assert f"## Thresholds of edition {CURRENT}\n- `slope_s` 1.0, `slope_spans` 4" in page
    assert "The host slope launches N" in page
    assert "`most_kernels_ahead` 1,100, `streamed_gap_ns` 1,000: " in rule_text("GK305")
    assert max(map(len, page.splitlines())) <= 100


def test_a_rule_without_any_has_no_such_part():
    assert not names("GK001")
    assert "Thresholds" not in rule_text("GK001")
    assert "Thresholds" not in rule_text("GK701")


def test_values_are_those_of_the_edition():
    found = re.findall(r"`(\w+)` ([\d.,]+)(?=[,:])", rule_text("GK602"))
    assert dict(found) == {name: f"{getattr(ruleset(CURRENT), name):,}" for name in names("GK602")}
