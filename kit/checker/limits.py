"""How much of a finding is kept, so that a hostile bundle cannot make a verdict grow."""

from kit.checker.rule import Finding

MAXIMUM_FINDINGS = 200
MAXIMUM_TEXT = 2000
"""Limits of `schemas/verdict.schema.json`: findings kept of one rule, characters of one text.

No format shows more of one text than that document holds.
"""


def cut(text: str) -> str:
    """Return `text`, or its beginning and three dots."""
    return text if len(text) <= MAXIMUM_TEXT else f"{text[: MAXIMUM_TEXT - 3]}..."


def bounded(finding: Finding) -> Finding:
    """Return the finding with each of its texts cut."""
    return Finding(cut(finding.place), cut(finding.found), cut(finding.required), finding.severity)
