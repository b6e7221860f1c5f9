"""Verdicts as GitHub Actions annotations: workflow commands, one a rule that has something to say.

`::error file={name},title={title}::{message}`, as the runner's `ActionCommand` parses it; it keeps
the first ten of a kind a step, so the gravest come first and each stands for all of its rule's
findings. Foreign text is made printable, then escaped as the runner unescapes it, and begins no
line.
"""

from collections.abc import Iterator, Sequence

from kit.checker.limits import MAXIMUM_TEXT
from kit.checker.output.judged import Judged, file_of
from kit.checker.printable import printable
from kit.checker.verdict import RuleResult

_COMMANDS = {"error": "error", "fail": "error", "warn": "warning", "unproven": "notice"}
_ORDER = ("error", "warning", "notice")


def github_report(entries: Sequence[Judged]) -> Iterator[str]:
    """Yield one line an annotation, errors of all bundles first, then one line a bundle."""
    found = [annotation for entry in entries for annotation in _annotations(entry)]
    for command in _ORDER:
        yield from (line for kind, line in found if kind == command)
    for entry in entries:
        verdict = entry.verdict
        judgement = verdict.judgement.replace("_", " ")
        yield f"bundle {printable(verdict.name, MAXIMUM_TEXT)}: {judgement}"


def _annotations(entry: Judged) -> Iterator[tuple[str, str]]:
    verdict = entry.verdict
    waived = {waiver.code for waiver in verdict.waivers}
    if verdict.judgement not in ("compliant", "not_compliant"):
        message = verdict.problem or verdict.judgement.replace("_", " ")
        yield _annotation("error", entry.folder, verdict.judgement.replace("_", " "), message)
    for result in verdict.rules:
        command = _COMMANDS.get(result.outcome)
        if command is None:
            continue
        title = f"{result.code} {result.name}"
        if result.code in waived:
            command, title = "notice", f"{title}, waived"
        file = file_of(entry, result.findings[0]) if result.findings else entry.folder
        yield _annotation(command, file, title, _message(result))


def _message(result: RuleResult) -> str:
    if not result.findings:
        return f"{result.outcome}: {result.reason or ''}"
    first = result.findings[0]
    more = result.findings_total - 1
    rest = f" (and {more} more)" if more > 0 else ""
    return f"{first.place}: found {first.found}; required {first.required}{rest}"


def _annotation(command: str, file: str, title: str, message: str) -> tuple[str, str]:
    place = f"file={_property(file)},title={_property(title)}"
    return command, f"::{command} {place}::{_data(message)}"


def _data(text: str) -> str:
    shown = printable(text, MAXIMUM_TEXT)
    return shown.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
