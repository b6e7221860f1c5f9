import csv
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from kit.errors import MeasurementError, UsageError
from kit.system import DeviceAddress
from kit.telemetry.sampler import Sampler

H200 = DeviceAddress("0000:00:06.0", "GPU-00000000-0000-0000-0000-000000000001")
PERIODS_MS = {"clocks.csv": 20, "power.csv": 50, "energy.csv": 200, "host.csv": 20}
NOT_SUPPORTED, LOST = 3, 15


@pytest.fixture
def start(tmp_path):
    started = []

    def sampler(source="nvml", device=H200, periods_ms=PERIODS_MS, capacity_s=30.0, **options):
        base_ns = options.pop("base_ns", time.monotonic_ns())
        started.append(
            Sampler.start(source, device, periods_ms, capacity_s, base_ns, tmp_path, **options)
        )
        return started[-1]

    yield sampler
    for one in started:
        one.stop()
    assert not list(tmp_path.glob("telemetry-*")), "a sampler left its files behind"


def recorded(path):
    with path.open() as file:
        rows = list(csv.DictReader(file))
    return {name: np.array([int(row[name]) for row in rows]) for name in rows[0]}


def metric(record, column):
    return next(one for one in record.metrics if one.column == column)


def health(record, table):
    return next(one for one in record.health if one.table == table)


