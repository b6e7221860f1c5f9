from dataclasses import replace

import pytest

from bundles import (
    GUIDELINE,
    changed,
    findings,
    honest_cpu,
    honest_gpu,
    outcome,
    with_field,
)

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
