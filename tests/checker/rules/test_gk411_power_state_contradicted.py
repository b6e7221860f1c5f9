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
    in_every_run,
    outcome,
    with_column,
    with_environment,
    with_field,
    with_plan,
    with_run,
)
from forgeries import events_cleared, power_scaled, telemetry_of
from kit.timeline import profiling_interval
from kit.trace import Table

CODE = "GK411"


@pytest.mark.parametrize(
    "bundle", [honest_gpu(), honest_gpu("closed"), fixed_frequency(), fixed_frequency("closed")]
)
def test_honest(bundle):
    assert outcome(CODE, bundle) == "pass"


def test_a_cpu_is_not_judged():
    assert outcome(CODE, honest_cpu()) == "not_applicable"


@pytest.mark.parametrize("division", ["open", "closed"])
@pytest.mark.parametrize("recorded", ["zero_4096", "trace_8192_zero"])
def test_zero_fill_sold_as_uniform(division, recorded):
    """An H200 that multiplied zeros: held by its cap at 448 and 426 W of 700 W."""
    bundle = with_run(honest_gpu(division), GUIDELINE, 1, lambda run: telemetry_of(run, recorded))
    assert outcome(CODE, bundle) == "fail"
    (finding,) = [found for found in findings(CODE, bundle) if "power cap in" in found.found]
    assert finding.required.startswith("at least 95% of the 700000 mW")


def test_uniform_fill_is_what_was_asked_for():
    """The same readings beside a plan that says zero are what zeros do (GK201 has its say)."""
    bundle = with_run(honest_gpu(), GUIDELINE, 1, lambda run: telemetry_of(run, "zero_4096"))
    bundle = with_plan(bundle, test_type__fill="zero")
    assert outcome(CODE, bundle) == "pass"


@pytest.mark.parametrize(("limit_mw", "wanted"), [(727_000, "pass"), (728_500, "fail")])
def test_the_share_of_the_limit_is_the_edge(limit_mw, wanted):
    """691.4 W on average are 0.951 of 727 W and 0.949 of 728.5 W."""
    bundle = honest_gpu()
    for when in ("before", "after"):
        bundle = in_every_run(bundle, with_field, f"limits_{when}.power_enforced_mw", limit_mw)
    assert outcome(CODE, bundle) == wanted


@pytest.mark.parametrize("division", ["open", "closed"])
def test_power_that_was_scaled_down(division):
    bundle = with_run(honest_gpu(division), GUIDELINE, 1, lambda run: power_scaled(run, 0.7))
    assert outcome(CODE, bundle) == "fail"


@pytest.mark.parametrize("division", ["open", "closed"])
def test_bits_that_were_cleared(division):
    """With the counter or without: power at its limit is a reason that must show."""
    half = with_column(honest_gpu(division), GUIDELINE, 1, "clocks.csv", "event_reasons", zero)
    whole = with_run(honest_gpu(division), GUIDELINE, 1, events_cleared)
    assert outcome(CODE, half) == outcome(CODE, whole) == "fail"
    assert len(findings(CODE, half)) == 2
    assert len(findings(CODE, whole)) == 1
    assert changed(whole)[CODE] == "fail"


def zero(values):
    return values * 0


