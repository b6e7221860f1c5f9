from dataclasses import replace

import numpy as np
import pytest

from bundles import (
    DECODE,
    GUIDELINE,
    changed,
    findings,
    honest_cpu,
    honest_gpu,
    honest_on_gpus,
    outcome,
    result,
    with_column,
    with_environment,
    with_field,
    with_run,
    without_column,
)
from forgeries import shortened

CODE = "GK318"


def slope(bundle, launches):
    """The slope's launches and time changed together."""

    def change(controls):
        return tuple(
            replace(
                entry,
                launches=round(entry.launches * launches),
                duration_ns=round(entry.duration_ns * launches),
            )
            if entry.name == "host_slope"
            else entry
            for entry in controls
        )

    return with_field(bundle, GUIDELINE, 1, "timing.controls", change)


@pytest.mark.parametrize("bundle", honest_on_gpus())
def test_honest(bundle):
    assert outcome(CODE, bundle) == "pass"


def test_a_cpu_is_not_judged():
    assert outcome(CODE, honest_cpu()) == "not_applicable"


@pytest.mark.parametrize("division", ["open", "closed"])
@pytest.mark.parametrize("share", [0.9, 0.95, 0.98])
def test_windows_that_end_earlier_leave_time_over(division, share):
    bundle = with_run(honest_gpu(division), GUIDELINE, 1, lambda run: shortened(run, share))
    assert outcome(CODE, bundle) == "fail"
    assert any("spans of the slope" in finding.required for finding in findings(CODE, bundle))


def test_a_cool_down_that_follows_the_windows_still_draws_power():
    bundle = with_run(
        honest_gpu(), GUIDELINE, 1, lambda run: shortened(run, 0.9, with_cool_down=True)
    )
    assert any("power falls" in finding.found for finding in findings(CODE, bundle))


@pytest.mark.parametrize("division", ["open", "closed"])
@pytest.mark.parametrize(("launches", "wanted"), [(313, "fail"), (314, "pass"), (315, "fail")])
def test_time_left_over_cannot_be_given_to_the_slope(division, launches, wanted):
    bundle = slope(honest_gpu(division), launches / 314)
    assert outcome(CODE, bundle) == wanted
    assert all("by the windows" in finding.required for finding in findings(CODE, bundle))


@pytest.mark.parametrize(("later_ms", "wanted"), [(98, "pass"), (101, "fail")])
def test_the_first_launch_follows_the_idle_phase(later_ms, wanted):
    """It ended 1 ms before."""
    bundle = with_field(
        honest_gpu(), GUIDELINE, 1, "phases.idle_end_ns", lambda t: t - (later_ms - 1) * 1_000_000
    )
    assert outcome(CODE, bundle) == wanted


@pytest.mark.parametrize(
    ("later_ms", "wanted"), [(-135, "pass"), (-136, "fail"), (150, "pass"), (151, "fail")]
)
def test_the_time_after_the_windows_is_the_edge(later_ms, wanted):
    """Four spans of 314 launches last 4.008 s, the time 8 ms less; 143 ms are allowed."""
    bundle = with_field(
        honest_gpu(), GUIDELINE, 1, "phases.cool_down_start_ns", lambda t: t + later_ms * 1_000_000
    )
    assert outcome(CODE, bundle) == wanted
    assert changed(bundle).keys() - {CODE} == {"GK321"}


@pytest.mark.parametrize(
    ("later_ms", "wanted"), [(-280, "fail"), (-240, "pass"), (120, "pass"), (160, "fail")]
)
def test_power_rises_with_the_first_launch(later_ms, wanted):
    """The recorded power rises 114 ms after it: 150 ms early to 250 ms late are allowed."""

    def shift(run):
        power = run.tables["power.csv"]
        warm = run.document.timing.start.after_ns + 5 * 10**9
        t_ns = power["t_ns"]
        moved = np.where(t_ns < warm, t_ns + later_ms * 1_000_000, t_ns)
        keep = np.append(np.diff(moved) > 0, True)
        table = replace(power, columns=power.columns | {"t_ns": moved}).rows(keep)
        return replace(run, tables=run.tables | {"power.csv": table})

    bundle = with_run(honest_gpu(), GUIDELINE, 1, shift)
    assert outcome(CODE, bundle) == wanted


def test_an_unknown_devices_power_has_no_edges_to_find():
    bundle = with_run(
        honest_gpu(), GUIDELINE, 1, lambda run: shortened(run, 0.9, with_cool_down=True)
    )
    bundle = with_environment(bundle, device__sm_count=131)
    assert all("power" not in finding.found for finding in findings(CODE, bundle))


def test_without_a_slope_nothing_is_proven():
    bundle = with_field(honest_gpu(), DECODE, 1, "timing.controls", lambda controls: controls[:1])
    found = result(CODE, bundle)
    assert found.outcome == "unproven"
    assert "host_slope is missing" in found.reason


def rolled(bundle, file, rows):
    """The readings of run 1 at their times, but so many rows later."""

    def change(run):
        table = run.tables[file]
        moved = {
            name: values if name in ("t_ns", "burst_ns") else np.roll(values, rows)
            for name, values in table.columns.items()
        }
        return replace(run, tables=run.tables | {file: replace(table, columns=moved)})

    return with_run(bundle, GUIDELINE, 1, change)


@pytest.mark.parametrize("rows", [-100, 100])
@pytest.mark.parametrize("division", ["open", "closed"])
def test_event_bits_of_another_moment(division, rows):
    """Two seconds early the device is at its cap before the load, two late it is so after it."""
    found = findings(CODE, rolled(honest_gpu(division), "clocks.csv", rows))
    where = "before the first launch" if rows < 0 else "into the cool-down"
    assert any(
        f"of the samples {where}" in finding.found.replace("0.8 s ", "") for finding in found
    )


@pytest.mark.parametrize(("rows", "wanted"), [(-4, "pass"), (10, "pass"), (25, "fail")])
def test_a_bit_outlasts_the_load_by_half_a_second(rows, wanted):
    """The recorded bit comes 114 ms after the load and goes 508 ms after it, in rows of 20 ms."""
    assert outcome(CODE, rolled(honest_gpu(), "clocks.csv", rows)) == wanted


def test_power_that_ends_early_has_a_loaded_idle_phase():
    """Two seconds early, so that the mean of the idle phase is that of the load."""

    def early(values):
        return np.append(values[33:], [values[-1]] * 33)

    bundle = honest_gpu()
    for column in ("power_instant_mw", "power_average_mw"):
        bundle = with_column(bundle, GUIDELINE, 1, "power.csv", column, early)
    assert any("power rises" in finding.found for finding in findings(CODE, bundle))


def test_without_instant_power_the_edges_are_unproven():
    bundle = without_column(honest_gpu(), GUIDELINE, 1, "power.csv", "power_instant_mw")
    found = result(CODE, bundle)
    assert found.outcome == "unproven"
    assert "power.csv lacks power_instant_mw" in found.reason
    unknown = with_environment(bundle, device__sm_count=131)
    assert outcome(CODE, unknown) == "pass"


def test_a_fault_is_not_hidden_by_a_column_left_out():
    bundle = with_run(honest_gpu(), GUIDELINE, 1, lambda run: shortened(run, 0.9))
    bundle = without_column(bundle, GUIDELINE, 1, "power.csv", "power_instant_mw")
    assert outcome(CODE, bundle) == "fail"
