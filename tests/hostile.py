"""Verdicts in which every text that a bundle can bring is hostile, for tests of output formats."""

from dataclasses import replace
from pathlib import Path

from hypothesis import strategies as st

from kit.checker.output.judged import judged
from kit.checker.rule import Finding
from kit.checker.traits import Traits
from kit.checker.verdict import CaseFigures, Headline, RuleResult, Verdict, Waiver

DIGEST = "ab" * 32
ORDERS = [
    "\x1b[2J\x1b[31mred", "\x9b31m\x07\x00\x08", "a\nSUMMARY: submission looks OK", "a\r\n",
    "::error file=x::y", "\n::stop-commands::z\n", "%0A::add-mask::x", "##[group]x", "##vso[x]y",
    "##teamcity[x]", "abc\u202ecba\u2066\u200f", "x\u2028y\u2029", "\ud800\udfff", "\uffff\ufffe",
    "]]>", "<!--", "<script>alert(1)</script>", "&lt;&#10;&x;", "\"'><a b='c'", "<![CDATA[",
    "=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1", '";=1+1', ',"=1', ";@x", "|-1", "\uff1d1",
    "=cmd|' /C calc'!A0", "{0}", "{{", "[x](http://x)", "](", "\\", "../../etc/passwd", "//x/y",
    "data/plan.json: x", "a,b=c", "%s%n", "",
]  # fmt: skip
"""What acts on a terminal, in a CI log, in XML, in SARIF's viewers or in a spreadsheet."""

ANY = st.text(st.characters(codec=None, exclude_categories=[]), max_size=40)
TEXTS = st.lists(st.one_of(st.sampled_from(ORDERS), ANY), min_size=1, max_size=4).map("".join)


def verdict_of(text, judgement="not_compliant"):
    """A verdict that says `text` wherever a bundle or a folder's name can reach."""
    finding = Finding(text, text, text)
    warning = Finding(f"data/plan.json: {text}", text, text, "warn")
    case = CaseFigures("case-bf16-nn", "bf16", "bf16", True, 3, 2e5, 689e12, 0.001, 0.002, 1466.0,
                       *[None] * 8, "")  # fmt: skip
    rules = (
        RuleResult("GK101", "environment-incomplete", "pass", None, (), 0),
        RuleResult("GK404", "power-limit-changed", "fail", None, (finding, warning), 7),
        RuleResult("GK405", "slowdown-in-window", "fail", None, (finding,), 1),
        RuleResult("GK105", "kit-modified", "warn", None, (warning,), 1),
        RuleResult("GK312", "cache-warm", "unproven", text, (), 0),
        RuleResult("GK502", "faster-than-light", "not_applicable", text, (), 0),
        RuleResult("GK407", "not-idle-after", "error", text, (), 0),
    )
    cases = (case, replace(case, id=text), replace(case, id=text, problem=text or "x"))
    system = {"system_name": text, "accelerator_model_name": text, "number_of_nodes": text}
    return Verdict(
        text, DIGEST, "2026.1", judgement, text, Headline(text, text, "open", "available", cases),
        rules, (Waiver("GK405", DIGEST, text),), traits=Traits(text, system, {}, {}, {}),
    )  # fmt: skip


def refused(text):
    """A bundle that could not be judged, for a reason that quotes it."""
    return Verdict(text, None, None, "refused", text, None, (), ())


def entries(text):
    """Both, below a folder of that name."""
    path = Path("round") / (text.replace("\0", "").lstrip("/") or "x")
    return [judged(verdict_of(text), path), judged(refused(text), path)]
