from dataclasses import replace

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
from kit.evidence import ClockLock
from kit.gpu_table import row_for
from kit.number_format import number_format
from kit.sol import speed_of_light
from kit.timeline import profiling_interval
from kit.trace import Table
from machines import H200

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
        assert finding.found.startswith(f"{mhz} to 1980 MHz, 1 of ")
        assert f"test_type.clock_mhz={mhz // 15 * 15} would have held" in finding.required


def test_samples_of_the_warm_up_do_not_count():
    assert outcome(CODE, with_sample(1200, after_ns=-(10**9))) == "pass"


def test_another_requested_clock_fails_every_run():
    bundle = with_plan(fixed_frequency(), test_type__clock_mhz=1500)
    assert changed(bundle) == {"GK403": "warn", CODE: "fail"}
    assert len(findings(CODE, bundle)) == 3
    for finding in findings(CODE, bundle):
        assert "lock it at 1500 MHz before the run" in finding.required


def test_without_samples_the_label_is_refused():
    for bundle in (
        without_table(fixed_frequency(), DECODE, 1, "clocks.csv"),
        without_column(fixed_frequency(), DECODE, 1, "clocks.csv", "graphics_mhz"),
    ):
        assert outcome(CODE, bundle) == "fail"
        assert findings(CODE, bundle)[0].found == "0 samples"


@pytest.mark.parametrize(("rows", "wanted"), [(50, "pass"), (49, "fail")])
def test_too_few_samples_prove_no_held_clock(rows, wanted):
    run = fixed_frequency().cases[DECODE].runs[0]
    start, end = profiling_interval(run.document.timing, run.tables["windows.csv"])

    def thin(table):
        inside = np.flatnonzero((table["t_ns"] >= start) & (table["t_ns"] < end))
        keep = np.ones(len(table), bool)
        keep[inside[rows:]] = False
        return table.rows(keep)

    bundle = with_table(fixed_frequency(), DECODE, 1, "clocks.csv", thin)
    assert outcome(CODE, bundle) == wanted


RUN_SPAN = (1, 10**13)
LOCK = ClockLock("gpu-3f0a51c2d9e8", 1980, RUN_SPAN[0], "ok", "", RUN_SPAN[1], "ok", "", "guard")


def locked(*locks, lock=True):
    bundle = with_plan(fixed_frequency("closed"), test_type__lock=lock)
    return replace(bundle, journal=replace(bundle.journal, clock_locks=locks))


def test_a_lock_in_a_test_at_a_fixed_power_fails():
    bundle = honest_gpu("closed")
    broken = replace(bundle, journal=replace(bundle.journal, clock_locks=(LOCK,)))
    (finding,) = findings(CODE, broken)
    assert (finding.found, changed(broken)) == ("1 locks", {CODE: "fail"})


def test_a_lock_that_nvml_took_and_reset_passes():
    assert changed(locked(LOCK)) == {}
    assert changed(locked(replace(LOCK, reset_by="launcher"))) == {}


@pytest.mark.parametrize(
    ("bundle", "found"),
    [
        (locked(), "0 locks of gpu-3f0a51c2d9e8"),
        (locked(LOCK, LOCK), "2 locks of gpu-3f0a51c2d9e8"),
        (locked(replace(LOCK, device="gpu-000000000000")), "0 locks of gpu-3f0a51c2d9e8"),
        (locked(replace(LOCK, requested_mhz=1500)), "1500 MHz"),
        (
            locked(replace(LOCK, set_status="no_permission", set_reason="NVML NO_PERMISSION")),
            "refused: no_permission NVML NO_PERMISSION",
        ),
        (locked(replace(LOCK, set_ns=5 * 10**9)), "locked from 5000000000 to 10000000000000 ns"),
        (locked(replace(LOCK, reset_ns=5 * 10**9)), "locked from 1 to 5000000000 ns"),
        (locked(LOCK, lock=False), "1 locks"),
    ],
)
def test_a_lock_that_the_journal_does_not_bear_out_fails(bundle, found):
    assert changed(bundle) == {CODE: "fail"}
    (finding,) = findings(CODE, bundle)
    assert finding.found == found
    assert finding.place.startswith("data/journal.json: clock_locks")


def test_a_clock_that_stayed_locked_is_a_warning():
    bundle = locked(replace(LOCK, reset_status="error", reset_reason="NVML TIMEOUT"))
    assert changed(bundle) == {CODE: "warn"}
    assert findings(CODE, bundle)[0].found == "not reset: error NVML TIMEOUT"


def test_speed_of_light_is_that_of_the_locked_clock():
    bundle = fixed_frequency()
    wanted = speed_of_light(
        bundle.plan.case(DECODE).workload, number_format("bf16"), row_for(H200), 1980, 3201
    )
    for run in bundle.claims.cases[0].runs:
        assert run.sol_ns == pytest.approx(wanted.total_ns, rel=1e-12)


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
