import pytest

from bundles import (
    DECODE,
    GUIDELINE,
    PLAIN,
    changed,
    findings,
    honest_cpu,
    honest_gpu,
    outcome,
    result,
    with_column,
    with_environment,
    with_plan,
    without_table,
)

CODE = "GK409"
WARM_UP_ROW = 120  # far before profiling in all three tables, so that no other rule looks there


def set_row(value, row=WARM_UP_ROW):
    def change(values):
        values[row] = value(values[row]) if callable(value) else value
        return values

    return change


def with_value(file, column, value, *, row=WARM_UP_ROW):
    return with_column(honest_gpu(), GUIDELINE, 2, file, column, set_row(value, row))


@pytest.mark.parametrize(
    ("column", "maximum"), [("graphics_mhz", 1980), ("sm_mhz", 1980), ("memory_mhz", 3201)]
)
def test_one_step_above_the_devices_maximum_is_the_edge(column, maximum):
    assert outcome(CODE, with_value("clocks.csv", column, maximum + 15)) == "pass"
    bundle = with_value("clocks.csv", column, maximum + 16)
    assert changed(bundle) == {CODE: "fail"}
    (finding,) = findings(CODE, bundle)
    assert finding.place.endswith(f"-02/clocks.csv: column {column}")


def test_a_device_that_states_no_maximum_is_not_compared():
    bundle = with_value("clocks.csv", "graphics_mhz", 3000)
    assert outcome(CODE, with_environment(bundle, device__maximum_graphics_mhz=None)) == "pass"


@pytest.mark.parametrize("column", ["gpu_c", "memory_c"])
@pytest.mark.parametrize(
    ("celsius", "wanted"), [(1, "pass"), (0, "fail"), (125, "pass"), (126, "fail")]
)
def test_temperatures_are_those_of_a_working_device(column, celsius, wanted):
    assert outcome(CODE, with_value("power.csv", column, celsius)) == wanted


@pytest.mark.parametrize(
    ("file", "column"),
    [
        ("energy.csv", "energy_mj"),
        ("power.csv", "sw_power_cap_ns"),
        ("power.csv", "sync_boost_ns"),
        ("power.csv", "hw_thermal_ns"),
    ],
)
def test_counters_never_fall(file, column):
    bundle = with_value(file, column, lambda value: value + 10**9, row=20)
    (finding,) = findings(CODE, bundle)
    assert finding.place.endswith(f"-02/{file}: row 22: {column}")


@pytest.mark.parametrize(("early_ns", "wanted"), [(119_000_000, "pass"), (121_000_000, "fail")])
def test_a_counter_of_time_may_be_read_a_step_early(early_ns, wanted):
    """As one of an H200 was, by 93 ms, and a little more."""
    rows = honest_gpu().cases[GUIDELINE].runs[1].tables["power.csv"]["sw_power_cap_ns"]
    value = int(rows[WARM_UP_ROW + 1]) + early_ns
    bundle = with_value("power.csv", "sw_power_cap_ns", value)
    assert outcome(CODE, bundle) == wanted


@pytest.mark.parametrize("column", ["busy_ms", "steal_ms"])
def test_counters_of_a_host_never_fall_either(column):
    bundle = with_column(
        honest_cpu(), PLAIN, 1, "host.csv", column, set_row(lambda ms: ms + 10_000, 10)
    )
    assert changed(bundle) == {CODE: "fail"}


@pytest.mark.parametrize(("late_ns", "wanted"), [(900_000, "pass"), (1_100_000, "fail")])
def test_a_burst_ends_before_the_next_one_or_a_twentieth_of_a_period_later(late_ns, wanted):
    t_ns = honest_gpu().cases[GUIDELINE].runs[1].tables["clocks.csv"]["t_ns"]
    burst = int(t_ns[WARM_UP_ROW + 1] - t_ns[WARM_UP_ROW]) + late_ns
    bundle = with_value("clocks.csv", "burst_ns", burst)
    assert outcome(CODE, bundle) == wanted
    assert all(f"row {WARM_UP_ROW + 1}: burst_ns" in f.place for f in findings(CODE, bundle))


def test_power_that_stands_still_under_load_is_no_reading():
    bundle = with_column(
        honest_gpu(), DECODE, 1, "power.csv", "power_average_mw", lambda mw: mw * 0 + 657_000
    )
    (finding,) = findings(CODE, bundle)
    assert finding.found.startswith("657000 mW in all ")


def test_telemetry_of_a_gpu_that_is_not_there_proves_nothing():
    bundle = honest_gpu()
    for file in ("clocks.csv", "power.csv", "energy.csv"):
        bundle = without_table(bundle, GUIDELINE, 1, file)
    assert "no telemetry table" in result(CODE, bundle).reason


def test_a_cpu_bundle_without_a_source_is_not_concerned():
    assert outcome(CODE, with_plan(honest_cpu(), telemetry__source="none")) == "not_applicable"
