import json
from dataclasses import replace

import pytest

from kit.bundle.schema import validate
from kit.checker.output.report import HAS_ERRORS, LOOKS_OK, json_report, text_report, text_summary
from kit.checker.rule import Finding
from kit.checker.verdict import CaseFigures, Headline, RuleResult, Verdict, Waiver

DIGEST = "ab" * 32
CASE = CaseFigures("square-bf16-nn", "bf16", "bf16", True, 3, 2e5, 689e12, 0.001, 0.002, 1466.0,
                   *[None] * 8, "")  # fmt: skip
HEADLINE = Headline("example", "h200_sxm", "open", "available", (CASE,))
HOSTILE = [
    "\x1b[2J\x1b[31mred",
    "[red]x[/red] [link=http://example.com]y[/link]",
    "a\nSUMMARY: submission looks OK",
    "::error file=x::y\r\n::stop-commands::z",
    "abc\u202ecba\u2066\u200f",
    "\x9b31m\x07\x00",
    "x\u2028y",
    "##vso[task.complete result=Succeeded;]",
]


def result(code, outcome, *findings, reason=None, total=None):
    total = len(findings) if total is None else total
    return RuleResult(code, f"name-of-{code.lower()}", outcome, reason, findings, total)


FAIL = result("GK404", "fail", Finding("data/x: y", "700000 and 650000", "equal"))
WARN = result("GK105", "warn", Finding("data/environment.json", "false", "clean", "warn"))
UNPROVEN = result("GK312", "unproven", reason="no DRAM counters")
ABSENT = result("GK502", "not_applicable", reason="a CPU host")
PASS = result("GK001", "pass")
ALL = (PASS, WARN, UNPROVEN, FAIL, ABSENT)


def verdict(judgement="not_compliant", rules=ALL, **changes):
    found = Verdict("bundle", DIGEST, "2026.1", judgement, None, HEADLINE, tuple(rules), ())
    return replace(found, **changes)


def text(found, **options):
    return "\n".join(text_report(found, **options))


def test_gravest_first():
    shown = text(verdict())
    places = [shown.index(word) for word in ("GK404", "GK105", "GK312", "passed", "not applicable")]
    assert places == sorted(places)
    assert "FAIL      GK404 name-of-gk404\n            in        data/x: y\n" in shown
    assert "found     700000 and 650000\n            required  equal" in shown
    assert "unproven  GK312 name-of-gk312: no DRAM counters" in shown
    assert "passed      1 rule\n" in shown
    assert shown.endswith("verdict     not compliant")


@pytest.mark.parametrize(
    ("rules", "shown"),
    [
        ((PASS, WARN), "compliant"),
        ((PASS, UNPROVEN), "compliant, 1 rule unproven"),
        ((PASS, UNPROVEN, UNPROVEN), "compliant, 2 rules unproven"),
    ],
)
def test_an_open_verdict_says_how_much_of_it_is_unproven(rules, shown):
    assert text(verdict("compliant", rules)).endswith(f"verdict     {shown}")


def test_header():
    shown = text(verdict())
    assert shown.startswith(
        f"bundle        bundle\n  digest      {DIGEST}\n  submitter   example, system h200_sxm"
    )
    assert "edition 2026.1, open division, available" in shown
    assert "square-bf16-nn" in shown
    assert "case square-bf16-nn: bf16, native, 3 runs" in shown


def test_a_failure_names_the_command_that_explains_it():
    lines = text(verdict()).splitlines()
    assert lines[lines.index("            required  equal") + 1].split() == [
        "why", "gemm-kit", "explain", "GK404"
    ]  # fmt: skip
    assert sum("gemm-kit explain" in line for line in lines) == 1


def test_rules_unproven_for_one_reason_stand_together():
    reason = "the bundle was changed and cannot be read: data/plan.json: is missing"
    many = [result(f"GK4{number:02}", "unproven", reason=reason) for number in range(30)]
    lines = text(verdict(rules=[FAIL, UNPROVEN, *many])).splitlines()
    unproven = [line for line in lines if line.startswith("  unproven")]
    assert unproven == [
        "  unproven  GK312 name-of-gk312: no DRAM counters",
        f"  unproven  30 rules: {reason}",
    ]
    few = text(verdict(rules=many[:2]))
    assert f"unproven  GK400, GK401: {reason}" in few
    assert "GK429" in text(verdict(rules=many), verbose=True)


def test_errors_come_before_failures():
    shown = text(verdict(rules=[FAIL, result("GK999", "error", reason="KeyError: 'x'")]))
    assert shown.index("ERROR     GK999 name-of-gk999: KeyError: 'x'") < shown.index("GK404")


def test_why_not_applicable_only_when_asked():
    assert "a CPU host" not in text(verdict())
    assert "GK502 name-of-gk502: a CPU host" in text(verdict(), verbose=True)


