ADDRESS = "DeviceAddress('0000:00:06.0', None)"
NOT_SUPPORTED, NO_PERMISSION = 3, 4


def test_limits_of_an_h200(nvml_machine):
    machine = nvml_machine().device(processes="10,11,12", ecc_errors=2, power_enforced_mw=600000)
    assert machine.evaluate(f"limits({ADDRESS}, [10, 12, 99])") == {
        "power_enforced_mw": 600000,
        "power_default_mw": 700000,
        "power_minimum_mw": 200000,
        "power_maximum_mw": 700000,
        "other_processes": 1,
        "ecc_errors": 2,
        "missing": {},
    }


def test_limits_that_are_missing_are_null_with_their_reason(nvml_machine):
    machine = nvml_machine().device(power_default_mw=0)
    machine.call("nvmlDeviceGetPowerManagementLimitConstraints", code=NOT_SUPPORTED)
    machine.call("nvmlDeviceGetTotalEccErrors", code=NOT_SUPPORTED)
    found = machine.evaluate(f"limits({ADDRESS})")
    assert found["power_enforced_mw"] == 700000
    assert found["other_processes"] == 0
    assert found["missing"] == {
        "power_minimum_mw": "NVML NOT_SUPPORTED",
        "power_maximum_mw": "NVML NOT_SUPPORTED",
        "ecc_errors": "NVML NOT_SUPPORTED",
        "power_default_mw": "implausible: 0 mW reported as valid",
    }
    assert all(found[name] is None for name in found["missing"])


def test_reading_limits_sets_nothing(nvml_machine):
    machine = nvml_machine().device()
    machine.evaluate(f"limits({ADDRESS})")
    assert not machine.log.exists()


def test_the_stub_records_what_is_set(nvml_machine):
    # For the tests of clock locking: the log is how they see the calls and their order.
    machine = nvml_machine().device()
    assert machine.evaluate("call('nvmlDeviceSetGpuLockedClocks', 1485, 1500)") is None
    assert machine.evaluate("call('nvmlDeviceResetGpuLockedClocks')") is None
    machine.call("nvmlDeviceSetGpuLockedClocks", code=NO_PERMISSION)
    refused = machine.evaluate("call('nvmlDeviceSetGpuLockedClocks', 1, 2)")
    assert refused == {"code": NO_PERMISSION}
    assert machine.log.read_text().splitlines() == [
        "nvmlDeviceSetGpuLockedClocks 00000000:00:06.0 1485 1500",
        "nvmlDeviceResetGpuLockedClocks 00000000:00:06.0",
    ]
