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
    with_field,
    without_column,
    without_table,
)

CODE = "GK406"


def scaled(column, factor):
    return with_column(
        honest_gpu(), DECODE, 1, "power.csv", column, lambda mw: (mw * factor).astype("int64")
    )


@pytest.mark.parametrize("sign", [-1, 1])
@pytest.mark.parametrize(
    ("difference", "wanted"), [(0.045, "pass"), (0.056, "warn"), (0.095, "warn"), (0.115, "fail")]
)
def test_five_percent_warn_and_ten_fail(sign, difference, wanted):
    bundle = scaled("power_instant_mw", 1 + sign * difference)
    assert outcome(CODE, bundle) == wanted
    assert all("instant" in finding.place for finding in findings(CODE, bundle))


def test_it_names_both_readings_and_gk321_that_at_rest():
    bundle = scaled("power_instant_mw", 0.8)
    assert changed(bundle) == {CODE: "fail", "GK321": "fail"}
    places = [finding.place.partition("csv: ")[2] for finding in findings(CODE, bundle)]
    assert places == [
        "mean power in profiling by average and instant",
        "mean power in profiling by instant and energy",
    ]


def test_the_energy_counter_counts():
    def slower(energy):
        return energy[0] + (energy - energy[0]) * 8 // 10

    bundle = with_column(honest_gpu(), GUIDELINE, 2, "energy.csv", "energy_mj", slower)
    assert changed(bundle) == {CODE: "fail", "GK321": "fail"}


@pytest.mark.parametrize(("excess", "wanted"), [(0, "pass"), (2, "fail")])
def test_the_limit_and_four_percent_are_the_edge(excess, wanted):
    def spike(values):
        values[100] = 728_000 + excess
        return values

    bundle = with_column(honest_gpu(), GUIDELINE, 1, "power.csv", "power_average_mw", spike)
    assert outcome(CODE, bundle) == wanted
    assert all("at most 700000 mW" in finding.required for finding in findings(CODE, bundle))


def test_without_a_limit_the_average_cannot_exceed_it():
    bundle = with_column(
        honest_gpu(), GUIDELINE, 1, "power.csv", "power_average_mw", lambda mw: mw + 60_000
    )
    assert outcome(CODE, bundle) == "fail"
    bundle = with_field(bundle, GUIDELINE, 1, "limits_before.power_enforced_mw", None)
    assert {finding.severity for finding in findings(CODE, bundle)} == {"warn"}


@pytest.mark.parametrize(
    ("file", "column", "name"),
    [("clocks.csv", "graphics_mhz", "graphics clock"), ("power.csv", "gpu_c", "GPU temperature")],
)
def test_a_missing_mean_proves_nothing(file, column, name):
    found = result(CODE, without_column(honest_gpu(), GUIDELINE, 1, file, column))
    assert found.outcome == "unproven"
    assert f"no mean of {name}" in found.reason


def test_any_reading_of_power_is_a_mean():
    bundle = without_table(honest_gpu(), GUIDELINE, 1, "energy.csv")
    bundle = without_column(bundle, GUIDELINE, 1, "power.csv", "power_instant_mw")
    assert outcome(CODE, bundle) == "pass"
    bundle = without_column(bundle, GUIDELINE, 1, "power.csv", "power_average_mw")
    assert "no mean of power" in result(CODE, bundle).reason


def test_a_cpu_is_not_judged():
    assert outcome(CODE, honest_cpu()) == "not_applicable"
