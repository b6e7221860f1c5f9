import pytest

from kit.checker.rule import Finding
from kit.checker.verdict import (
    EXIT_CODES,
    JUDGEMENTS,
    RuleResult,
    Verdict,
    Waiver,
    decide,
    worst,
)
from kit.records import from_json, to_json


def results(*outcomes):
    return [
        RuleResult(f"GK{place:03d}", "name", outcome, None, (), 0)
        for place, outcome in enumerate(outcomes)
    ]


@pytest.mark.parametrize(
    ("outcomes", "opened", "closed"),
    [
        (["pass"], "compliant", "compliant"),
        (["pass", "warn", "not_applicable"], "compliant", "compliant"),
        (["pass", "fail"], "not_compliant", "not_compliant"),
        (["pass", "unproven"], "compliant", "undecided"),
        (["pass", "unproven", "fail"], "not_compliant", "not_compliant"),
        (["pass", "fail", "error"], "internal_error", "internal_error"),
        (["error"], "internal_error", "internal_error"),
        ([], "undecided", "undecided"),
        (["not_applicable", "unproven"], "undecided", "undecided"),
    ],
)
def test_decide(outcomes, opened, closed):
    assert decide(results(*outcomes), "open", ()) == opened
    assert decide(results(*outcomes), "closed", ()) == closed


def test_a_waiver_covers_a_failure_only():
    assert decide(results("pass", "fail"), "closed", {"GK001"}) == "compliant"
    assert decide(results("pass", "fail", "fail"), "closed", {"GK001"}) == "not_compliant"
    assert decide(results("pass", "unproven"), "closed", {"GK001"}) == "undecided"
    assert decide(results("pass", "error"), "open", {"GK001"}) == "internal_error"


def test_worst_is_by_gravity_not_by_exit_code():
    codes = [EXIT_CODES[word] for word in JUDGEMENTS]
    assert codes == [0, 5, 1, 3, 4]
    assert worst(["compliant", "undecided", "not_compliant", "refused"]) == "refused"
    assert worst(["undecided", "compliant"]) == "undecided"
    with pytest.raises(ValueError, match="empty"):
        worst([])


def test_a_verdict_survives_json():
    finding = Finding("place", "found", "required", "warn")
    rule = RuleResult("GK001", "name", "warn", None, (finding,), 1)
    waiver = Waiver("GK404", "0" * 64, "why")
    verdict = Verdict("b", "0" * 64, "2026.1", "refused", "why", None, (rule,), (waiver,))
    assert from_json(Verdict, to_json(verdict)) == verdict
    assert verdict.exit_code == 3
