import csv

import pytest

UUID = "GPU-00000000-0000-0000-0000-000000000001"
OTHER = {
    "pci": "00000000:3B:00.0",
    "uuid": "GPU-00000000-0000-0000-0000-000000000002",
    "graphics_mhz": 1111,
}
POWER_INSTANT, MEMORY_TEMP = 186, 82
NOT_SUPPORTED, NO_PERMISSION, UNKNOWN, LOST = 3, 4, 999, 15


def metrics(found):
    return {metric["column"]: metric for metric in found["metrics"]}


def test_an_idle_h200_supplies_every_column_of_a_gpu(nvml_machine):
    found = nvml_machine().device().evaluate(f"connect('0000:00:06.0', '{UUID}')")
    assert found["rows"] == {
        "clocks.csv": [345, 345, 3201, 1],
        "power.csv": [79650, 79563, 34, 37, 0, 0, 0, 0, 0],
        "energy.csv": [2815476],
    }
    told = metrics(found)
    assert told["power_average_mw"]["semantics"].startswith("mean over about 1 s")
    assert "NVML_FI_DEV_POWER_INSTANT scope 0" in told["power_instant_mw"]["source"]
    assert told["busy_ms"]["status"] == "not_supported"


@pytest.mark.parametrize(
    ("arguments", "graphics_mhz"),
    [
        (f"'0000:00:06.0', '{UUID}'", 345),
        (f"None, '{UUID}'", 345),
        (f"'0000:3b:00.0', '{OTHER['uuid']}'", 1111),
        ("'00000000:3B:00.0'", 1111),
    ],
)
@pytest.mark.parametrize("order", [1, -1])
def test_a_gpu_is_found_by_its_names_in_whatever_order_they_are_listed(
    nvml_machine, arguments, graphics_mhz, order
):
    machine = nvml_machine()
    for facts in [{}, OTHER][::order]:
        machine.device(**facts)
    found = machine.evaluate(f"connect({arguments})")
    assert found["rows"]["clocks.csv"][0] == graphics_mhz


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (f"'0000:3b:00.0', '{UUID}'", "are different GPUs"),
        ("'0000:99:00.0'", "no GPU with PCI bus id 0000:99:00.0 (NVML NOT_FOUND)"),
        ("None, 'GPU-nonsense'", "no GPU with UUID GPU-nonsense"),
        (f"None, 'MIG{UUID[3:]}'", "MIG slice"),
        ("", "no GPU named"),
    ],
)
def test_names_that_are_not_one_gpu_are_refused(nvml_machine, arguments, error):
    found = nvml_machine().device().device(**OTHER).evaluate(f"connect({arguments})")
    assert error in found["error"]


def test_a_field_that_is_not_supported_is_absent_and_never_zero(nvml_machine):
    machine = nvml_machine().device().field(MEMORY_TEMP, code=NOT_SUPPORTED)
    found = machine.evaluate(f"connect(None, '{UUID}')")
    memory = metrics(found)["memory_c"]
    assert (memory["status"], memory["reason"]) == ("not_supported", "NVML NOT_SUPPORTED")
    assert found["rows"]["power.csv"] == [79650, 79563, 34, 0, 0, 0, 0, 0]


@pytest.mark.parametrize(
    ("code", "status", "reason"),
    [
        (NOT_SUPPORTED, "not_supported", "NVML NOT_SUPPORTED"),
        (NO_PERMISSION, "no_permission", "NVML NO_PERMISSION"),
        (6, "not_found", "NVML NOT_FOUND"),
        (25, "not_supported", "NVML ARGUMENT_VERSION_MISMATCH"),
        (LOST, "error", "NVML GPU_IS_LOST"),
        (UNKNOWN, "error", "NVML UNKNOWN"),
        (4711, "error", "NVML code 4711"),
    ],
)
def test_a_return_code_becomes_status_and_reason(nvml_machine, code, status, reason):
    machine = nvml_machine().device()
    machine.call("nvmlDeviceGetTotalEnergyConsumption", code=code)
    found = machine.evaluate(f"connect(None, '{UUID}')")
    energy = metrics(found)["energy_mj"]
    assert (energy["status"], energy["reason"]) == (status, reason)
    assert "energy.csv" not in found["rows"]


@pytest.mark.parametrize(
    ("facts", "column"),
    [
        ({"power_instant_mw": 0}, "power_instant_mw"),
        ({"gpu_c": 0}, "gpu_c"),
        ({"gpu_c": -3}, "gpu_c"),
        ({"energy_mj": 0}, "energy_mj"),
        ({"graphics_mhz": 0}, "graphics_mhz"),
        ({"power_average_mw": 0x7FFFFFF0}, "power_average_mw"),
        ({"sw_power_cap_ns": 0x7FFFFFFFFFFFFFF0}, "sw_power_cap_ns"),
    ],
)
def test_what_cannot_be_is_no_value_though_nvml_calls_it_valid(nvml_machine, facts, column):
    found = nvml_machine().device(**facts).evaluate(f"connect(None, '{UUID}')")
    metric = metrics(found)[column]
    assert metric["status"] == "error"
    assert metric["reason"].startswith("implausible: ")


