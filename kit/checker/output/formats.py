"""All verdicts of a check in the format that was asked for; `text` is for people, the default."""

from collections.abc import Callable, Iterator, Sequence

from kit.checker.output.judged import Judged
from kit.checker.output.report import json_report, text_report, text_summary

Lines = Iterator[str]


def text(entries: Sequence[Judged], *, verbose: bool) -> Lines:
    """Each bundle in full, then the summary."""
    for entry in entries:
        yield from text_report(entry.verdict, verbose=verbose)
        yield ""
    yield from text_summary([entry.verdict for entry in entries])


def json(entries: Sequence[Judged], *, verbose: bool) -> Lines:  # noqa: ARG001 - always in full
    """The document of `schemas/verdict.schema.json`."""
    yield json_report([entry.verdict for entry in entries])


def sarif(entries: Sequence[Judged], *, verbose: bool) -> Lines:  # noqa: ARG001
    """A SARIF 2.1.0 log."""
    from kit.checker.output.sarif import sarif_report  # noqa: PLC0415 - loads every rule's text

    yield sarif_report(entries)


def junit(entries: Sequence[Judged], *, verbose: bool) -> Lines:  # noqa: ARG001
    """A JUnit XML report."""
    from kit.checker.output.junit import junit_report  # noqa: PLC0415 - loads an XML library

    yield junit_report(entries)


def github(entries: Sequence[Judged], *, verbose: bool) -> Lines:  # noqa: ARG001
    """Annotations of GitHub Actions, then the summary."""
    from kit.checker.output.annotations import github_report  # noqa: PLC0415 - asked for by CI alone

    yield from github_report(entries)
    yield from text_summary([entry.verdict for entry in entries])


FORMATS: dict[str, Callable[..., Lines]] = {
    "text": text, "json": json, "sarif": sarif, "junit": junit, "github": github,
}  # fmt: skip
