from dataclasses import replace

import numpy as np
import pytest

from bundles import (
    DECODE,
    GUIDELINE,
    changed,
    findings,
    honest_gpu,
    honest_on_gpus,
    outcome,
    result,
    with_column,
    with_kernels,
)
from kit.trace import Table

CODE = "GK315"


def scaled(bundle, case, number, factor, *, clock=1.0):
    """All kernel times multiplied, and the clock while tracing."""

    def edit(held):
        trace, table = held
        times = {
            name: np.maximum(1, np.rint(table[name] * factor)).astype(np.int64)
            for name in ("start_ns", "duration_ns")
        }
        times["start_ns"][0] = 0
        return replace(trace, graphics_mhz=trace.graphics_mhz * clock), Table(table.columns | times)

    return with_kernels(bundle, case, number, edit)


@pytest.mark.parametrize("bundle", honest_on_gpus())
def test_honest(bundle):
    assert outcome(CODE, bundle) == "pass"


@pytest.mark.parametrize("division", ["open", "closed"])
def test_kernels_of_another_program_cannot_outlast_the_period(division):
    bundle = scaled(honest_gpu(division), DECODE, 2, 1.07)
    assert changed(bundle) == {CODE: "fail"}
    (finding,) = findings(CODE, bundle)
    assert finding.place.endswith("-02/windows.csv: mean period of the profiling rows")
    assert finding.required.startswith("at least 33")
    assert finding.required.endswith("and 1.000 times the clock")


@pytest.mark.parametrize(("division", "severity"), [("open", "warn"), ("closed", "fail")])
def test_a_period_beyond_the_kernels_is_the_hosts(division, severity):
    bundle = scaled(honest_gpu(division), GUIDELINE, 1, 0.94)
    assert changed(bundle) == {CODE: severity}
    (finding,) = findings(CODE, bundle)
    assert finding.required.startswith("at most 3.1")


@pytest.mark.parametrize("factor", [0.96, 1.04])
def test_a_few_per_cent_are_the_clocks(factor):
    assert outcome(CODE, scaled(honest_gpu(), GUIDELINE, 1, factor)) == "pass"


def test_another_clock_explains_its_own_ratio_and_no_more():
    """A rested H200 ran 4096 cubed in 176 µs at 1755 MHz, a settled one in 203 at 1500."""
    fast = {"factor": 0.86, "clock": 1 / 0.86}
    assert outcome(CODE, scaled(honest_gpu(), GUIDELINE, 1, **fast)) == "pass"
    assert outcome(CODE, scaled(honest_gpu(), GUIDELINE, 1, 0.80, clock=1 / 0.86)) == "warn"
    # A clock that was faster cannot explain kernels that took longer, nor the other way round.
    assert outcome(CODE, scaled(honest_gpu(), GUIDELINE, 1, 1.10, clock=1.16)) == "fail"
    assert outcome(CODE, scaled(honest_gpu(), GUIDELINE, 1, 0.90, clock=0.86)) == "warn"


def test_a_kernel_bound_by_memory_takes_as_long_at_any_clock():
    assert outcome(CODE, scaled(honest_gpu(), DECODE, 1, 1.0, clock=0.8)) == "pass"


def test_a_trace_at_an_unheard_of_clock_explains_no_more_than_a_quarter():
    """No series stands behind it: an H200 showed 0.995 to 1.14 times the windows' clock."""
    for factor, wanted in ((1 / 1.31, "pass"), (1 / 1.33, "warn")):
        assert outcome(CODE, scaled(honest_gpu(), GUIDELINE, 1, factor, clock=1.34)) == wanted
    # Windows cut to nine tenths, and a trace that calls itself slow.
    for factor, wanted in ((1.08, "pass"), (1.10, "fail")):
        assert outcome(CODE, scaled(honest_gpu(), GUIDELINE, 1, factor, clock=0.8)) == wanted


def test_no_trace_runs_faster_than_its_device():
    assert outcome(CODE, scaled(honest_gpu(), DECODE, 1, 1.0, clock=1995.5 / 1980)) == "fail"
    assert outcome(CODE, scaled(honest_gpu(), DECODE, 1, 1.0, clock=1995 / 1980)) == "pass"


def test_without_a_clock_the_times_themselves_are_compared():
    def unread(held):
        trace, table = held
        return replace(trace, graphics_mhz=None), table

    assert outcome(CODE, with_kernels(honest_gpu(), GUIDELINE, 1, unread)) == "pass"


def test_windows_without_profiling_prove_nothing():
    bundle = with_column(honest_gpu(), DECODE, 1, "windows.csv", "phase", lambda held: held * 0)
    found = result(CODE, bundle)
    assert found.outcome == "unproven"
    assert "no profiling window" in found.reason
