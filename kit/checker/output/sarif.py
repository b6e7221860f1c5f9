"""Verdicts as a SARIF 2.1.0 log (OASIS), for code scanning and its viewers.

One result a finding; what stayed unproven is a result of kind `open`, a bundle that could not be
judged one of its own kind of rule. Waived findings are suppressed, not left out. Messages are plain
text in which neither a placeholder nor an embedded link can stand (SARIF 3.11.5, 3.11.6).
"""

import hashlib
import json
import os
from collections.abc import Iterator, Sequence
from typing import Any
from urllib.parse import quote

import kit
from kit.checker.catalogue import whole_catalogue
from kit.checker.limits import MAXIMUM_TEXT
from kit.checker.output.judged import Judged, file_of
from kit.checker.printable import printable, printable_json
from kit.checker.round_rule import RoundRule
from kit.checker.rule import Rule
from kit.checker.verdict import EXIT_CODES, RuleResult, worst

_SCHEMA = (
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
)
_UNJUDGED = {
    "refused": "The bundle is malformed, unsafe to read, or not sealed.",
    "undecided": "The evidence does not decide.",
    "internal_error": "The kit failed at this bundle.",
}
_LEVELS = {"fail": "error", "warn": "warning"}


def sarif_report(entries: Sequence[Judged]) -> str:
    """Return the log: one run, its rules, and the results in the order of bundles and rules."""
    judgement = worst(entry.verdict.judgement for entry in entries)
    rules = [_rule(rule) for rule in whole_catalogue()]
    rules += [{"id": code, "shortDescription": _text(text)} for code, text in _UNJUDGED.items()]
    places = {rule["id"]: place for place, rule in enumerate(rules)}
    results = [result for entry in entries for result in _results(entry)]
    for result in results:
        result["ruleIndex"] = places[result["ruleId"]]
    run = {
        "tool": {"driver": {"name": "gemm-kit", "version": kit.__version__, "rules": rules}},
        "invocations": [
            {
                "executionSuccessful": judgement != "internal_error",
                "exitCode": EXIT_CODES[judgement],
            }
        ],
        "properties": {"verdict": judgement, "bundles": len(entries)},
        "results": results,
    }
    document = {"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}
    return printable_json(document)


def _rule(rule: Rule | RoundRule) -> dict[str, Any]:
    text = rule.text.strip()
    shown = _braced(text)
    return {
        "id": rule.code,
        "name": rule.name,
        "shortDescription": _text(text.partition("\n")[0]),
        "help": {"text": shown, "markdown": shown},
        "properties": {"tags": list(rule.clauses)},
    }


def _results(entry: Judged) -> Iterator[dict[str, Any]]:
    verdict = entry.verdict
    waived = {waiver.code: waiver.reason for waiver in verdict.waivers}
    for result in verdict.rules:
        for found in _of_rule(entry, result):
            if result.code in waived:
                reason = printable(waived[result.code], MAXIMUM_TEXT)
                found["suppressions"] = [{"kind": "external", "justification": reason}]
            yield found
    if verdict.judgement in _UNJUDGED:
        problem = verdict.problem or _UNJUDGED[verdict.judgement]
        yield _result(entry, verdict.judgement, entry.folder, problem)


def _of_rule(entry: Judged, result: RuleResult) -> Iterator[dict[str, Any]]:
    for finding in result.findings:
        message = f"{finding.place}: found {finding.found}; required {finding.required}"
        level = _LEVELS[finding.severity]
        yield _result(entry, result.code, file_of(entry, finding), message, level)
    left = result.findings_total - len(result.findings)
    if left > 0:
        level = _LEVELS.get(result.outcome, "error")
        yield _result(entry, result.code, entry.folder, f"{left} more findings", level)
    reason = result.reason or ""
    if result.outcome == "error":
        yield _result(entry, result.code, entry.folder, f"the rule ended with an error: {reason}")
    elif result.outcome == "unproven":
        yield _result(entry, result.code, entry.folder, f"unproven: {reason}", "none", "open")


def _result(  # noqa: PLR0913, PLR0917 - as many as a result of SARIF has
    entry: Judged, rule: str, path: str, message: str, level: str = "error", kind: str = "fail"
) -> dict[str, Any]:
    identity = json.dumps([entry.verdict.digest or entry.folder, rule, message])
    return {
        "ruleId": rule,
        "kind": kind,
        "level": level,
        "message": _text(message),
        "locations": [
            {
                # Whole files are meant. Code scanning shows no result without a line.
                "physicalLocation": {
                    "artifactLocation": {"uri": _uri(path)},
                    "region": {"startLine": 1},
                },
                "logicalLocations": [
                    {
                        "fullyQualifiedName": printable(entry.verdict.name, MAXIMUM_TEXT),
                        "kind": "module",
                    }
                ],
            }
        ],
        "partialFingerprints": {"finding/v1": hashlib.sha256(identity.encode()).hexdigest()},
    }


def _text(text: str) -> dict[str, str]:
    return {"text": _braced(printable(text, MAXIMUM_TEXT)).replace("](", "]\\x28")}


def _braced(text: str) -> str:
    return text.replace("{", "{{").replace("}", "}}")


def _uri(path: str) -> str:
    """A relative reference, or a file URI for an absolute path; every odd byte is escaped."""
    try:
        name = os.fsencode(path)
    except UnicodeEncodeError:  # no name of a file
        name = printable(path, MAXIMUM_TEXT).encode()
    reference = quote(name, safe="/")
    return f"file://{reference}" if path.startswith("/") else reference