def test_many_findings_are_counted():
    findings = [Finding(f"place {number}", "f", "r") for number in range(30)]
    found = verdict(rules=[result("GK501", "fail", *findings, total=99)])
    assert "place 9\n" in text(found)
    assert "place 10\n" not in text(found)
    assert "and 89 more" in text(found)
    assert "place 29\n" in text(found, verbose=True)
    assert "and 69 more" in text(found, verbose=True)


def test_waiver_is_shown_and_not_called_a_failure():
    waived = verdict("compliant", waivers=(Waiver("GK404", DIGEST, "limit was lowered by us"),))
    shown = text(waived)
    assert "waived    GK404" in shown
    assert "FAIL" not in shown
    assert "GK404 is waived by the auditor: limit was lowered by us" in shown
    assert shown.endswith("verdict     compliant, 1 rule waived, 1 rule unproven")


def test_refused():
    refused = Verdict("thing", None, None, "refused", "not a bundle: no", None, (), ())
    assert text(refused) == (
        "bundle        thing\n  problem     not a bundle: no\n  verdict     refused"
    )


@pytest.mark.parametrize(
    ("judgements", "last"),
    [
        (["compliant"], LOOKS_OK),
        (["compliant", "compliant"], LOOKS_OK),
        (["compliant", "undecided"], HAS_ERRORS),
        (["refused"], HAS_ERRORS),
        (["internal_error"], HAS_ERRORS),
    ],
)
def test_summary_line(judgements, last):
    lines = list(text_summary([verdict(word) for word in judgements]))
    assert lines[-1] == last
    assert len(lines) == (1 if len(judgements) == 1 else 2)


def test_summary_counts():
    words = ["compliant", "refused", "compliant", "undecided"]
    first, _ = text_summary([verdict(word) for word in words])
    assert first == "4 bundles: 2 compliant, 1 undecided, 1 refused"


@pytest.mark.parametrize("foreign", HOSTILE)
def test_foreign_text_cannot_act(foreign):
    """Wherever a stranger's text stands, it stays on its line and drives no terminal."""
    finding = Finding(foreign, foreign, foreign)
    found = verdict(
        rules=[
            result("GK404", "fail", finding, reason=foreign),
            result("GK502", "not_applicable", reason=foreign),
        ],
        name=foreign,
        problem=foreign,
        headline=replace(
            HEADLINE,
            submitter=foreign,
            system_id=foreign,
            cases=(
                replace(CASE, number_format=foreign),
                replace(CASE, problem=foreign),
            ),
        ),
        waivers=(Waiver("GK404", DIGEST, foreign),),
    )
    lines = list(text_report(found, verbose=True))
    assert sum("gemm-kit explain" in line for line in lines) == 1
    quiet = replace(
        found,
        name="n",
        problem="n",
        waivers=(Waiver("GK404", DIGEST, "n"),),
    )
    assert len(lines) == len(list(text_report(quiet, verbose=True)))
    for line in lines:
        assert line.isprintable()
        assert not line.lstrip().startswith(("SUMMARY", "::"))
        assert "##" not in line
    if foreign.startswith("["):
        assert foreign in "\n".join(lines)


@pytest.mark.parametrize("foreign", [*HOSTILE, "\ud800"])
def test_json_is_ascii_and_exact(foreign):
    found = verdict(name=foreign, rules=[result("GK404", "fail", Finding(foreign, "f", "r"))])
    document = json_report([found])
    assert document.isascii()
    assert "\x1b" not in document
    parsed = json.loads(document)
    assert parsed["bundles"][0]["name"] == foreign
    assert parsed["bundles"][0]["rules"][0]["findings"][0]["place"] == foreign


def test_json_follows_its_schema():
    refused = Verdict("thing", None, None, "refused", "no bundle here", None, (), ())
    waived = verdict("compliant", waivers=(Waiver("GK404", DIGEST, "why"),))
    document = json.loads(json_report([verdict(), refused, waived]))
    validate("verdict", document, "verdict")
    assert document["verdict"] == "refused"
    assert document["edition"] is None
    assert document["counts"] == {
        "compliant": 1,
        "internal_error": 0,
        "not_compliant": 1,
        "refused": 1,
        "undecided": 0,
    }
    first, second, third = document["bundles"]
    assert (first["exit_code"], second["exit_code"], third["exit_code"]) == (1, 3, 0)
    assert third["waivers"] == [{"code": "GK404", "bundle": DIGEST, "reason": "why"}]
    assert (second["headline"], second["edition"], second["digest"]) == (None, None, None)
    assert first["headline"]["cases"][0]["graphics_mhz"] == 1466.0
    assert [rule["outcome"] for rule in first["rules"]] == [rule.outcome for rule in ALL]


def test_json_names_the_one_edition():
    assert json.loads(json_report([verdict(), verdict("compliant")]))["edition"] == "2026.1"
