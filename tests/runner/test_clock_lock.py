"""The clock is let go on every way out. All of it on a stand-in for NVML that logs each setter."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import processes
from sampling import wait_until

SET = "nvmlDeviceSetGpuLockedClocks 00000000:00:06.0 1500 1500"
RESET = "nvmlDeviceResetGpuLockedClocks 00000000:00:06.0"
NO_PERMISSION, NOT_SUPPORTED, TIMEOUT = 4, 3, 10
CHECKOUT = Path(__file__).resolve().parents[2]

HOLD = """
import json, sys, time
from kit.errors import KitError
from kit.records import to_json
from kit.runner.clock_lock import locked_clock
from kit.system import DeviceAddress

address = DeviceAddress("0000:00:06.0", "GPU-00000000-0000-0000-0000-000000000001")

def held(mhz=1500):
    return locked_clock("gpu-000000000000", address, mhz, time.monotonic_ns)

try:
    with held({mhz}) as lock:
        print("locked", lock.guard.pid, flush=True)
        {body}
    print(json.dumps(to_json(lock.release())), flush=True)
except KitError as error:
    print(type(error).__name__, error, flush=True)
"""
WAIT = "time.sleep(60)"


def launcher(machine, body, mhz=1500):
    """A process that locks the clock, prints `locked PID`, and runs `body` under the lock."""
    return subprocess.Popen(
        [sys.executable, "-c", HOLD.format(body=body, mhz=mhz)],
        env=os.environ | machine.environment | {"PYTHONPATH": str(CHECKOUT)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def calls(machine):
    return machine.log.read_text().splitlines() if machine.log.exists() else []


def guard_of(process):
    word, pid = process.stdout.readline().split()
    assert word == "locked"
    return int(pid)


def ended(process, machine, guard):
    """Wait until launcher and guard are gone; what the launcher printed last, and on stderr."""
    out, err = process.communicate(timeout=30)
    wait_until(lambda: not processes.lives(guard), 15)
    return out, err


@pytest.fixture
def machine(nvml_machine):
    return nvml_machine().device()


def test_success_sets_once_resets_once_and_records_both(machine):
    process = launcher(machine, "pass")
    guard = guard_of(process)
    out, err = ended(process, machine, guard)
    assert err == ""
    assert calls(machine) == [SET, RESET]
    for part in (
        '"requested_mhz": 1500', '"set_status": "ok"', '"reset_status": "ok"',
        '"reset_by": "guard"',
    ):  # fmt: skip
        assert part in out


def test_an_error_under_the_lock_resets(machine):
    process = launcher(machine, "raise ValueError('boom')")
    _, err = ended(process, machine, guard_of(process))
    assert "boom" in err
    assert calls(machine) == [SET, RESET]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGKILL])
def test_every_signal_to_the_launcher_resets(machine, number):
    process = launcher(machine, WAIT)
    guard = guard_of(process)
    process.send_signal(number)
    ended(process, machine, guard)
    assert calls(machine) == [SET, RESET]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_the_guard_outlives_polite_signals(machine, number):
    process = launcher(machine, WAIT)
    guard = guard_of(process)
    os.kill(guard, number)
    time.sleep(0.3)
    assert processes.lives(guard)
    assert calls(machine) == [SET]
    process.kill()
    ended(process, machine, guard)
    assert calls(machine) == [SET, RESET]


def test_the_guard_is_out_of_reach_of_the_terminals_group(machine):
    process = launcher(machine, WAIT)
    guard = guard_of(process)
    assert os.getsid(guard) == guard != os.getsid(process.pid)
    process.kill()
    ended(process, machine, guard)


def test_a_killed_guard_leaves_the_reset_to_the_launcher(machine):
    body = "import os, signal; os.kill(lock.guard.pid, signal.SIGKILL)"
    process = launcher(machine, body)
    out, _ = ended(process, machine, guard_of(process))
    assert calls(machine) == [SET, RESET]
    assert '"reset_by": "launcher"' in out
    assert '"reset_status": "ok"' in out


def test_a_reset_that_fails_is_tried_again(machine):
    machine.call("nvmlDeviceResetGpuLockedClocks", until=2, code=TIMEOUT)
    process = launcher(machine, "pass")
    out, _ = ended(process, machine, guard_of(process))
    assert calls(machine) == [SET, RESET]
    assert '"reset_status": "ok"' in out


def test_a_reset_that_keeps_failing_is_recorded_and_said_with_its_remedy(machine):
    machine.call("nvmlDeviceResetGpuLockedClocks", code=TIMEOUT)
    process = launcher(machine, "pass")
    out, err = ended(process, machine, guard_of(process))
    assert '"reset_status": "error"' in out
    assert "NVML TIMEOUT" in out
    assert len(err.splitlines()) == 1
    assert "stays locked" in err
    assert "nvidia-smi -i 0000:00:06.0 -rgc" in err


def test_without_permission_nothing_is_locked_and_the_remedy_is_said(machine):
    machine.call("nvmlDeviceSetGpuLockedClocks", code=NO_PERMISSION)
    process = launcher(machine, WAIT)
    out, err = process.communicate(timeout=30)
    assert out.startswith("MeasurementError cannot lock the graphics clock of gpu-000000000000")
    assert "run as root" in out
    assert "test_type.lock=false" in out
    assert (err, calls(machine)) == ("", [])


def test_an_unclear_answer_is_reset_all_the_same(machine):
    machine.call("nvmlDeviceSetGpuLockedClocks", code=TIMEOUT)
    process = launcher(machine, WAIT)
    out, _ = process.communicate(timeout=30)
    assert "NVML TIMEOUT" in out
    assert calls(machine) == [RESET]


def test_a_device_that_cannot_lock_says_so(machine):
    machine.call("nvmlDeviceSetGpuLockedClocks", code=NOT_SUPPORTED)
    out, _ = launcher(machine, WAIT).communicate(timeout=30)
    assert "NVML NOT_SUPPORTED" in out
    assert calls(machine) == []


@pytest.mark.parametrize(
    ("mhz", "said"),
    [(2100, "ends at 1980"), (1490, "the nearest ones are 1485 and 1500 MHz"),
     (100, "the nearest ones are 345 and 345 MHz")],
)  # fmt: skip
def test_a_clock_that_the_gpu_lacks_is_refused_before_anything_is_set(machine, mhz, said):
    out, _ = launcher(machine, WAIT, mhz).communicate(timeout=30)
    assert out.startswith(f"UsageError test_type.clock_mhz is {mhz}")
    assert said in out
    assert calls(machine) == []


def test_a_driver_without_a_list_of_clocks_locks_by_the_maximum_alone(machine):
    machine.call("nvmlDeviceGetSupportedMemoryClocks", code=NOT_SUPPORTED)
    process = launcher(machine, "pass", 1490)
    ended(process, machine, guard_of(process))
    assert calls(machine) == [SET.replace("1500", "1490"), RESET]


def test_no_memory_clock_is_ever_set():
    """There is one call that sets a clock in the whole kit, and one that resets it."""
    found = {
        word
        for path in (CHECKOUT / "kit").rglob("*.py")
        for word in path.read_text().replace("(", " ").replace(",", " ").split()
        if word.startswith(("nvml.nvmlDeviceSet", "nvml.nvmlDeviceReset"))
    }
    assert found == {"nvml.nvmlDeviceSetGpuLockedClocks", "nvml.nvmlDeviceResetGpuLockedClocks"}
