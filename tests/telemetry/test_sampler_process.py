import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from kit.errors import MeasurementError
from kit.system import DeviceAddress
from processes import many_descriptors
from sampling import metric, wait_until

H200 = DeviceAddress("0000:00:06.0", "GPU-00000000-0000-0000-0000-000000000001")


def is_running(pid):
    """Whether a thread of a process lives; a dead process that nobody waited for has none.

    The first thread may be dead before the others, and only then can the process be waited for.
    """
    try:
        states = [
            path.read_text().rsplit(") ", 1)[1][0]
            for path in Path(f"/proc/{pid}/task").glob("*/stat")
        ]
    except (FileNotFoundError, ProcessLookupError):  # a thread ended while it was looked at
        return Path(f"/proc/{pid}").exists()
    return any(state not in "ZX" for state in states)


def test_a_sampler_that_is_killed_is_an_error_when_read_and_in_the_record(nvml_machine, start):
    nvml_machine().device()
    sampler = start()
    wait_until(lambda: len(sampler.read("clocks.csv")) > 3)
    os.kill(sampler.pid, signal.SIGKILL)
    wait_until(lambda: not is_running(sampler.pid))
    with pytest.raises(MeasurementError, match="sampler ended with signal 9"):
        sampler.read("clocks.csv")
    record = sampler.stop()
    assert len(sampler.read("clocks.csv")) > 3
    assert all(one.failed == 1 for one in record.health)
    assert "signal 9" in metric(record, "graphics_mhz").reason


def test_a_sampler_is_heard_beyond_a_thousand_descriptors(start):
    with many_descriptors():
        assert is_running(start("host", DeviceAddress(None, None)).pid)


def test_an_interrupt_does_not_end_the_sampler(nvml_machine, start):
    nvml_machine().device()
    sampler = start()
    os.kill(sampler.pid, signal.SIGINT)
    time.sleep(0.3)
    assert is_running(sampler.pid)
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
