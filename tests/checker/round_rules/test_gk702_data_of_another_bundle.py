import numpy as np

from bundles import (
    DECODE,
    GUIDELINE,
    honest_cpu,
    honest_gpu,
    with_column,
    with_plan,
    with_rows,
)
from kit.checker.extract import traits
from kit.checker.round_rule import Member
from kit.trace import Table
from rounds import found, member

POWER = f"data/cases/{GUIDELINE}/runs/x/power.csv: power_average_mw"


def of(bundle, name):
    return Member(name, f"{abs(hash(name)):064x}", traits(bundle))


def test_series_of_their_own():
    assert found("GK702", of(honest_gpu(), "gpu"), of(honest_cpu(), "cpu")) == []


def test_the_same_data_under_another_name():
    copied = with_plan(honest_gpu(), submission__submitter="apex")
    findings = found("GK702", of(honest_gpu(), "original"), of(copied, "copy"))
    assert {number for number, _ in findings} == {0, 1}
    assert {finding.severity for _, finding in findings} == {"fail"}
    first = findings[0][1]
    assert first.found.startswith("all of it as in copy: data/cases/")
    files = {finding.place.partition(": ")[0].rpartition("/")[2] for _, finding in findings}
    assert files == {"windows.csv", "power.csv", "clocks.csv", "kernels.csv"}


def test_one_series_is_enough():
    """Power of another bundle beside windows of one's own, its times moved and its start cut."""
    theirs = honest_gpu().cases[GUIDELINE].runs[0].tables["power.csv"]

    def spliced(table):
        cut = theirs.rows(theirs["t_ns"] > theirs["t_ns"][40])
        count = min(len(cut), len(table))
        columns = {name: values[:count].copy() for name, values in cut.columns.items()}
        columns["t_ns"] = table["t_ns"][:count]
        return Table(columns)

    own = honest_cpu()
    forged = member("forged", series=_series(spliced(theirs), "power_average_mw"))
    findings = found("GK702", of(honest_gpu(), "original"), of(own, "own"), forged)
    assert {number for number, _ in findings} == {0, 2}
    assert all("16 values in a row and more" in finding.found for _, finding in findings)


def _series(table, column):
    from kit.checker.stretches import digests

    return {POWER: " ".join(digests(table[column]))}


def test_the_same_bundle_twice_is_another_fault():
    twice = [member(name, digest="ab" * 32, series={POWER: "aa bb"}) for name in "ab"]
    assert found("GK702", *twice) == []


def test_one_changed_reading_hides_nothing():
    def nudge(values):
        values[len(values) // 2] += 1
        return values

    nudged = with_column(honest_gpu(), GUIDELINE, 1, "power.csv", "power_average_mw", nudge)
    findings = found("GK702", of(honest_gpu(), "original"), of(nudged, "copy"))
    places = {finding.place for _, finding in findings if "16 values" in finding.found}
    assert any(place.endswith("power.csv: power_average_mw") for place in places)


def test_a_thousand_readings_from_one_distribution_do_not_meet():
    """Honest bundles of one part: 200 series of 400 readings, 5 W about 691 W, in mW."""
    random = np.random.default_rng(1)
    series = (random.normal(691_000, 5_000, 400).astype(np.int64) for _ in range(200))
    from kit.checker.stretches import digests

    members = [
        member(str(number), series={POWER: " ".join(digests(values))})
        for number, values in enumerate(series)
    ]
    assert found("GK702", *members) == []


def test_rows_cut_off_hide_nothing():
    late = with_rows(
        honest_gpu(), DECODE, 1, "power.csv", lambda table: table["t_ns"] > table["t_ns"][20]
    )
    findings = found("GK702", of(honest_gpu(), "original"), of(late, "copy"))
    assert any(
        finding.place.startswith(f"data/cases/{DECODE}/") and "power.csv" in finding.place
        for number, finding in findings
        if number == 1
    )
