"""Verdicts as text for people and as one JSON document for programs.

Foreign text is escaped here and nowhere else on its way to a terminal, and never begins a line: to
a CI system `::` there is an order. In JSON it stands as it is; the document is ASCII, so nothing in
it acts either.
"""

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

import kit
from kit.checker.figures import figure_table
from kit.checker.printable import printable
from kit.checker.verdict import JUDGEMENTS, RuleResult, Verdict, worst
from kit.records import to_json

LOOKS_OK = "SUMMARY: submission looks OK"
HAS_ERRORS = "SUMMARY: submission has errors"

_SHOWN_FINDINGS = 10
_WORDS = {"error": "ERROR", "fail": "FAIL", "warn": "warn", "unproven": "unproven"}
_LINE = 400
_LONGEST_NAME = 4096


def text_report(verdict: Verdict, *, verbose: bool = False) -> Iterator[str]:
    """Yield the lines on one bundle, gravest outcomes first."""
    yield f"bundle        {printable(verdict.name, _LINE)}"
    if verdict.digest is not None:
        yield f"  digest      {verdict.digest}"
    headline = verdict.headline
    if headline is not None:
        system = printable(headline.system_id)
        yield f"  submitter   {printable(headline.submitter)}, system {system}"
        yield (
            f"  judged by   edition {verdict.edition}, {headline.division} division, "
            f"{headline.availability}"
        )
        yield ""
        yield from (f"  {line}" for line in figure_table(headline.cases))
        yield ""
    waived = {waiver.code for waiver in verdict.waivers}
    for outcome, word in _WORDS.items():
        for result in verdict.rules:
            if result.outcome == outcome:
                shown = "waived" if result.code in waived else word
                yield from _result(result, shown, verbose=verbose)
    for waiver in verdict.waivers:
        yield f"  {waiver.code} is waived by the auditor: {printable(waiver.reason, _LINE)}"
    yield from _counts(verdict.rules, verbose=verbose)
    if verdict.problem is not None:
        yield f"  problem     {printable(verdict.problem, _LINE)}"
    yield f"  verdict     {_verdict(verdict)}"


def _verdict(verdict: Verdict) -> str:
    """The judgement, and how many rules an open bundle leaves unproven."""
    said = verdict.judgement.replace("_", " ")
    unproven = sum(result.outcome == "unproven" for result in verdict.rules)
    if verdict.judgement == "compliant" and unproven:
        said += f", {_rules(unproven)} unproven"
    return said


def _result(result: RuleResult, word: str, *, verbose: bool) -> Iterator[str]:
    reason = "" if result.reason is None else f": {printable(result.reason, _LINE)}"
    yield f"  {word:<8}  {result.code} {result.name}{reason}"
    shown = result.findings if verbose else result.findings[:_SHOWN_FINDINGS]
    for finding in shown:
        yield f"            in        {printable(finding.place, _LINE)}"
        yield f"            found     {printable(finding.found, _LINE)}"
        yield f"            required  {printable(finding.required, _LINE)}"
    left = result.findings_total - len(shown)
    if left:
        yield f"            and {left} more"


def _counts(results: Sequence[RuleResult], *, verbose: bool) -> Iterator[str]:
    passed = [result for result in results if result.outcome == "pass"]
    absent = [result for result in results if result.outcome == "not_applicable"]
    if passed:
        yield f"  passed      {_rules(len(passed))}"
    if absent:
        hint = "" if verbose else " (--verbose says why)"
        yield f"  not applicable: {_rules(len(absent))}{hint}"
    if verbose:
        for result in absent:
            yield f"    {result.code} {result.name}: {printable(result.reason or '', _LINE)}"


def _rules(count: int) -> str:
    return "1 rule" if count == 1 else f"{count} rules"


def text_summary(verdicts: Sequence[Verdict]) -> Iterator[str]:
    """Yield the closing lines on all bundles; the last one is the documented summary."""
    if len(verdicts) > 1:
        found = Counter(verdict.judgement for verdict in verdicts)
        counts = (f"{found[word]} {word.replace('_', ' ')}" for word in JUDGEMENTS if found[word])
        yield f"{len(verdicts)} bundles: {', '.join(counts)}"
    yield LOOKS_OK if _worst(verdicts) == "compliant" else HAS_ERRORS


def json_report(verdicts: Sequence[Verdict]) -> str:
    """Return the document of `schemas/verdict.schema.json`."""
    found = Counter(verdict.judgement for verdict in verdicts)
    editions = {verdict.edition for verdict in verdicts}
    document = {
        "kit_version": kit.__version__,
        "edition": editions.pop() if len(editions) == 1 else None,
        "verdict": _worst(verdicts),
        "counts": {word: found[word] for word in sorted(JUDGEMENTS)},
        "bundles": [_entry(verdict) for verdict in verdicts],
    }
    return json.dumps(document, indent=1, ensure_ascii=True, allow_nan=False)


def _entry(verdict: Verdict) -> dict[str, Any]:
    entry: dict[str, Any] = to_json(verdict)
    entry["name"] = verdict.name[:_LONGEST_NAME]
    entry["verdict"] = entry.pop("judgement")
    entry["exit_code"] = verdict.exit_code
    return entry


def _worst(verdicts: Sequence[Verdict]) -> str:
    return worst(verdict.judgement for verdict in verdicts)
