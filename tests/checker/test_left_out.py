"""Evidence that is left out hides no fault that the rest of it shows."""

from dataclasses import replace

import pytest

from bundles import (
    GUIDELINE,
    honest_gpu,
    outcome,
    with_column,
    with_field,
    with_lead,
    with_rows,
    with_run,
    without_table,
)
from forgeries import shortened


def later(nanoseconds):
    return lambda at_ns: at_ns + nanoseconds


def twice_as_often(health):
    return tuple(
        replace(entry, period_ns=entry.period_ns // 2) if entry.table == "power.csv" else entry
        for entry in health
    )


def without_slope(bundle):
    return with_field(
        bundle,
        GUIDELINE,
        1,
        "timing.controls",
        lambda controls: tuple(c for c in controls if c.name != "host_slope"),
    )


def tripled(nanoseconds):
    return nanoseconds * 3


def before_the_load(table):
    return table["t_ns"] < honest_gpu().cases[GUIDELINE].runs[0].document.timing.start.before_ns


FAULTS = {
    "a host too far ahead, without the pilot": (
        "GK305",
        lambda: with_lead(honest_gpu(), GUIDELINE, 1, 40 * 3_190_824),
        lambda bundle: with_field(bundle, GUIDELINE, 1, "dispatch.pilot_period_ns", None),
    ),
    "a pilot three times as slow, without the host's part of it": (
        "GK305",
        lambda: with_field(honest_gpu(), GUIDELINE, 1, "dispatch.pilot_period_ns", tripled),
        lambda bundle: with_field(bundle, GUIDELINE, 1, "dispatch.pilot_enqueue_ns", None),
    ),
    "another power at rest, without the counter under load": (
        "GK321",
        lambda: with_column(
            honest_gpu(), GUIDELINE, 1, "power.csv", "power_instant_mw", lambda mw: mw * 9 // 10
        ),
        lambda bundle: with_rows(bundle, GUIDELINE, 1, "energy.csv", before_the_load),
    ),
    "a load that ends late, without the slope": (
        "GK318",
        lambda: with_run(
            honest_gpu(), GUIDELINE, 1, lambda run: shortened(run, 0.9, with_cool_down=True)
        ),
        without_slope,
    ),
    "an early launch, without the slope": (
        "GK318",
        lambda: with_field(honest_gpu(), GUIDELINE, 1, "phases.idle_end_ns", later(-(10**9))),
        without_slope,
    ),
    "a cool-down moved, without the slope": (
        "GK321",
        lambda: with_field(
            honest_gpu(), GUIDELINE, 1, "phases.cool_down_start_ns", later(500_000_000)
        ),
        without_slope,
    ),
    "power read twice as often, without clocks": (
        "GK401",
        lambda: with_field(honest_gpu(), GUIDELINE, 1, "telemetry.health", twice_as_often),
        lambda bundle: without_table(bundle, GUIDELINE, 1, "clocks.csv"),
    ),
    "clocks off the grid, without power": (
        "GK412",
        lambda: with_column(
            honest_gpu(), GUIDELINE, 1, "clocks.csv", "graphics_mhz", lambda mhz: mhz - 7
        ),
        lambda bundle: without_table(bundle, GUIDELINE, 1, "power.csv"),
    ),
}


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_stays_one(name):
    code, fault, left_out = FAULTS[name]
    assert outcome(code, honest_gpu()) == "pass"
    assert outcome(code, left_out(honest_gpu())) == "unproven"
    assert outcome(code, fault()) == "fail"
    assert outcome(code, left_out(fault())) == "fail"
