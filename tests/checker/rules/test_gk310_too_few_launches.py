import pytest

from bundles import (
    DECODE,
    GUIDELINE,
    PLAIN,
    findings,
    fixed_frequency,
    honest_cpu,
    honest_gpu,
    outcome,
    with_column,
    with_rows,
    without_table,
)

CODE = "GK310"
FILE = "windows.csv"


@pytest.mark.parametrize(("launches", "wanted"), [(25, "pass"), (24, "fail")])
def test_a_thousand_launches_are_the_edge(launches, wanted):
    bundle = with_column(
        honest_gpu("closed"), GUIDELINE, 1, FILE, "launches", lambda v: v * 0 + launches
    )
    assert outcome(CODE, bundle) == wanted
    if wanted == "fail":
        (finding,) = findings(CODE, bundle)
        assert (finding.found, finding.required) == ("960 launches", "at least 1000")


@pytest.mark.parametrize(("windows", "wanted"), [(10, "pass"), (9, "warn")])
def test_ten_windows_are_the_edge(windows, wanted):
    def keep(table):
        first = table["phase"].argmax()
        rows = table["phase"] == 0
        rows[first : first + windows] = True
        return rows

    bundle = with_rows(honest_gpu(), DECODE, 1, FILE, keep)
    found = [f for f in findings(CODE, bundle) if f.found.endswith("windows")]
    assert len(found) == (wanted == "warn")
    assert all(finding.severity == "warn" for finding in found)


def lasting(bundle, case, seconds):
    table = bundle.cases[case].runs[0].tables[FILE]
    total = table["duration_ns"][table["phase"] == 1].sum()

    def change(durations):
        return (durations * (seconds * 1e9 / total)).astype("int64")

    return with_column(bundle, case, 1, FILE, "duration_ns", change)


@pytest.mark.parametrize(("seconds", "wanted"), [(2.01, "pass"), (1.99, "fail")])
def test_two_seconds_are_the_edge_at_a_fixed_power(seconds, wanted):
    assert outcome(CODE, lasting(honest_gpu("closed"), GUIDELINE, seconds)) == wanted


def test_seconds_do_not_count_at_a_fixed_frequency_or_on_a_cpu():
    assert outcome(CODE, lasting(fixed_frequency("closed"), DECODE, 0.5)) == "pass"
    assert outcome(CODE, lasting(honest_cpu(), PLAIN, 0.1)) == "pass"


def test_without_windows_nothing_is_proven():
    assert outcome(CODE, without_table(honest_cpu(), PLAIN, 1, FILE)) == "unproven"
