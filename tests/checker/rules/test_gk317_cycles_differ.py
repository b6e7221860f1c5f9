from dataclasses import replace

import numpy as np
import pytest

from bundles import (
    DECODE,
    GUIDELINE,
    findings,
    honest_cpu,
    honest_gpu,
    honest_on_gpus,
    outcome,
    result,
    with_column,
    with_lead,
    with_run,
    without_table,
)
from forgeries import first_second_longer, front_loaded, redistributed
from kit.timeline import profiling_interval

CODE = "GK317"


@pytest.mark.parametrize("bundle", honest_on_gpus())
def test_honest(bundle):
    assert outcome(CODE, bundle) == "pass"


def test_a_cpu_is_not_judged():
    assert outcome(CODE, honest_cpu()) == "not_applicable"


@pytest.mark.parametrize("division", ["open", "closed"])
@pytest.mark.parametrize("share", [0.9, 0.95, 1.05])
def test_time_moved_between_profiling_and_warm_up(division, share):
    bundle = with_run(honest_gpu(division), GUIDELINE, 2, lambda run: redistributed(run, share))
    assert outcome(CODE, bundle) == "fail"
    *_, finding = findings(CODE, bundle)
    assert finding.place.endswith("-02/windows.csv: mean period of the profiling rows")
    assert "cycles, as before" in finding.required


@pytest.mark.parametrize(("share", "wanted"), [(0.9896, "pass"), (0.9875, "fail")])
def test_the_limit_is_the_edge(share, wanted):
    """The decode case's clock stands still and its periods agree within 1e-4; the surplus
    lengthens the warm-up by two thirds as much."""
    bundle = with_run(honest_gpu(), DECODE, 1, lambda run: redistributed(run, share))
    assert outcome(CODE, bundle) == wanted


@pytest.mark.parametrize(("drop", "wanted"), [(45, "pass"), (0, "pass")])
def test_a_clock_that_falls_without_the_period_is_memorys(drop, wanted):
    def lower(mhz):
        mhz[len(mhz) // 2 :] -= drop
        return mhz

    bundle = with_column(honest_gpu(), DECODE, 1, "clocks.csv", "graphics_mhz", lower)
    assert outcome(CODE, bundle) == wanted


@pytest.mark.parametrize(("lower", "wanted"), [(0.98, "fail"), (0.995, "pass")])
def test_a_clock_that_was_lower_in_the_warm_up_explains_no_longer_windows(lower, wanted):
    """Time moved from profiling to the warm-up, with a clock to match: 2 % by the cycles' law."""

    def change(run):
        start_ns = int(run.document.timing.start.after_ns)
        profiling_ns, _ = profiling_interval(run.document.timing, run.tables["windows.csv"])
        run = redistributed(run, lower)
        clocks = run.tables["clocks.csv"]
        warm = (clocks["t_ns"] >= start_ns) & (clocks["t_ns"] < profiling_ns)
        mhz = np.where(warm, clocks["graphics_mhz"] * lower, clocks["graphics_mhz"])
        columns = clocks.columns | {"graphics_mhz": mhz.astype(np.int64)}
        return replace(run, tables=run.tables | {"clocks.csv": replace(clocks, columns=columns)})

    assert outcome(CODE, with_run(honest_gpu(), DECODE, 1, change)) == wanted


def test_a_device_that_waits_for_its_host_may_take_any_time():
    bundle = with_run(honest_gpu(), DECODE, 1, lambda run: redistributed(run, 0.9))
    assert outcome(CODE, bundle) == "fail"
    assert outcome(CODE, with_lead(bundle, DECODE, 1, 60_000)) == "warn"


def test_without_clocks_or_warm_up_nothing_is_proven():
    found = result(CODE, without_table(honest_gpu(), GUIDELINE, 1, "clocks.csv"))
    assert found.outcome == "unproven"

    def late(run):
        windows = run.tables["windows.csv"]
        warm = np.flatnonzero(windows["phase"] == 0)
        kept = windows.rows(~np.isin(np.arange(len(windows)), warm[3:]))
        return replace(run, tables=run.tables | {"windows.csv": kept})

    found = result(CODE, with_run(honest_gpu(), GUIDELINE, 1, late))
    assert found.outcome == "unproven"
    assert "shorter than a second" in found.reason


@pytest.mark.parametrize("division", ["open", "closed"])
@pytest.mark.parametrize("case", [GUIDELINE, DECODE])
@pytest.mark.parametrize("share", [0.9, 0.95])
def test_time_hidden_in_the_first_window(division, case, share):
    bundle = with_run(honest_gpu(division), case, 2, lambda run: front_loaded(run, share))
    assert outcome(CODE, bundle) == "fail"
    assert all("-02/windows.csv: " in finding.place for finding in findings(CODE, bundle))


@pytest.mark.parametrize(("share", "wanted"), [(1.027, "pass"), (1.029, "fail")])
def test_the_first_second_may_take_three_per_cent_longer(share, wanted):
    """The decode case's clock stands still; 100 ns of 33 µs are allowed on top."""
    bundle = with_run(honest_gpu(), DECODE, 1, lambda run: first_second_longer(run, share))
    assert outcome(CODE, bundle) == wanted


@pytest.mark.parametrize(("times", "wanted"), [(1.29, "pass"), (1.32, "fail")])
def test_no_early_window_takes_much_longer(times, wanted):
    """One window of the first second, whatever the clock is said to have been in it."""

    def slower(run):
        windows = run.tables["windows.csv"]
        profiling = windows["phase"] == 1
        mean_ns = windows["duration_ns"][profiling].sum() / windows["launches"][profiling].sum()
        lasted = windows["duration_ns"].copy()
        lasted[0] = int(times * mean_ns * windows["launches"][0])
        table = replace(windows, columns=windows.columns | {"duration_ns": lasted})
        return replace(run, tables=run.tables | {"windows.csv": table})

    bundle = with_run(honest_gpu(), DECODE, 1, slower)
    rows = [found for found in findings(CODE, bundle) if found.place.endswith(": row 1")]
    assert bool(rows) == (wanted == "fail")
