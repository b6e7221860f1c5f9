import os
import signal
import stat
import subprocess
import sys

import pytest

from kit.errors import MeasurementError
from kit.system import device_lock

GPU = "gpu-0123456789ab"
HOLD = """
import sys, time
from kit.system import device_lock
with device_lock(sys.argv[1]):
    print("held", flush=True)
    time.sleep(60)
"""


@pytest.fixture
def runtime(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    return tmp_path


@pytest.fixture
def other_process(runtime):
    holder = subprocess.Popen([sys.executable, "-c", HOLD, GPU], stdout=subprocess.PIPE)
    with holder.stdout as stdout:
        assert stdout.readline() == b"held\n"
    yield holder
    holder.kill()
    holder.wait()


def test_a_device_is_measured_by_one_process_at_a_time(other_process):
    with pytest.raises(MeasurementError) as caught, device_lock(GPU):
        pass
    expected = f"another measurement (process {other_process.pid}) is running on {GPU}"
    assert caught.value.problem == expected
    with device_lock("cpu"), device_lock("gpu-00000000000f"):
        pass  # other devices are free


def test_the_lock_is_free_again_however_its_holder_ended(other_process):
    other_process.send_signal(signal.SIGKILL)
    other_process.wait()
    with device_lock(GPU):
        pass


def test_a_lock_cannot_be_held_twice_in_one_process(runtime):
    held = pytest.raises(MeasurementError, match=f"process {os.getpid()}")
    with device_lock(GPU), held, device_lock(GPU):
        pass
    with device_lock(GPU):
        pass


def test_locks_lie_in_a_folder_of_the_user_alone(runtime):
    with device_lock(GPU):
        (folder,) = runtime.iterdir()
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
        assert [path.name for path in folder.iterdir()] == [f"{GPU}.lock"]


def test_a_folder_that_others_can_write_is_not_trusted(runtime):
    folder = runtime / f"gemm-kit-{os.getuid()}"
    folder.mkdir()
    folder.chmod(0o777)
    with pytest.raises(MeasurementError, match="not this user's own"), device_lock(GPU):
        pass


def test_links_are_not_followed(runtime, tmp_path):
    target = tmp_path / "target"
    (tmp_path / "real").mkdir(mode=0o700)
    folder = runtime / f"gemm-kit-{os.getuid()}"
    folder.symlink_to(tmp_path / "real")
    with pytest.raises(MeasurementError, match="not this user's own"), device_lock(GPU):
        pass
    folder.unlink()
    folder.mkdir(mode=0o700)
    (folder / f"{GPU}.lock").symlink_to(target)
    with pytest.raises(MeasurementError, match="cannot open the lock"), device_lock(GPU):
        pass
    assert not target.exists()


def test_a_runtime_folder_that_is_not_there_is_named_with_its_remedy(monkeypatch):
    monkeypatch.setenv("XDG_RUNTIME_DIR", "/nonexistent/place")
    with pytest.raises(MeasurementError, match="cannot make a folder") as caught, device_lock(GPU):
        pass
    assert "XDG_RUNTIME_DIR" in caught.value.hint


@pytest.mark.parametrize("name", ["../x", "gpu-", "gpu-0123456789AB", "cpu0", "cpu\n", ""])
def test_only_a_device_has_a_lock(runtime, name):
    with pytest.raises(ValueError, match="is not a device id"), device_lock(name):
        pass