@pytest.mark.parametrize(("division", "severity"), [("open", "warn"), ("closed", "fail")])
def test_a_clock_that_somebody_holds_is_no_fixed_power_test(division, severity):
    """1485 MHz at 657 W with no reason: the decode case on a locked clock."""
    bundle = honest_gpu(division)
    for column in ("graphics_mhz", "sm_mhz"):
        bundle = with_column(bundle, DECODE, 1, "clocks.csv", column, lambda mhz: mhz * 3 // 4)
    assert outcome(CODE, bundle) == severity
    (finding,) = findings(CODE, bundle)
    assert finding.found.endswith("with no reason")


@pytest.mark.parametrize(("share", "wanted"), [(0.10, "pass"), (0.14, "fail")])
def test_the_counter_grows_as_the_bit_says(share, wanted):
    """12.8 s in which the bit was missing from some samples; a tenth and 0.2 s are allowed."""

    def clear(values):
        values[: int(len(values) * share)] = 0
        return values

    run = honest_gpu().cases[GUIDELINE].runs[0]
    start, end = profiling_interval(run.document.timing, run.tables["windows.csv"])
    t_ns = run.tables["clocks.csv"]["t_ns"]
    inside = (t_ns >= start) & (t_ns < end)

    def edit(values):
        values[inside] = clear(values[inside])
        return values

    bundle = with_column(honest_gpu(), GUIDELINE, 1, "clocks.csv", "event_reasons", edit)
    grew = [found for found in findings(CODE, bundle) if "sw_power_cap_ns" in found.place]
    assert bool(grew) == (wanted == "fail")


def test_a_device_that_was_never_read_is_not_judged_by_its_power():
    bundle = with_run(honest_gpu(), GUIDELINE, 1, lambda run: power_scaled(run, 0.7))
    bundle = with_environment(bundle, device__sm_count=131)
    assert outcome(CODE, bundle) == "pass"


def disguised(run, every, bits):
    """Zeros told as uniform: each so-manieth capped sample has other bits, the counter fits."""
    run = telemetry_of(run, "zero_4096")
    clocks, power = run.tables["clocks.csv"], run.tables["power.csv"]
    reasons = clocks["event_reasons"].copy()
    reasons[np.flatnonzero(reasons & 4)[::every]] = bits
    grown = power["sw_power_cap_ns"] - power["sw_power_cap_ns"][0]
    counted = power["sw_power_cap_ns"][0] + grown * (every - 1) // every
    return replace(
        run,
        tables=run.tables
        | {
            "clocks.csv": Table(clocks.columns | {"event_reasons": reasons}),
            "power.csv": Table(power.columns | {"sw_power_cap_ns": counted}),
        },
    )


@pytest.mark.parametrize("division", ["open", "closed"])
@pytest.mark.parametrize(("every", "bits"), [(6, 1), (6, 2), (2, 0x10), (1, 0x100)])
def test_other_bits_do_not_excuse_the_power_of_zeros(division, every, bits):
    bundle = with_run(honest_gpu(division), GUIDELINE, 1, lambda run: disguised(run, every, bits))
    assert outcome(CODE, bundle) == "fail"
    assert any("and a clock below 1980 MHz" in found.found for found in findings(CODE, bundle))


@pytest.mark.parametrize(("bits", "wanted"), [(0, 1), (1, 1), (2, 1), (0x100, 1), (0x20, 0)])
def test_an_idle_device_or_a_setting_is_no_reason_under_load(bits, wanted):
    """The decode case on a clock that stands still at 1485 MHz."""
    bundle = honest_gpu()
    for column in ("graphics_mhz", "sm_mhz"):
        bundle = with_column(bundle, DECODE, 1, "clocks.csv", column, lambda mhz: mhz * 3 // 4)
    bundle = with_column(bundle, DECODE, 1, "clocks.csv", "event_reasons", lambda t: t * 0 + bits)
    found = findings(CODE, bundle)
    assert sum("with no reason" in finding.found for finding in found) == wanted
    assert outcome(CODE, bundle) == ("fail" if bits else "warn")


@pytest.mark.parametrize(("low", "wanted"), [(0.49, "pass"), (0.51, "fail")])
def test_most_samples_below_the_maximum_are_the_edge(low, wanted):
    """A clock that wanders below the maximum at 0.93 of the limit, with the cap in few samples."""

    def wander(values, run):
        start, end = profiling_interval(run.document.timing, run.tables["windows.csv"])
        t_ns = run.tables["clocks.csv"]["t_ns"]
        inside = np.flatnonzero((t_ns >= start) & (t_ns < end))
        values[inside] = 1980
        below = inside[: round(low * len(inside))]
        values[below] = np.where(np.arange(len(below)) % 2, 1800, 1815)
        return values

    bundle = honest_gpu()
    run = bundle.cases[DECODE].runs[0]
    for column in ("graphics_mhz", "sm_mhz"):
        bundle = with_column(
            bundle, DECODE, 1, "clocks.csv", column, lambda values: wander(values, run)
        )
    bundle = with_column(
        bundle, DECODE, 1, "clocks.csv", "event_reasons", lambda old: old * 0 + 0x10
    )
    assert outcome(CODE, bundle) == wanted
