"""Are the extremes that `tests/margins.py` prints those that the rules judge, and allowed?"""

from dataclasses import fields, replace

import pytest

import margins
from kit import ruleset
from kit.checker.catalogue import all_rules
from kit.checker.judge import run_rule
from kit.ruleset import Ruleset
from margins import LEAST, MARGINS, RULES, WITHIN, extremes, h200_bundles

BY_CODE = {rule.code: rule for rule in all_rules()}
PLAIN = [margin for margin in MARGINS if margin.bound]
A_LITTLE = 1e-6


def worst(margin):
    """What comes nearest to the bound, and the figure as the bound sees it."""
    least, most = extremes(margin)
    if margin.bound == LEAST:
        return least, least.value
    if margin.bound == WITHIN and -least.value > most.value:
        return least, -least.value
    return most, most.value


def at_fault(margin, limit, bundles):
    """Folders of the runs, by bundle, that the rule finds fault with if the bound lies there."""
    rules = replace(RULES, **margin.alone, **{margin.name: limit})
    return {
        (name, run.evidence.path)
        for name, bundle in bundles.items()
        for finding in run_rule(BY_CODE[margin.rule], bundle, rules).findings
        for run in margins.h200_runs(bundle)
        if run.evidence.path in finding.place
    }


def test_every_name_is_a_threshold():
    assert {margin.name for margin in MARGINS} <= {known.name for known in fields(Ruleset)}


def test_the_edition_tells_how_many_runs_are_committed():
    runs = sum(len(margins.h200_runs(bundle)) for bundle in h200_bundles().values())
    assert f"the {runs} under `submissions/`" in " ".join(ruleset.__doc__.split())


@pytest.mark.parametrize("margin", PLAIN, ids=lambda margin: margin.name)
def test_an_extreme_lies_within_its_limit_and_is_what_the_rule_itself_goes_by(margin):
    seen, value = worst(margin)
    limit, tighter = getattr(RULES, margin.name), 1 if margin.bound == LEAST else -1
    assert value >= limit if margin.bound == LEAST else value <= limit
    bundles = h200_bundles()
    assert not at_fault(margin, value * (1 - tighter * A_LITTLE), bundles)
    alone = {seen.bundle: bundles[seen.bundle]}
    found = at_fault(margin, value * (1 + tighter * A_LITTLE), alone)
    assert (seen.bundle, seen.run.evidence.path) in found
