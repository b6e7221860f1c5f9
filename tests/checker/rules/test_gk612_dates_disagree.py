from dataclasses import replace
from datetime import datetime, timedelta

import pytest

from bundles import (
    GUIDELINE,
    changed,
    findings,
    honest_cpu,
    honest_gpu,
    outcome,
    with_field,
    write,
)
from kit.bundle.reader import parse, read_container

CODE = "GK612"


@pytest.mark.parametrize("bundle", [honest_gpu(), honest_gpu("closed"), honest_cpu()])
def test_honest(bundle):
    assert outcome(CODE, bundle) == "pass"


@pytest.mark.parametrize(("division", "severity"), [("open", "warn"), ("closed", "fail")])
@pytest.mark.parametrize("date", ["1985-10-26T01:21:00Z", "2026-11-30T09:00:01Z"])
def test_a_run_of_another_day(division, severity, date):
    broken = with_field(honest_gpu(division), GUIDELINE, 1, "started_utc", date)
    assert changed(broken) == {CODE: severity}
    (finding,) = findings(CODE, broken)
    assert finding.place.endswith("-01/run.json: started_utc")
    assert finding.required == "1.0 s within 3 s, by started_ns"


@pytest.mark.parametrize(("second", "wanted"), [(4, "pass"), (5, "warn")])
def test_three_seconds_are_the_edge(second, wanted):
    broken = with_field(honest_gpu(), GUIDELINE, 1, "started_utc", f"2026-11-29T09:00:0{second}Z")
    assert outcome(CODE, broken) == wanted


def test_a_journal_of_another_year_concerns_every_run():
    journal = replace(honest_gpu().journal, started_utc="1999-01-01T00:00:00Z")
    assert len(findings(CODE, replace(honest_gpu(), journal=journal))) == 6


@pytest.mark.parametrize("date", ["", "yesterday", "2026-02-30T00:00:00Z"])
def test_what_is_no_date_fails(date):
    assert outcome(CODE, with_field(honest_gpu(), GUIDELINE, 1, "started_utc", date)) == "fail"


def moved(bundle, days):
    """All dates of a bundle as many days later, but for the seal's."""

    def later(text):
        date = datetime.fromisoformat(text) + timedelta(days=days)
        return date.strftime("%Y-%m-%dT%H:%M:%SZ")

    journal = replace(bundle.journal, started_utc=later(bundle.journal.started_utc))
    bundle = replace(bundle, journal=journal)
    for case, found in bundle.cases.items():
        for run in found.runs:
            number = run.document.number
            bundle = with_field(bundle, case, number, "started_utc", later)
    return bundle


@pytest.mark.parametrize(("division", "severity"), [("open", "warn"), ("closed", "fail")])
@pytest.mark.parametrize(
    ("days", "is_found"),
    [(-365, True), (-2, True), (-1, False), (0, False), (1, False), (2, True), (3650, True)],
)
def test_dates_that_were_moved_leave_the_seals_behind(tmp_path, division, severity, days, is_found):
    honest = parse(read_container(write(honest_gpu(division), tmp_path / "sealed")))
    broken = moved(honest, days)
    assert outcome(CODE, broken) == (severity if is_found else "pass")
    if is_found:
        (finding,) = findings(CODE, broken)
        assert finding.place == "bag-info.txt: Bagging-Date"
        assert finding.found == f"2026-11-29, {-days} days after data/journal.json ends"


def test_a_year_out_of_range_is_no_error(tmp_path):
    honest = parse(read_container(write(honest_gpu(), tmp_path / "sealed")))
    for year in ("0001", "9999"):
        journal = replace(honest.journal, started_utc=f"{year}-12-31T23:59:59Z")
        assert outcome(CODE, replace(honest, journal=journal)) == "warn"


def test_a_seal_that_cannot_be_read_is_no_date_to_judge(tmp_path):
    """A byte of bag-info.txt changed afterwards: GK001 names it."""
    honest = parse(read_container(write(honest_cpu(), tmp_path / "sealed")))
    files = {**honest.container.files, "bag-info.txt": b"Bagging-Date: 2026-11-3\x00\n"}
    broken = replace(honest, container=replace(honest.container, files=files))
    assert outcome(CODE, broken) == "pass"
