from dataclasses import replace

import pytest

from kit.checker import round as module
from kit.checker.catalogue import all_round_rules
from kit.checker.round import compare
from kit.checker.round_rule import round_rule
from kit.checker.traits import Traits
from kit.checker.verdict import RuleResult, Verdict, Waiver
from kit.signature import Signature

PASSED = RuleResult("GK001", "file-differs-from-manifest", "pass", None, (), 0)
CODES = [rule.code for rule in all_round_rules()]


def verdict(name, digest, judgement="compliant", **traits):
    found = Traits("acme", {}, {}, {}, {}) if not traits else Traits(**{
        "submitter": "acme", "system": {}, "devices": {}, "busy": {}, "series": {}, **traits
    })  # fmt: skip
    return Verdict(name, digest * 32, "2026.1", judgement, None, None, (PASSED,), (), traits=found)


REFUSED = Verdict("bad", None, None, "refused", "not a bundle", None, (), ())
SERIES = {"data/x/power.csv: power_average_mw": "aa bb cc"}


def outcomes(verdict):
    return {result.code: result.outcome for result in verdict.rules if result.code in CODES}


def test_a_bundle_alone_has_nothing_to_be_compared_with():
    first, second = compare([verdict("a", "aa"), REFUSED])
    assert outcomes(first) == dict.fromkeys(CODES, "not_applicable")
    assert (first.judgement, second) == ("compliant", REFUSED)


def test_honest_bundles_pass():
    for found in compare([verdict("a", "aa"), verdict("b", "bb")]):
        assert outcomes(found) == dict.fromkeys(CODES, "pass")
        assert found.judgement == "compliant"


def test_a_copy_makes_both_fail_and_no_third():
    found = compare([
        verdict("a", "aa", series=SERIES), REFUSED, verdict("b", "bb", "undecided"),
        verdict("c", "cc", series=SERIES),
    ])  # fmt: skip
    judgements = [each.judgement for each in found]
    assert judgements == ["not_compliant", "refused", "undecided", "not_compliant"]
    assert outcomes(found[0])["GK702"] == outcomes(found[3])["GK702"] == "fail"
    assert outcomes(found[2])["GK702"] == "pass"


def signed(given, state):
    return replace(given, signature=Signature(state, "acme", None, ""))


H200 = {"gpu-1": {"name": "NVIDIA H200"}}
H100 = {"gpu-1": {"name": "NVIDIA H100"}}
ACCUSATIONS = {
    "GK701": ({}, {}),
    "GK702": ({"series": SERIES}, {"series": SERIES}),
    "GK703": ({"devices": H200}, {"devices": H100}),
    "GK704": ({"busy": {"gpu-1": (0, 300)}}, {"busy": {"gpu-1": (0, 300)}}),
}


@pytest.mark.parametrize("code", ACCUSATIONS)
@pytest.mark.parametrize("judgement", ["undecided", "not_compliant"])
def test_a_bundle_that_is_not_compliant_fails_alone(code, judgement):
    mine, theirs = ACCUSATIONS[code]
    digest = "aa" if code == "GK701" else "bb"
    hostile = verdict("hostile", digest, judgement, **theirs)
    for victim_first in (True, False):
        pair = [verdict("victim", "aa", **mine), hostile]
        found = compare(pair if victim_first else pair[::-1])
        victim, other = found if victim_first else found[::-1]
        assert (victim.judgement, outcomes(victim)[code]) == ("compliant", "warn")
        assert (other.judgement, outcomes(other)[code]) == ("not_compliant", "fail")
        (finding,) = [r.findings[0] for r in victim.rules if r.code == code]
        assert finding.required.endswith(
            "; hostile fails no other bundle: it is not compliant itself"
        )


