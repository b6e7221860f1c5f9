from dataclasses import replace

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
    with_column,
    with_environment,
    with_field,
    with_plan,
    with_run,
)
from forgeries import squeezed
from kit.evidence import DeviceFacts
from kit.gpu_registers import registers_of
from kit.timeline import profiling_interval
from machines import H200
from recorded import recording

CODE = "GK412"


@pytest.mark.parametrize(
    "bundle", [honest_gpu(), honest_gpu("closed"), fixed_frequency(), fixed_frequency("closed")]
)
def test_honest(bundle):
    assert outcome(CODE, bundle) == "pass"


def test_a_cpu_is_not_judged():
    assert outcome(CODE, honest_cpu()) == "not_applicable"


@pytest.mark.parametrize("division", ["open", "closed"])
@pytest.mark.parametrize("case", [GUIDELINE, DECODE])
def test_a_time_line_squeezed_to_nine_tenths(division, case):
    bundle = with_run(honest_gpu(division), case, 1, lambda run: squeezed(run, 0.9))
    assert outcome(CODE, bundle) == "fail"
    assert any("a step every" in finding.found for finding in findings(CODE, bundle))


def test_a_counter_that_was_not_squeezed_with_it_outruns_time():
    bundle = with_run(honest_gpu(), GUIDELINE, 1, lambda run: squeezed(run, 0.97, counters=False))
    (finding,) = findings(CODE, bundle)
    assert finding.place.endswith(": sw_power_cap_ns")


@pytest.mark.parametrize(("ahead_ms", "wanted"), [(280, "pass"), (410, "fail")])
def test_a_counter_that_catches_up_is_the_edge(ahead_ms, wanted):
    """It lags behind by up to 105 ms by itself."""

    def jump(values):
        values[400:] += ahead_ms * 1_000_000
        return values

    bundle = with_column(honest_gpu(), GUIDELINE, 1, "power.csv", "sw_power_cap_ns", jump)
    assert outcome(CODE, bundle) == wanted


@pytest.mark.parametrize(("samples", "wanted"), [(27, "pass"), (28, "fail")])
def test_one_clock_in_a_hundred_may_lie_off_the_grid(samples, wanted):
    def off(mhz):
        mhz[500 : 500 + samples] -= 1
        return mhz

    bundle = honest_gpu()
    for column in ("graphics_mhz", "sm_mhz"):
        bundle = with_column(bundle, GUIDELINE, 1, "clocks.csv", column, off)
    assert len(bundle.cases[GUIDELINE].runs[0].tables["clocks.csv"]) == 2706
    assert outcome(CODE, bundle) == wanted


def test_clocks_that_were_scaled():
    def scale(mhz):
        return mhz * 95 // 100

    bundle = honest_gpu()
    for column in ("graphics_mhz", "sm_mhz"):
        bundle = with_column(bundle, GUIDELINE, 1, "clocks.csv", column, scale)
    assert outcome(CODE, bundle) == "fail"
    assert "whole steps of 15 MHz below 1980 MHz" in findings(CODE, bundle)[0].required


def test_graphics_and_sm_clock_are_one_domain():
    bundle = with_column(
        honest_gpu(), GUIDELINE, 1, "clocks.csv", "graphics_mhz", lambda mhz: mhz - 15
    )
    assert outcome(CODE, bundle) == "fail"
    (finding,) = findings(CODE, bundle)
    assert "one domain" in finding.required