def wait_until(holds, timeout_s=5.0):
    deadline = time.monotonic() + timeout_s
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def is_running(pid):
    """Whether a process lives; a dead one that nobody has waited for does not."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rsplit(") ", 1)[1][0]
    except FileNotFoundError:
        return False
    return state not in "ZX"


def test_sampling_a_replayed_h200_gives_its_trace_back(nvml_machine, start, h200_traces):
    path = h200_traces / "e4m3_8192.csv"
    machine = nvml_machine().device()
    # From just before the load to well into it: clocks, power and counters all move.
    epoch_ns = machine.trace(path, started_s=1.2)
    sampler = start(base_ns=epoch_ns)
    time.sleep(2.0)
    record = sampler.stop()
    trace = recorded(path)
    trace["sw_power_cap_ns"] = trace["sw_power_cap_counter"]
    compared = 0
    for table in sampler.tables().values():
        for name in set(table.columns) & set(trace) - {"t_ns", "burst_ns"}:
            for t_ns, burst_ns, value in zip(
                table["t_ns"], table["burst_ns"], table[name], strict=True
            ):
                first, last = np.searchsorted(trace["t_ns"], [t_ns, t_ns + burst_ns], "right") - 1
                assert value in trace[name][first : last + 1], (name, t_ns)
                compared += 1
    assert compared > 500
    clocks, power = sampler.tables()["clocks.csv"], sampler.tables()["power.csv"]
    assert len(np.unique(clocks["graphics_mhz"])) > 5
    assert np.ptp(power["power_instant_mw"]) > 200_000
    assert record.process == "spawned"
    assert [one.failed for one in record.health] == [0, 0, 0]
    assert not machine.log.exists(), "the sampler set something on the GPU"


def test_cadence_holds_without_drift(nvml_machine, start):
    nvml_machine().device()
    sampler = start()
    time.sleep(1.5)
    record = sampler.stop()
    for table, period_ms in (("clocks.csv", 20), ("power.csv", 50), ("energy.csv", 200)):
        t_ns = sampler.tables()[table]["t_ns"]
        kept = health(record, table)
        assert kept.period_ns == period_ms * 1_000_000
        # Bursts fall on multiples of the period after the first, however late one of them was.
        phase = (t_ns - t_ns[0] + kept.period_ns // 2) % kept.period_ns - kept.period_ns // 2
        assert abs(np.median(phase)) < kept.period_ns / 4
        assert kept.bursts == len(t_ns)
        # On a busy machine bursts may come late, but every deadline is a burst or an overrun.
        turns = round((t_ns[-1] - t_ns[0]) / kept.period_ns)
        assert abs(kept.bursts + kept.overruns - 1 - turns) <= 1


def test_reading_does_not_disturb_and_grows(nvml_machine, start):
    nvml_machine().device()
    sampler = start()
    lengths = []
    for _ in range(20):
        lengths.append(len(sampler.read("clocks.csv")))
        time.sleep(0.03)
    assert lengths == sorted(lengths)
    assert lengths[-1] > lengths[0]
    assert sampler.fault() is None
    record = sampler.stop()
    assert sampler.stop() is record
    assert len(sampler.read("clocks.csv")) >= lengths[-1]
    assert sorted(sampler.tables()) == ["clocks.csv", "energy.csv", "power.csv"]
    assert len(sampler.read("host.csv")) == 0


def test_a_missing_column_is_absent_from_the_table(nvml_machine, start):
    nvml_machine().device().field(82, code=NOT_SUPPORTED)
    sampler = start()
    time.sleep(0.3)
    record = sampler.stop()
    assert "memory_c" not in sampler.read("power.csv")
    assert "gpu_c" in sampler.read("power.csv")
    assert metric(record, "memory_c").status == "not_supported"


def test_an_energy_counter_that_is_not_supported_leaves_no_table(nvml_machine, start):
    nvml_machine().device().call("nvmlDeviceGetTotalEnergyConsumption", code=NOT_SUPPORTED)
    sampler = start()
    time.sleep(0.3)
    record = sampler.stop()
    assert sorted(sampler.tables()) == ["clocks.csv", "power.csv"]
    assert metric(record, "energy_mj").status == "not_supported"
    assert [one.table for one in record.health] == ["clocks.csv", "power.csv"]


def test_a_gpu_lost_in_the_middle_fails_bursts_and_is_named(nvml_machine, start):
    # Probing and trying out takes 63 calls, a burst three.
    nvml_machine().device().call("nvmlDeviceGetClockInfo", code=LOST, after=123)
    sampler = start()
    wait_until(lambda: len(sampler.read("clocks.csv")) == 20)
    time.sleep(0.3)
    record = sampler.stop()
    kept = health(record, "clocks.csv")
    assert kept.failed > 3
    assert kept.bursts == kept.failed + 20
    assert 0 not in sampler.read("clocks.csv")["graphics_mhz"]
    assert metric(record, "graphics_mhz").status == "ok"
    assert metric(record, "graphics_mhz").reason.endswith("NVML GPU_IS_LOST")
    assert metric(record, "power_instant_mw").reason == ""


def test_a_table_whose_every_burst_failed_is_an_error(nvml_machine, start):
    # One call to probe, 20 to try the period; after that the counter never answers.
    nvml_machine().device().call("nvmlDeviceGetTotalEnergyConsumption", code=LOST, after=21)
    sampler = start()
    time.sleep(0.5)
    record = sampler.stop()
    assert "energy.csv" not in sampler.tables()
    assert metric(record, "energy_mj").status == "error"
    assert metric(record, "energy_mj").reason == "NVML GPU_IS_LOST"
    assert health(record, "energy.csv").failed > 0


def test_a_zero_reported_as_valid_is_no_row(nvml_machine, start):
    nvml_machine().device().field(186, value=0, after=40)
    sampler = start()
    time.sleep(1.5)
    record = sampler.stop()
    assert health(record, "power.csv").failed > 0
    assert (sampler.read("power.csv")["power_instant_mw"] == 79650).all()
    assert "implausible" in metric(record, "power_instant_mw").reason


def test_a_slow_energy_call_overruns_alone_and_clocks_keep_cadence(nvml_machine, start):
    machine = nvml_machine().device()
    machine.call("nvmlDeviceGetTotalEnergyConsumption", sleep_us=450_000, after=21)
    sampler = start()
    time.sleep(1.6)
    record = sampler.stop()
    energy = health(record, "energy.csv")
    assert energy.overruns >= 4
    assert sampler.read("energy.csv")["burst_ns"].min() > 450_000_000
    assert np.diff(sampler.read("energy.csv")["t_ns"]).min() > 500_000_000  # no bunching up
    clocks = health(record, "clocks.csv")
    assert clocks.bursts + clocks.overruns >= 70
    assert clocks.bursts >= 30  # had they waited for energy, there would be four


def test_a_source_that_is_always_slow_gets_a_longer_period(nvml_machine, start):
    nvml_machine().device().call("nvmlDeviceGetCurrentClocksEventReasons", sleep_us=6_000)
    sampler = start()
    time.sleep(0.5)
    record = sampler.stop()
    assert health(record, "clocks.csv").period_ns == 40_000_000
    assert health(record, "power.csv").period_ns == 50_000_000


def test_rows_beyond_the_capacity_are_lost_and_counted(nvml_machine, start):
    nvml_machine().device()
    sampler = start(periods_ms={**PERIODS_MS, "clocks.csv": 5}, capacity_s=0.1)
    wait_until(lambda: len(sampler.read("clocks.csv")) == 100 // 5 + 64)
    time.sleep(0.2)
    kept = health(sampler.stop(), "clocks.csv")
    assert kept.lost > 0
    assert kept.bursts == kept.lost + len(sampler.read("clocks.csv"))


def test_a_call_that_hangs_is_seen_and_ended(nvml_machine, start):
    machine = nvml_machine().device()
    machine.call("nvmlDeviceGetTotalEnergyConsumption", sleep_us=60_000_000, after=21)
    sampler = start()
    wait_until(lambda: sampler.fault() is not None)
    assert "energy.csv gives no sign of life" in sampler.fault()
    began = time.monotonic()
    record = sampler.stop()
    assert time.monotonic() - began < 4
    assert health(record, "energy.csv").failed == 1
    assert health(record, "energy.csv").overruns >= 10
    assert metric(record, "energy_mj").status == "error"
    assert "blocked for" in metric(record, "energy_mj").reason
    assert len(sampler.read("clocks.csv")) > 25


def test_a_sampler_that_is_killed_is_an_error_when_read_and_in_the_record(nvml_machine, start):
    nvml_machine().device()
    sampler = start()
    wait_until(lambda: len(sampler.read("clocks.csv")) > 3)
    os.kill(sampler.pid, signal.SIGKILL)
    wait_until(lambda: sampler.fault() is not None)
    with pytest.raises(MeasurementError, match="sampler ended with signal 9"):
        sampler.read("clocks.csv")
    record = sampler.stop()
    assert len(sampler.read("clocks.csv")) > 3
    assert all(one.failed == 1 for one in record.health)
    assert "signal 9" in metric(record, "graphics_mhz").reason


def test_an_interrupt_does_not_end_the_sampler(nvml_machine, start):
    nvml_machine().device()
    sampler = start()
    os.kill(sampler.pid, signal.SIGINT)
    time.sleep(0.3)
    assert sampler.fault() is None
    assert os.getpgid(sampler.pid) != os.getpgid(0), "Ctrl-C would reach it"


PARENT = """
import sys, time
from pathlib import Path
from kit.system import DeviceAddress
from kit.telemetry.sampler import Sampler
sampler = Sampler.start("host", DeviceAddress(None, None), {"host.csv": 20}, 5,
                        time.monotonic_ns(), Path(sys.argv[1]))