@pytest.mark.parametrize("state", ["unsigned", "unknown_key", "invalid"])
@pytest.mark.parametrize("code", ACCUSATIONS)
def test_an_untrusted_bundle_fails_beside_a_trusted_one(code, state):
    mine, theirs = ACCUSATIONS[code]
    digest = "aa" if code == "GK701" else "bb"
    hostile = signed(verdict("hostile", digest, **theirs), state)
    victim, other = compare([signed(verdict("victim", "aa", **mine), "trusted"), hostile])
    assert (victim.judgement, outcomes(victim)[code]) == ("compliant", "warn")
    assert (other.judgement, outcomes(other)[code]) == ("not_compliant", "fail")
    found = compare([signed(verdict("victim", "aa", **mine), "unsigned"), hostile])
    assert [each.judgement for each in found] == ["not_compliant", "not_compliant"]


@pytest.mark.parametrize("code", ["GK702", "GK703", "GK704"])
def test_a_worthless_bundle_hides_no_true_fault(code):
    mine, theirs = ACCUSATIONS[code]
    worthless = [verdict(name, name * 2, "not_compliant", **theirs) for name in "123"]
    found = compare([*worthless, verdict("a", "aa", **mine), verdict("b", "bb", **theirs)])
    assert [each.judgement for each in found] == ["not_compliant"] * 5
    assert outcomes(found[3])[code] == outcomes(found[4])[code] == "fail"


def test_a_waiver_covers_one_of_the_two():
    waiver = Waiver("GK702", "aa" * 32, "measured before our eyes")
    pair = [verdict("a", "aa", series=SERIES), verdict("b", "bb", series=SERIES)]
    first, second = compare(pair, [waiver, Waiver("GK701", "aa" * 32, "not needed")])
    assert (first.judgement, first.waivers) == ("compliant", (waiver,))
    assert (second.judgement, second.waivers) == ("not_compliant", ())


@pytest.mark.parametrize("judgement", ["undecided", "not_compliant", "refused", "internal_error"])
def test_no_round_makes_a_verdict_better(judgement):
    found = compare([verdict("a", "aa", judgement), verdict("b", "bb")])
    assert found[0].judgement == judgement


def test_a_warning_fails_nothing():
    pair = [
        verdict("a", "aa", devices={"gpu-1": {}}),
        verdict("b", "bb", devices={"gpu-1": {}}, submitter="apex"),
    ]
    for found in compare(pair):
        assert (outcomes(found)["GK705"], found.judgement) == ("warn", "compliant")


def test_a_bundle_that_gives_nothing_to_compare_is_never_compliant():
    mute = replace(verdict("a", "aa"), traits=None)
    found = compare([mute, verdict("b", "bb"), verdict("c", "cc")])
    assert outcomes(found[0]) == dict.fromkeys(CODES, "unproven")
    assert [each.judgement for each in found] == ["undecided", "compliant", "compliant"]


def test_many_findings_are_counted_and_the_first_kept():
    many = {f"data/{number}: x": f"{number:016x}" for number in range(300)}
    first, _ = compare([verdict("a", "aa", series=many), verdict("b", "bb", series=many)])
    (result,) = [result for result in first.rules if result.code == "GK702"]
    assert (len(result.findings), result.findings_total) == (200, 300)


def test_a_rule_that_crashes_never_passes(monkeypatch):
    @round_rule("GK799", "crashes", clauses=("M26",), since="2026.1")
    def crash(_members):
        raise KeyError("x" * 5000)

    monkeypatch.setattr(module, "all_round_rules", lambda: (crash,))
    for found in compare([verdict("a", "aa"), verdict("b", "bb")]):
        assert found.judgement == "internal_error"
        assert found.rules[-1].outcome == "error"
        assert len(found.rules[-1].reason) == 2000


def test_order_and_number_stay():
    verdicts = [verdict("c", "cc"), REFUSED, verdict("a", "aa"), REFUSED, verdict("b", "bb")]
    assert [found.name for found in compare(verdicts)] == ["c", "bad", "a", "bad", "b"]
    assert compare([]) == ()
