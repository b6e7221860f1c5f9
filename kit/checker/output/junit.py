"""Verdicts as JUnit XML: a suite a bundle, a test case a rule, for every CI system's test report.

There is no official schema; this is the form that Jenkins' xUnit plugin validates (`junit-10.xsd`).
The last case of a suite is the verdict itself, so that a report is red exactly where the command's
exit code is not 0: what stays unproven is skipped as a rule, and in the closed division an error.
"""

from collections.abc import Sequence
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from kit.checker.limits import MAXIMUM_TEXT
from kit.checker.output.judged import Judged
from kit.checker.printable import printable
from kit.checker.verdict import RuleResult, Verdict

_SKIPPED = ("not_applicable", "unproven")


def junit_report(entries: Sequence[Judged]) -> str:
    """Return the document, without times: the same verdicts give the same text."""
    root = Element("testsuites", name="gemm-kit check")
    for entry in entries:
        _suite(root, entry.verdict)
    _count(root)
    indent(root, " ")
    document: bytes = tostring(root, encoding="us-ascii")
    return document.decode("ascii")


def _suite(root: Element, verdict: Verdict) -> None:
    suite = SubElement(root, "testsuite", name=printable(verdict.name, MAXIMUM_TEXT))
    properties = SubElement(suite, "properties")
    facts = {"digest": verdict.digest, "edition": verdict.edition, "verdict": verdict.judgement}
    for name, value in facts.items():
        if value is not None:
            SubElement(properties, "property", name=name, value=printable(value))
    waived = {waiver.code: waiver.reason for waiver in verdict.waivers}
    for result in verdict.rules:
        case = _case(suite, verdict, f"{result.code} {result.name}")
        if result.code in waived:
            reason = f"waived by the auditor: {printable(waived[result.code], MAXIMUM_TEXT)}"
            SubElement(case, "skipped", message=reason)
        else:
            _outcome(case, result)
    case = _case(suite, verdict, "verdict")
    if verdict.judgement != "compliant":
        kind = "failure" if verdict.judgement == "not_compliant" else "error"
        shown = verdict.judgement.replace("_", " ")
        problem = "" if verdict.problem is None else f": {printable(verdict.problem, MAXIMUM_TEXT)}"
        SubElement(case, kind, type=verdict.judgement, message=f"{shown}{problem}")
    _count(suite)


def _case(suite: Element, verdict: Verdict, name: str) -> Element:
    return SubElement(suite, "testcase", classname=printable(verdict.name, MAXIMUM_TEXT), name=name)


def _outcome(case: Element, result: RuleResult) -> None:
    reason = "" if result.reason is None else printable(result.reason, MAXIMUM_TEXT)
    if result.outcome == "error":
        SubElement(case, "error", type="error", message=reason)
    elif result.outcome == "fail":
        message = f"{result.findings_total} findings"
        failure = SubElement(case, "failure", type=result.name, message=message)
        failure.text = _findings(result)
    elif result.outcome == "warn":
        SubElement(case, "system-out").text = f"warning\n{_findings(result)}"
    elif result.outcome in _SKIPPED:
        message = f"{result.outcome.replace('_', ' ')}: {reason}"
        SubElement(case, "skipped", message=message)


def _findings(result: RuleResult) -> str:
    lines = []
    for finding in result.findings:
        texts = (finding.place, finding.found, finding.required)
        place, found, required = (printable(text, MAXIMUM_TEXT) for text in texts)
        lines.append(f"in {place}: found {found}; required {required}")
    return "\n".join(lines)


def _count(element: Element) -> None:
    """Counts of the cases below; the root has no attribute for those that were skipped."""
    element.set("tests", str(len(element.findall(".//testcase"))))
    element.set("failures", str(len(element.findall(".//failure"))))
    element.set("errors", str(len(element.findall(".//error"))))
    if element.tag == "testsuite":
        element.set("skipped", str(len(element.findall(".//skipped"))))
