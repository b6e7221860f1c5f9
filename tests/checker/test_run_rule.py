from bundles import honest_cpu
from kit.checker.judge import MAXIMUM_COUNTED, run_rule
from kit.checker.limits import MAXIMUM_FINDINGS, MAXIMUM_TEXT
from kit.checker.rule import Finding, NotApplicable, Rule, Unproven
from kit.ruleset import ruleset


def run(act):
    """What becomes of a rule whose check is `act`."""
    rule = Rule("GK999", "made-up", ("M26",), "2026.1", "text", lambda _bundle, _rules: act())
    return run_rule(rule, honest_cpu(), ruleset("2026.1"))


def test_rule_outcomes():
    def warns():
        yield Finding("p", "f", "r", "warn")

    def fails_then_stops():
        yield Finding("p", "f", "r")
        raise Unproven("the other run has no windows")

    def warns_then_stops():
        yield Finding("p", "f", "r", "warn")
        raise Unproven("no windows")

    def fails_then_crashes():
        yield Finding("p", "f", "r")
        raise KeyError("x")

    def not_for_this():
        raise NotApplicable("a CPU host")
        yield

    assert run(lambda: iter(())).outcome == "pass"
    assert run(warns).outcome == "warn"
    found = run(fails_then_stops)
    assert (found.outcome, found.reason) == ("fail", "the other run has no windows")
    assert run(warns_then_stops).outcome == "unproven"
    found = run(not_for_this)
    assert (found.outcome, found.reason) == ("not_applicable", "a CPU host")
    found = run(fails_then_crashes)
    assert (found.outcome, found.reason, found.findings_total) == ("error", "KeyError: 'x'", 1)


def test_findings_and_texts_are_bounded():
    def many():
        for number in range(MAXIMUM_FINDINGS + 7):
            yield Finding(str(number), "x" * 10_000, "y")

    found = run(many)
    assert (len(found.findings), found.findings_total) == (MAXIMUM_FINDINGS, MAXIMUM_FINDINGS + 7)
    assert len(found.findings[0].found) == MAXIMUM_TEXT


def test_a_rule_that_never_ends_is_stopped():
    def endless():
        while True:
            yield Finding("p", "f", "r", "warn")

    found = run(endless)
    assert (found.outcome, found.findings_total) == ("warn", MAXIMUM_COUNTED)