@pytest.mark.parametrize(("value", "celsius"), [(45, 45), (0x4046C00000000000, 46)])
def test_a_temperature_tagged_as_double_is_read_by_plausibility(nvml_machine, value, celsius):
    # 45 as a plain integer under the wrong tag; 45.5 as a true double.
    machine = nvml_machine().device().field(MEMORY_TEMP, type=0, value=value)
    found = machine.evaluate(f"connect(None, '{UUID}')")
    assert found["rows"]["power.csv"][3] == celsius


def test_a_first_refusal_that_passes_costs_no_column(nvml_machine):
    machine = nvml_machine().device().field(POWER_INSTANT, code=NOT_SUPPORTED, until=1)
    found = machine.evaluate(f"connect(None, '{UUID}')")
    assert metrics(found)["power_instant_mw"]["status"] == "ok"


def test_an_old_driver_is_asked_by_the_old_names(nvml_machine):
    machine = nvml_machine("nvmlDeviceGetTemperatureV", "nvmlDeviceGetCurrentClocksEventReasons")
    found = machine.device(event_reasons=4).evaluate(f"connect(None, '{UUID}')")
    told = metrics(found)
    assert told["gpu_c"]["source"] == "nvmlDeviceGetTemperature"
    assert told["event_reasons"]["source"] == "nvmlDeviceGetCurrentClocksThrottleReasons"
    assert found["rows"]["power.csv"][2] == 34
    assert found["rows"]["clocks.csv"][3] == 4


def test_a_driver_without_field_values_still_gives_the_temperature(nvml_machine):
    machine = nvml_machine("nvmlDeviceGetFieldValues").device()
    found = machine.evaluate(f"connect(None, '{UUID}')")
    assert found["rows"]["power.csv"] == [34]
    power = metrics(found)["power_instant_mw"]
    assert power["status"] == "not_supported"
    assert "driver lacks this call" in power["reason"]


def test_a_gpu_that_supports_nothing_is_no_crash(nvml_machine):
    machine = nvml_machine().device()
    for name in (
        "nvmlDeviceGetClockInfo", "nvmlDeviceGetFieldValues", "nvmlDeviceGetTemperatureV",
        "nvmlDeviceGetTemperature", "nvmlDeviceGetCurrentClocksEventReasons",
        "nvmlDeviceGetCurrentClocksThrottleReasons", "nvmlDeviceGetTotalEnergyConsumption",
    ):  # fmt: skip
        machine.call(name, code=NOT_SUPPORTED)
    found = machine.evaluate(f"connect(None, '{UUID}')")
    assert found["rows"] == {}
    assert {metric["status"] for metric in found["metrics"]} == {"not_supported"}


def test_a_replayed_row_comes_back_as_recorded(nvml_machine, h200_traces):
    trace = h200_traces / "e4m3_8192.csv"
    machine = nvml_machine().device()
    machine.trace(trace, started_s=1e6)  # long past its end: the last row holds
    with trace.open() as file:
        last = {name: int(value) for name, value in list(csv.DictReader(file))[-1].items()}
    rows = machine.evaluate(f"connect(None, '{UUID}')")["rows"]
    assert rows["clocks.csv"] == [
        last["graphics_mhz"], last["sm_mhz"], last["memory_mhz"], last["event_reasons"]
    ]  # fmt: skip
    assert rows["power.csv"][:5] == [
        last["power_instant_mw"], last["power_average_mw"], last["gpu_c"], last["memory_c"],
        last["sw_power_cap_counter"],
    ]  # fmt: skip
    assert rows["energy.csv"] == [last["energy_mj"]]


def test_masks_and_numbers_are_those_of_the_public_header():
    import pynvml

    assert [pynvml.nvmlClocksEventReasonSwPowerCap, pynvml.nvmlClocksEventReasonHwSlowdown] == [
        4,
        8,
    ]
    assert pynvml.nvmlClocksEventReasonSwThermalSlowdown == 0x20
    assert pynvml.nvmlClocksEventReasonHwThermalSlowdown == 0x40
    assert pynvml.nvmlClocksEventReasonHwPowerBrakeSlowdown == 0x80
    assert pynvml.NVML_FI_DEV_POWER_INSTANT == POWER_INSTANT
    assert pynvml.NVML_FI_DEV_CLOCKS_EVENT_REASON_SW_POWER_CAP == 74
