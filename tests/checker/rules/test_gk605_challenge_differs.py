from dataclasses import replace

from bundles import changed, findings, honest_cpu, outcome, with_plan
from kit.bundle.reader import Auditor

CODE = "GK605"
CHALLENGE = "00112233445566778899aabbccddeeff"


def asked(bundle, challenge=CHALLENGE):
    return replace(bundle, auditor=Auditor(challenge=challenge))


def test_nobody_asked():
    assert outcome(CODE, honest_cpu()) == "not_applicable"


def test_made_without_a_challenge():
    broken = asked(honest_cpu())
    assert changed(broken) == {CODE: "fail"}
    (finding,) = findings(CODE, broken)
    assert (finding.found, finding.required) == ("null", CHALLENGE)


def test_made_for_another_challenge():
    other = with_plan(honest_cpu(), submission__challenge=CHALLENGE[::-1])
    assert outcome(CODE, asked(other)) == "fail"


def test_made_for_this_challenge():
    answer = with_plan(honest_cpu(), submission__challenge=CHALLENGE)
    assert outcome(CODE, asked(answer)) == "pass"