print(sampler.pid, flush=True)
time.sleep(60)
"""


@pytest.mark.parametrize("hold_stdin_open", [False, True])
def test_the_sampler_dies_with_its_parent(tmp_path, hold_stdin_open):
    parent = subprocess.Popen([sys.executable, "-c", PARENT, tmp_path], stdout=subprocess.PIPE)
    with parent.stdout as stdout:
        pid = int(stdout.readline())
    kept = None
    if hold_stdin_open:
        # As a forked helper of the parent would: the pipe's end never comes, only the signal does.
        kept = os.open(f"/proc/{parent.pid}/fd/{_pipe_to(parent.pid, pid)}", os.O_WRONLY)
    assert is_running(pid)
    parent.kill()
    parent.wait()
    wait_until(lambda: not is_running(pid), timeout_s=2.0)
    if kept is not None:
        os.close(kept)


def _pipe_to(parent, child):
    """Number of the parent's descriptor for the pipe that is the child's standard input."""
    wanted = Path(f"/proc/{child}/fd/0").readlink()
    folder = Path(f"/proc/{parent}/fd")
    return next(fd.name for fd in folder.iterdir() if fd.readlink() == wanted)


def test_the_sampler_never_imports_jax(nvml_machine, start):
    nvml_machine().device()
    sampler = start()
    maps = Path(f"/proc/{sampler.pid}/maps").read_text()
    assert "libnvidia-ml.so.1" in maps
    assert "jaxlib" not in maps
    program = "import json, sys, kit.telemetry.sampler.__main__, kit.telemetry.nvml, pynvml\n"
    program += "print(json.dumps([name for name in sys.modules]))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True)
    loaded = {name.split(".")[0] for name in json.loads(done.stdout)}
    assert loaded.isdisjoint({"jax", "jaxlib", "ml_dtypes", "hydra", "jsonschema"})
    assert {"numpy", "pynvml", "kit"} <= loaded


def test_another_module_called_pynvml_is_refused(nvml_machine, start, tmp_path, monkeypatch):
    nvml_machine().device()
    (tmp_path / "wrong").mkdir()
    (tmp_path / "wrong" / "pynvml.py").write_text("def nvmlInit(): pass\n")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "wrong"))
    with pytest.raises(MeasurementError, match=r"pynvml is not NVIDIA's binding") as caught:
        start()
    assert "pip uninstall pynvml" in caught.value.hint


def test_a_module_in_the_working_folder_is_not_imported(nvml_machine, start, tmp_path, monkeypatch):
    nvml_machine().device()
    (tmp_path / "pynvml.py").write_text("raise SystemExit('imported from the working folder')\n")
    monkeypatch.chdir(tmp_path)
    start()


@pytest.mark.parametrize(
    ("device", "code", "error"),
    [
        (DeviceAddress("0000:99:00.0", None), 0, "no GPU with PCI bus id"),
        (H200, 9, "the NVIDIA driver is not loaded"),
        (H200, 18, "differ in version"),
        (H200, 999, "NVML does not start: UNKNOWN"),
    ],
)
def test_what_stops_the_sampler_is_the_parents_error(nvml_machine, start, device, code, error):
    nvml_machine().system(init=code).device()
    with pytest.raises(MeasurementError, match=error):
        start(device=device)


def test_without_nvml_the_error_says_so(start, monkeypatch):
    monkeypatch.delenv("LD_LIBRARY_PATH", raising=False)
    with pytest.raises(MeasurementError, match=r"libnvidia-ml\.so\.1 cannot be loaded"):
        start()


def test_a_sampler_that_crashes_at_the_start_leaves_its_last_words(
    nvml_machine, start, monkeypatch
):
    nvml_machine()
    monkeypatch.setenv("NVML_STUB", "/nonexistent")
    with pytest.raises(MeasurementError, match="exit code 70: nvml_stub: NVML_STUB names no"):
        start()


def test_a_sampler_that_does_not_become_ready_is_given_up(nvml_machine, start):
    nvml_machine().device().call("nvmlDeviceGetPciInfo_v3", sleep_us=30_000_000)
    began = time.monotonic()
    with pytest.raises(MeasurementError, match=r"was not ready within 0\.7 s"):
        start(timeout_s=0.7)
    assert time.monotonic() - began < 3


def test_a_table_without_a_period_is_refused(start):
    with pytest.raises(UsageError, match=r"energy\.csv has no sampling period"):
        start(periods_ms={"clocks.csv": 20, "power.csv": 50})


def test_no_telemetry_starts_no_process(start):
    sampler = start("none")
    assert sampler.pid is None
    assert len(sampler.read("clocks.csv")) == 0
    assert sampler.fault() is None
    record = sampler.stop()
    assert (record.source, record.process, record.health) == ("none", "none", ())
    assert sampler.tables() == {}


def test_the_real_host_is_sampled(start):
    sampler = start("host", DeviceAddress(None, None))
    time.sleep(0.4)
    record = sampler.stop()
    table = sampler.read("host.csv")
    assert len(table) > 5
    assert metric(record, "busy_ms").status == "ok"
    assert (np.diff(table["busy_ms"]) >= 0).all()
    assert all(metric(record, name).status == "ok" for name in table.columns if name[-3:] != "_ns")
