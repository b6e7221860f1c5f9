import numpy as np
import pytest

from bundles import (
    DECODE,
    GUIDELINE,
    changed,
    findings,
    fixed_frequency,
    honest_cpu,
    honest_gpu,
    outcome,
    result,
    with_column,
    with_field,
    with_table,
    without_column,
)
from kit.timeline import profiling_interval
from kit.trace import Table

CODE = "GK403"


@pytest.mark.parametrize("stop", ["cap", "seconds"])
@pytest.mark.parametrize(("division", "severity"), [("open", "warn"), ("closed", "fail")])
def test_a_warm_up_that_did_not_end_by_settling(stop, division, severity):
    bundle = with_field(honest_gpu(division), GUIDELINE, 2, "phases.warm_up_stop", stop)
    assert changed(bundle) == {CODE: severity}
    (finding,) = findings(CODE, bundle)
    assert (finding.found, finding.required) == (stop, "settled")


@pytest.mark.parametrize(("seconds", "wanted"), [(3.01, None), (2.99, "at least 3 s")])
def test_three_seconds_are_the_edge(seconds, wanted):
    table = honest_gpu().cases[DECODE].runs[0].tables["windows.csv"]
    total = table["duration_ns"][table["phase"] == 0].sum()

    def change(durations):
        warm_up = table["phase"] == 0
        return np.where(warm_up, durations * (seconds * 1e9 / total), durations).astype(np.int64)

    bundle = with_column(honest_gpu(), DECODE, 1, "windows.csv", "duration_ns", change)
    found = [finding.required for finding in findings(CODE, bundle)]
    assert (wanted in found) == (wanted is not None)


@pytest.mark.parametrize(
    ("file", "column", "factor"),
    [("clocks.csv", "graphics_mhz", 1.07), ("power.csv", "power_average_mw", 1.03)],
)
def test_what_still_moves_before_profiling_has_not_settled(file, column, factor):
    run = honest_gpu().cases[GUIDELINE].runs[2]
    start, _ = profiling_interval(run.document.timing, run.tables["windows.csv"])

    def ramp(table):
        """Higher until a second before profiling, as a card that still warms up."""
        early = (table["t_ns"] >= start - 2 * 10**9) & (table["t_ns"] < start - 10**9)
        values = np.where(early, table[column] * factor, table[column]).astype(np.int64)
        if file == "clocks.csv":  # both names of one domain, in its steps
            values = values // 15 * 15
            return Table(table.columns | {column: values, "sm_mhz": values})
        return Table(table.columns | {column: values})

    bundle = with_table(honest_gpu(), GUIDELINE, 3, file, ramp)
    assert changed(bundle) == {CODE: "warn"}
    (finding,) = findings(CODE, bundle)
    assert finding.required == "steady for two seconds before profiling"


def test_a_warm_up_cut_to_its_first_two_seconds_fails():
    """The recorded H200's first seconds: windows moved so that profiling begins after two."""

    def early(table):
        durations = table["duration_ns"].copy()
        warm_up = np.flatnonzero(table["phase"] == 0)
        durations[warm_up] = 2 * 10**9 // len(warm_up)
        return Table(table.columns | {"duration_ns": durations})

    bundle = with_table(honest_gpu("closed"), GUIDELINE, 1, "windows.csv", early)
    required = {finding.required for finding in findings(CODE, bundle)}
    assert required == {"at least 3 s", "steady for two seconds before profiling"}


def test_without_the_series_nothing_is_proven():
    bundle = without_column(honest_gpu(), GUIDELINE, 1, "power.csv", "power_average_mw")
    assert "before profiling" in result(CODE, bundle).reason


@pytest.mark.parametrize(
    ("mhz", "before_ns", "wanted"),
    [(1965, 10**9, "pass"), (1950, 10**9, "fail"), (1950, 21 * 10**8, "pass")],
)
def test_at_a_fixed_frequency_every_sample_before_profiling_shows_the_clock(mhz, before_ns, wanted):
    bundle = fixed_frequency("closed")
    run = bundle.cases[DECODE].runs[1]
    start, _ = profiling_interval(run.document.timing, run.tables["windows.csv"])

    def dip(values):
        values[np.searchsorted(run.tables["clocks.csv"]["t_ns"], start - before_ns)] = mhz
        return values

    bundle = with_column(bundle, DECODE, 2, "clocks.csv", "graphics_mhz", dip)
    assert outcome(CODE, bundle) == wanted
    if wanted == "fail":
        assert findings(CODE, bundle)[0].found.endswith("; 1950 to 1980 MHz")


def test_at_a_fixed_frequency_counts_and_seconds_alone_end_no_warm_up():
    bundle = with_field(fixed_frequency("closed"), DECODE, 1, "phases.warm_up_stop", "seconds")
    assert changed(bundle) == {CODE: "fail"}


def test_a_cpu_is_not_judged():
    assert outcome(CODE, honest_cpu()) == "not_applicable"