@pytest.mark.parametrize("division", ["open", "closed"])
def test_an_average_that_hardly_steps(division):
    """One value throughout, but for one reading, so that it does not stand still."""

    def smooth(run):
        power = run.tables["power.csv"]
        values = np.where(power["power_average_mw"] > 600_000, 691_000, power["power_average_mw"])
        values[len(values) // 2] += 1
        table = replace(power, columns=power.columns | {"power_average_mw": values})
        return replace(run, tables=run.tables | {"power.csv": table})

    bundle = with_run(honest_gpu(division), DECODE, 1, smooth)
    assert outcome(CODE, bundle) == "fail"


def test_steps_are_not_counted_where_they_were_sampled_too_seldom():
    """The sampler of a busy host reads less often; its steps cannot be told then."""

    def health(entries, period_ns):
        return tuple(
            replace(entry, period_ns=period_ns) if entry.table == "power.csv" else entry
            for entry in entries
        )

    still = with_column(
        honest_gpu(), GUIDELINE, 1, "power.csv", "power_average_mw", lambda mw: 0 * mw + 690_000
    )
    for period_ns, wanted in ((65_000_000, "fail"), (66_000_000, "pass")):
        bundle = with_field(
            still, GUIDELINE, 1, "telemetry.health",
            lambda entries, period_ns=period_ns: health(entries, period_ns),
        )  # fmt: skip
        assert outcome(CODE, bundle) == wanted


def test_a_device_without_a_row_is_judged_by_time_alone():
    bundle = with_run(honest_gpu(), GUIDELINE, 1, lambda run: squeezed(run, 0.9))
    bundle = with_environment(bundle, device__sm_count=131)
    assert outcome(CODE, bundle) == "pass"


def test_registers_belong_to_products():
    assert registers_of(H200).capped_power_share == 0.95
    assert registers_of(None) is None
    gh200 = replace(H200, memory_bus_bits=6144, maximum_memory_mhz=2619)
    assert isinstance(gh200, DeviceFacts)
    assert registers_of(gh200).products[0] == "GH200 96GB"
    assert registers_of(gh200).capped_power_share is None
    assert registers_of(replace(H200, compute_capability="8.0")) is None


def test_only_the_squeezed_run_is_named():
    bundle = with_run(honest_gpu(), GUIDELINE, 2, lambda run: squeezed(run, 0.9))
    assert {finding.place.split("/")[-2][-2:] for finding in findings(CODE, bundle)} == {"02"}
    assert changed(bundle)[CODE] == "fail"


def in_profiling(bundle, change, *columns):
    """The clock's columns of run 1 in profiling, changed."""
    run = bundle.cases[GUIDELINE].runs[0]
    start, end = profiling_interval(run.document.timing, run.tables["windows.csv"])
    t_ns = run.tables["clocks.csv"]["t_ns"]
    inside = (t_ns >= start) & (t_ns < end)
    for column in columns:
        bundle = with_column(
            bundle, GUIDELINE, 1, "clocks.csv", column, lambda v: np.where(inside, change(v), v)
        )
    return bundle


@pytest.mark.parametrize("mhz", [1410, 1455])
def test_the_power_cap_moves_the_clock(mhz):
    bundle = in_profiling(honest_gpu(), lambda v: v * 0 + mhz, "graphics_mhz", "sm_mhz")
    assert any("software power cap" in found.required for found in findings(CODE, bundle))
    freed = in_profiling(bundle, lambda v: v * 0, "event_reasons")
    assert outcome(CODE, freed) == "pass"
    zeros = with_plan(bundle, test_type__fill="zero")
    assert outcome(CODE, zeros) == "pass"


def test_a_clock_that_stood_still_under_the_cap_was_recorded_with_zeros():
    test = recording("zero_4096")
    clocks = test.tables["clocks.csv"]
    end = test.marks["cool"]
    inside = (clocks["t_ns"] >= end - test.profiling_ns) & (clocks["t_ns"] < end)
    assert (clocks["event_reasons"][inside] & 4).all()
    assert set(clocks["graphics_mhz"][inside].tolist()) == {1845}


@pytest.mark.parametrize(("mhz", "wanted"), [(3199, "pass"), (3190, "fail"), (1593, "fail")])
def test_the_memory_clock_is_at_its_maximum(mhz, wanted):
    bundle = in_profiling(honest_gpu(), lambda v: v * 0 + mhz, "memory_mhz")
    assert outcome(CODE, bundle) == wanted
    assert all("memory_mhz" in found.place for found in findings(CODE, bundle))


def test_an_unknown_devices_memory_clock_may_be_lower():
    bundle = in_profiling(honest_gpu(), lambda v: v // 2, "memory_mhz")
    assert outcome(CODE, with_environment(bundle, device__sm_count=131)) == "pass"
