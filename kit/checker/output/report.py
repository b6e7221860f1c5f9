"""Verdicts as text for people and as one JSON document for programs.

Foreign text is escaped here and nowhere else on its way to a terminal, and never begins a line: to
a CI system `::` there is an order. In JSON it stands as it is but for
its spelling: the document is ASCII and holds no two hash signs, so nothing in it acts either.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

import kit
from kit.checker.output.figures import figure_table
from kit.checker.printable import printable, printable_json
from kit.checker.verdict import JUDGEMENTS, RuleResult, Verdict, worst
from kit.records import to_json
from kit.signature import Signature

LOOKS_OK = "SUMMARY: submission looks OK"
HAS_ERRORS = "SUMMARY: submission has errors"

_SHOWN_FINDINGS = 10
_NAMED = 4
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
        if verdict.signature is not None:
            yield f"  signature   {signature_text(verdict.signature)}"
        yield (
            f"  judged by   edition {verdict.edition}, {headline.division} division, "
            f"{headline.availability}"
        )
        yield ""
        yield from (f"  {line}" for line in figure_table(headline.cases))
        yield ""
    for outcome, word in _WORDS.items():
        for results in _alike(verdict.rules, outcome):
            if len(results) > 1:
                named = len(results) <= _NAMED or verbose
                which = ", ".join(each.code for each in results) if named else _rules(len(results))
                yield f"  {word:<8}  {which}: {_reason(results[0])}"
                continue
            shown = "waived" if results[0].code in verdict.waived else word
            yield from _result(results[0], shown, verbose=verbose)
    for waiver in verdict.waivers:
        yield f"  {waiver.code} is waived by the auditor: {printable(waiver.reason, _LINE)}"
    yield from _counts(verdict.rules, verbose=verbose)
    if verdict.problem is not None:
        yield f"  problem     {printable(verdict.problem, _LINE)}"
    yield f"  verdict     {_verdict(verdict)}"


def _verdict(verdict: Verdict) -> str:
    """The judgement, and how much of a compliant one is the auditor's leave or unproven."""
    said = verdict.judgement.replace("_", " ")
    if verdict.judgement == "compliant":
        unproven = sum(result.outcome == "unproven" for result in verdict.rules)
        counts = {"waived": len(verdict.waived), "unproven": unproven}
        said += "".join(f", {_rules(count)} {word}" for word, count in counts.items() if count)
    return said


def signature_text(signature: Signature) -> str:
    """What a signature is worth, in one line."""
    of = f", {printable(signature.key)}" if signature.key is not None else ""
    detail = f": {printable(signature.detail, _LINE)}" if signature.detail else ""
    return f"{signature.state.replace('_', ' ')}{detail}{of}"


def _alike(results: Sequence[RuleResult], outcome: str) -> Iterator[list[RuleResult]]:
    """The results of this outcome; those that are unproven for the same reason stand together."""
    groups: dict[object, list[RuleResult]] = {}
    for result in results:
        if result.outcome == outcome:
            same = outcome == "unproven" and result.reason is not None
            groups.setdefault(result.reason if same else (result.code,), []).append(result)
    yield from groups.values()


def _reason(result: RuleResult) -> str:
    return "" if result.reason is None else printable(result.reason, _LINE)


def _result(result: RuleResult, word: str, *, verbose: bool) -> Iterator[str]:
    reason = "" if result.reason is None else f": {_reason(result)}"
    yield f"  {word:<8}  {result.code} {result.name}{reason}"
    shown = result.findings if verbose else result.findings[:_SHOWN_FINDINGS]
    for finding in shown:
        yield f"            in        {printable(finding.place, _LINE)}"
        yield f"            found     {printable(finding.found, _LINE)}"
        yield f"            required  {printable(finding.required, _LINE)}"
    left = result.findings_total - len(shown)
    if left:
        yield f"            and {left} more"
    if result.outcome == "fail":
        yield f"            why       gemm-kit explain {result.code}"


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
    return printable_json(document)


def _entry(verdict: Verdict) -> dict[str, Any]:
    entry: dict[str, Any] = to_json(verdict)
    entry["name"] = verdict.name[:_LONGEST_NAME]
    del entry["traits"], entry["content"]
    entry["verdict"] = entry.pop("judgement")
    entry["exit_code"] = verdict.exit_code
    return entry


def _worst(verdicts: Sequence[Verdict]) -> str:
    return worst(verdict.judgement for verdict in verdicts)
