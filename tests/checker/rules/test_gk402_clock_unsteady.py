import numpy as np
import pytest

from bundles import (
    DECODE,
    GUIDELINE,
    changed,
    findings,
    honest_cpu,
    honest_gpu,
    outcome,
    result,
    with_column,
    with_table,
    without_column,
    without_table,
)
from kit.timeline import profiling_interval
from kit.trace import Table

CODE = "GK402"


def scaled_from(bundle, case, file, column, start, factor, end=1.0):
    """A column scaled by `factor` over the part [start, end) of the profiling interval."""
    run = bundle.cases[case].runs[0]
    first, last = profiling_interval(run.document.timing, run.tables["windows.csv"])
    low, high = first + start * (last - first), first + end * (last - first)

    def change(table):
        inside = (table["t_ns"] >= low) & (table["t_ns"] < high)
        values = np.where(inside, table[column] * factor, table[column]).astype(np.int64)
        return Table(table.columns | {column: values})

    return with_table(bundle, case, 1, file, change)


def to_steps(mhz):
    """Whole steps of 15 MHz, as the device's clocks are."""
    return mhz // 15 * 15


def graphics(bundle):
    return bundle.cases[GUIDELINE].runs[0].tables["clocks.csv"]["graphics_mhz"]


@pytest.mark.parametrize(("division", "severity"), [("open", "warn"), ("closed", "fail")])
def test_a_clock_that_drops_by_six_percent_departs_from_the_methodology(division, severity):
    bundle = scaled_from(honest_gpu(division), GUIDELINE, "clocks.csv", "graphics_mhz", 0.5, 0.94)
    bundle = with_column(bundle, GUIDELINE, 1, "clocks.csv", "graphics_mhz", to_steps)
    bundle = with_column(bundle, GUIDELINE, 1, "clocks.csv", "sm_mhz", lambda _: graphics(bundle))
    assert changed(bundle) == {CODE: severity}
    (finding,) = findings(CODE, bundle)
    assert finding.place.endswith("-01/clocks.csv: column graphics_mhz in profiling")
    assert finding.found.startswith("halves 6.")


def test_power_that_drops_by_four_percent_is_named_too():
    bundle = scaled_from(honest_gpu(), GUIDELINE, "power.csv", "power_average_mw", 0.5, 0.96)
    (finding,) = findings(CODE, bundle)
    assert finding.place.endswith("-01/power.csv: column power_average_mw in profiling")


@pytest.mark.parametrize(("drop", "wanted"), [(0.0183, "pass"), (0.0196, "warn")])
def test_the_halves_limit_is_the_edge(drop, wanted):
    """The decode case's clock stands still for 2.7 s, where 1 % over 10 s is 1.923 %."""
    bundle = scaled_from(honest_gpu(), DECODE, "clocks.csv", "graphics_mhz", 0.5, 1 - drop)
    assert outcome(CODE, bundle) == wanted


def test_a_dip_of_half_a_second_is_seen_though_the_halves_agree():
    for factor, wanted in ((0.98, "pass"), (0.94, "warn")):
        bundle = scaled_from(
            honest_gpu(), GUIDELINE, "clocks.csv", "graphics_mhz", 0.5, factor, 0.5 + 0.5 / 12.76
        )
        assert outcome(CODE, bundle) == wanted


@pytest.mark.parametrize(
    ("file", "column"), [("clocks.csv", "graphics_mhz"), ("power.csv", "power_average_mw")]
)
def test_a_missing_series_proves_nothing(file, column):
    for bundle in (
        without_column(honest_gpu(), GUIDELINE, 1, file, column),
        without_table(honest_gpu(), GUIDELINE, 1, file),
    ):
        assert "too few samples" in result(CODE, bundle).reason


def test_a_fault_is_not_hidden_by_what_is_missing():
    bundle = without_column(honest_gpu("closed"), GUIDELINE, 2, "power.csv", "power_average_mw")
    bundle = scaled_from(bundle, GUIDELINE, "clocks.csv", "graphics_mhz", 0.5, 0.9)
    assert outcome(CODE, bundle) == "fail"


def test_a_cpu_is_not_judged():
    assert outcome(CODE, honest_cpu()) == "not_applicable"
