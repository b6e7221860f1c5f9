import pytest

from kit.errors import UsageError
from kit.system import GpuAddress, select, uuid_hash

UUID = "GPU-00000000-0000-0000-0000-000000000001"
OTHER = {
    "pci": "00000001:3B:00.0",
    "uuid": "GPU-00000000-0000-0000-0000-000000000002",
    "name": "NVIDIA L40S",
}
NOT_SUPPORTED, NO_PERMISSION = 3, 4
ATTRIBUTES = "GpuAttributes('9.0', 132, 62914560, {bus})"


def test_the_launcher_lists_every_gpu(nvml_machine):
    machine = nvml_machine().device(processes="17,17,4711").device(**OTHER)
    first, second = machine.evaluate("gpus()")
    assert first == {
        "index": 0,
        "uuid": UUID,
        "pci_bus_id": "00000000:00:06.0",
        "name": "NVIDIA H200",
        "memory_total_bytes": 150754820096,
        "memory_free_bytes": 150109880320,
        "other_processes": 2,
        "mig_enabled": False,
    }
    assert (second["index"], second["name"], second["other_processes"]) == (1, "NVIDIA L40S", 0)
    assert second["pci_bus_id"] == "00000001:3b:00.0"


def test_facts_that_a_gpu_keeps_to_itself_are_null_in_the_list(nvml_machine):
    machine = nvml_machine("nvmlDeviceGetMemoryInfo_v2").device()
    assert machine.evaluate("gpus()")[0]["memory_total_bytes"] == 150754820096
    machine.call("nvmlDeviceGetMemoryInfo", code=NOT_SUPPORTED)
    machine.call("nvmlDeviceGetComputeRunningProcesses_v3", code=NO_PERMISSION)
    listed = machine.evaluate("gpus()")[0]
    assert listed["memory_total_bytes"] is None
    assert listed["memory_free_bytes"] is None
    assert listed["other_processes"] is None


@pytest.mark.parametrize(
    ("code", "error", "hint"),
    [
        (0, "no NVIDIA GPU that NVML can see", "backend.platform=cpu"),
        (9, "the NVIDIA driver is not loaded", "nvidia-smi"),
        (18, "differ in version", "reboot"),
        (4, "may not open the GPU's device files", "/dev/nvidia"),
    ],
)
def test_a_machine_that_cannot_measure_says_why(nvml_machine, code, error, hint):
    found = nvml_machine().system(init=code).evaluate("gpus()")
    assert error in found["error"]
    assert hint in found["hint"]


def test_a_machine_without_nvml_says_so(nvml_machine):
    machine = nvml_machine()
    machine.environment["LD_LIBRARY_PATH"] = ""
    found = machine.evaluate("gpus()")
    assert found["error"] == "NVML is missing: libnvidia-ml.so.1 cannot be loaded"


def gpu(index):
    return GpuAddress(index, f"{UUID[:-1]}{index}", f"00000000:0{index}:00.0", "X", 1, 1, 0, None)


@pytest.mark.parametrize(
    ("wanted", "indices"),
    [
        ("all", [0, 1, 2]),
        ("1", [1]),
        ("2,0", [2, 0]),
        (f"{UUID[:-1]}2, 1", [2, 1]),
        (f"gpu{UUID[3:-1]}0", [0]),
    ],
)
def test_selection_follows_the_plans_order(wanted, indices):
    assert [one.index for one in select((gpu(0), gpu(1), gpu(2)), wanted)] == indices


@pytest.mark.parametrize("wanted", ["3", "", "0,", "-1", "0x1", "GPU-", "cpu", "00001", "1,1"])
def test_a_selection_that_is_no_gpu_is_a_usage_error(wanted):
    with pytest.raises(UsageError, match="devices"):
        select((gpu(0), gpu(1)), wanted)


@pytest.mark.parametrize("wanted", ["all", "1"])
def test_a_gpu_in_mig_mode_is_refused_before_anything_is_tuned(nvml_machine, wanted):
    machine = nvml_machine().device().device(**OTHER, mig=1)
    found = machine.evaluate(f"select(gpus(), '{wanted}')")
    assert "GPU 1 is in MIG mode" in found["error"]
    assert [one["index"] for one in machine.evaluate("select(gpus(), '0')")] == [0]


def test_nvml_gives_both_names_of_a_device(nvml_machine):
    machine = nvml_machine().device(**OTHER).device()
    found = machine.evaluate("nvml_address(DeviceAddress('0000:00:06.0', None))")
    assert found == {"pci_bus_id": "00000000:00:06.0", "uuid": UUID}
    wrong = machine.evaluate(f"nvml_address(DeviceAddress('0000:00:06.0', '{OTHER['uuid']}'))")
    assert "are different GPUs" in wrong["error"]


def test_facts_of_an_h200(nvml_machine):
    facts = (
        nvml_machine()
        .device()
        .evaluate(f"gpu_facts('0000:00:06.0', {ATTRIBUTES.format(bus=6144)})")
    )
    assert facts == {
        "id": f"gpu-{uuid_hash(UUID)}",
        "kind": "gpu",
        "name": "NVIDIA H200",
        "compute_capability": "9.0",
        "sm_count": 132,
        "cache_bytes": 62914560,
        "memory_bytes": 150754820096,
        "memory_bus_bits": 6144,
        "maximum_graphics_mhz": 1980,
        "maximum_memory_mhz": 3201,
        "vbios_version": "96.00.A5.00.1A",
        "inforom_version": "G520.0282.02.02",
        "gsp_version": "580.159.04",
        "ecc_enabled": True,
        "mig_enabled": False,
        "persistence_enabled": True,
        "compute_mode": "default",
        "virtualization": "passthrough",
        "pcie_generation": 5,
        "pcie_width": 16,
        "missing": {},
    }


def test_facts_that_are_missing_are_null_with_their_reason(nvml_machine):
    machine = nvml_machine("nvmlDeviceGetGspFirmwareVersion").device(compute_mode=9)
    machine.call("nvmlDeviceGetEccMode", code=NOT_SUPPORTED)
    machine.call("nvmlDeviceGetMaxClockInfo", code=NO_PERMISSION)
    facts = machine.evaluate(f"gpu_facts('0000:00:06.0', {ATTRIBUTES.format(bus=None)})")
    assert facts["memory_bus_bits"] == 6016
    assert facts["compute_mode"] == "unknown (9)"
    assert facts["ecc_enabled"] is None
    assert facts["missing"] == {
        "gsp_version": "NVML FUNCTION_NOT_FOUND: the driver lacks this call",
        "ecc_enabled": "NVML NOT_SUPPORTED",
        "maximum_graphics_mhz": "NVML NO_PERMISSION",
        "maximum_memory_mhz": "NVML NO_PERMISSION",
    }


def test_facts_tell_neither_serial_nor_uuid(nvml_machine):
    facts = (
        nvml_machine()
        .device()
        .evaluate(f"gpu_facts('0000:00:06.0', {ATTRIBUTES.format(bus=6144)})")
    )
    assert UUID[4:] not in str(facts)


def test_versions_of_driver_nvml_and_cuda(nvml_machine):
    machine = nvml_machine("nvmlSystemGetNVMLVersion").system(driver="999.1", cuda=12080).device()
    assert machine.evaluate("driver_versions()") == {
        "nvidia_driver": "999.1",
        "cuda_driver": "12.8",
    }
