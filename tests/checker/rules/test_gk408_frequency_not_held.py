import numpy as np
import pytest

from bundles import (
    DECODE,
    changed,
    findings,
    fixed_frequency,
    honest_cpu,
    honest_gpu,
    outcome,
    with_plan,
    with_table,
    without_column,
    without_table,
)
from kit.timeline import profiling_interval
from kit.trace import Table

CODE = "GK408"


def with_sample(mhz, *, after_ns=10**9):
    """One sample of run 2, a second into profiling, shows another clock."""
    run = fixed_frequency().cases[DECODE].runs[1]
    start, _ = profiling_interval(run.document.timing, run.tables["windows.csv"])

    def change(table):
        values = table["graphics_mhz"].copy()
        values[np.searchsorted(table["t_ns"], start + after_ns)] = mhz
        return Table(table.columns | {"graphics_mhz": values})

    return with_table(fixed_frequency(), DECODE, 2, "clocks.csv", change)


@pytest.mark.parametrize(("mhz", "wanted"), [(1965, "pass"), (1964, "fail"), (1950, "fail")])
def test_one_step_is_the_edge_for_every_sample(mhz, wanted):
    bundle = with_sample(mhz)
    assert outcome(CODE, bundle) == wanted
    if wanted == "fail":
        assert changed(bundle) == {CODE: "fail"}
        (finding,) = findings(CODE, bundle)
        assert finding.place.endswith("-02/clocks.csv: column graphics_mhz in profiling")
        assert finding.found.startswith(f"{mhz} to {mhz} MHz in 1 of ")


def test_samples_of_the_warm_up_do_not_count():
    assert outcome(CODE, with_sample(1200, after_ns=-(10**9))) == "pass"


def test_another_requested_clock_fails_every_run():
    bundle = with_plan(fixed_frequency(), test_type__clock_mhz=1500)
    assert changed(bundle) == {CODE: "fail"}
    assert len(findings(CODE, bundle)) == 3


def test_without_samples_the_label_is_refused():
    for bundle in (
        without_table(fixed_frequency(), DECODE, 1, "clocks.csv"),
        without_column(fixed_frequency(), DECODE, 1, "clocks.csv", "graphics_mhz"),
    ):
        assert outcome(CODE, bundle) == "fail"
        assert findings(CODE, bundle)[0].found == "0 samples"


def test_a_missing_request_fails():
    assert outcome(CODE, with_plan(fixed_frequency(), test_type__clock_mhz=None)) == "fail"


def test_a_cpu_that_claims_a_fixed_frequency_is_refused():
    bundle = with_plan(
        honest_cpu(), test_type__name="fixed_frequency", test_type__clock_mhz=2400,
        test_type__fill="zero",
    )  # fmt: skip
    assert outcome(CODE, bundle) == "fail"


def test_a_fixed_power_test_is_not_concerned():
    assert outcome(CODE, honest_gpu()) == "not_applicable"
    assert outcome(CODE, honest_cpu()) == "not_applicable"
