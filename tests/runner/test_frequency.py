"""What the operator of a fixed-frequency test reads, and what a whole launcher leaves behind."""

import json
import os
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import processes
from bundles import DECODE, GUIDELINE, fixed_frequency, honest_gpu
from kit.plan import KindOfTest
from kit.records import to_json
from kit.runner.frequency import frequency_advice
from kit.trace import Table
from machines import H200
from plans import small_plan
from sampling import wait_until

CHECKOUT = Path(__file__).resolve().parents[2]
SET = "nvmlDeviceSetGpuLockedClocks 00000000:00:06.0 1500 1500"
RESET = "nvmlDeviceResetGpuLockedClocks 00000000:00:06.0"


def advice(bundle, case, clock_mhz, tables=None):
    plan = replace(bundle.plan, test_type=KindOfTest("fixed_frequency", "zero", clock_mhz, False))
    run = bundle.cases[case].runs[0]
    return frequency_advice(plan, H200, run.document.timing, tables or run.tables)


def test_a_run_that_held_its_clock_says_nothing():
    assert advice(fixed_frequency(), DECODE, 1980) == ""


def test_a_run_that_did_not_names_the_next_lower_step():
    said = advice(honest_gpu(), GUIDELINE, 1980)
    assert said.startswith("the clock did not hold 1980 MHz (1425 to 1485 MHz, ")
    assert "test_type.clock_mhz=1425 would have held" in said


def test_a_clock_that_nobody_locked_is_told_apart():
    assert "lock it at 1500 MHz before the run" in advice(fixed_frequency(), DECODE, 1500)


def test_a_run_without_samples_says_so():
    tables = dict(fixed_frequency().cases[DECODE].runs[0].tables)
    tables["clocks.csv"] = Table({"t_ns": np.zeros(0, np.int64)})
    assert advice(fixed_frequency(), DECODE, 1980, tables) == (
        "no clock sample shows the fixed frequency"
    )


def test_fixed_power_says_nothing():
    run = honest_gpu().cases[GUIDELINE].runs[0]
    assert frequency_advice(honest_gpu().plan, H200, run.document.timing, run.tables) == ""


def gpu_plan(clock_mhz=1500, *, lock=True):
    plan = small_plan()
    return replace(
        plan,
        test_type=KindOfTest("fixed_frequency", "zero", clock_mhz, lock),
        backend=replace(plan.backend, platform="cuda"),
        timing=replace(plan.timing, method="cuda_events"),
        telemetry=replace(plan.telemetry, source="nvml"),
    )


def kit_run(machine, folder, plan):
    path = folder / "plan.json"
    path.write_text(json.dumps(to_json(plan)))
    return subprocess.Popen(
        [sys.executable, "-m", "kit", "run", "--plan", str(path), "--output", str(folder / "out")],
        # Device locks in a folder of this test: other tests know the same stand-in GPU.
        env=os.environ
        | machine.environment
        | {"PYTHONPATH": str(CHECKOUT), "XDG_RUNTIME_DIR": str(folder)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def calls(machine):
    return machine.log.read_text().splitlines() if machine.log.exists() else []


@pytest.fixture
def machine(nvml_machine):
    return nvml_machine().device()


def test_a_worker_that_fails_leaves_the_clock_reset(machine, tmp_path):
    """The stand-in has no CUDA, so every worker here ends without a result."""
    process = kit_run(machine, tmp_path, gpu_plan())
    _, err = process.communicate(timeout=60)
    assert process.returncode == 6, err
    assert "nothing was measured" in err
    assert calls(machine) == [SET, RESET]


def child_of(process, module):
    """Process id of the launcher's child that runs `module`, once it does."""
    found = []

    def there():
        found[:] = [
            pid
            for pid in processes.children(process.pid)
            if module.encode() in Path(f"/proc/{pid}/cmdline").read_bytes()
        ]
        return bool(found)

    wait_until(there, 20)
    return found[0]


def test_a_worker_that_is_killed_leaves_the_clock_reset(machine, tmp_path):
    process = kit_run(machine, tmp_path, gpu_plan())
    os.kill(child_of(process, "kit.runner.worker"), signal.SIGKILL)
    _, err = process.communicate(timeout=60)
    assert "SIGKILL" in err
    assert calls(machine) == [SET, RESET]


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_a_launcher_that_is_ended_leaves_the_clock_reset(machine, tmp_path, number):
    process = kit_run(machine, tmp_path, gpu_plan())
    child_of(process, "kit.runner.worker")
    guard = child_of(process, "kit.runner.clock_guard")
    assert calls(machine) == [SET]
    process.send_signal(number)
    process.communicate(timeout=60)
    wait_until(lambda: calls(machine) == [SET, RESET], 20)
    wait_until(lambda: not processes.lives(guard))


def test_a_refused_lock_is_one_line_and_exit_6(machine, tmp_path):
    machine.call("nvmlDeviceSetGpuLockedClocks", code=4)
    process = kit_run(machine, tmp_path, gpu_plan())
    out, err = process.communicate(timeout=60)
    assert (process.returncode, out, len(err.splitlines())) == (6, "", 1)
    assert "run as root" in err
    assert not list(tmp_path.rglob(".partial-*"))


@pytest.mark.parametrize("lock", [True, False])
def test_a_clock_beyond_the_maximum_is_wrong_use(machine, tmp_path, lock):
    process = kit_run(machine, tmp_path, gpu_plan(2100, lock=lock))
    _, err = process.communicate(timeout=60)
    assert (process.returncode, len(err.splitlines())) == (2, 1)
    assert "ends at 1980" in err
    assert calls(machine) == []


def test_two_gpus_are_locked_and_reset_each(machine, tmp_path):
    machine.device(pci="00000000:00:07.0", uuid="GPU-00000000-0000-0000-0000-000000000002")
    kit_run(machine, tmp_path, gpu_plan()).communicate(timeout=90)
    other = [call.replace("06.0", "07.0") for call in (SET, RESET)]
    assert calls(machine)[:2] == [SET, other[0]]
    assert sorted(calls(machine)[2:]) == [RESET, other[1]]


def test_a_second_gpu_that_refuses_resets_the_first(machine, tmp_path):
    machine.device(pci="00000000:00:07.0", uuid="GPU-00000000-0000-0000-0000-000000000002")
    machine.call("nvmlDeviceSetGpuLockedClocks", device=1, code=4)
    process = kit_run(machine, tmp_path, gpu_plan())
    process.communicate(timeout=60)
    assert process.returncode == 6
    assert calls(machine) == [SET, RESET]


def test_verifying_sets_nothing(machine, tmp_path):
    kit_run(machine, tmp_path, gpu_plan(lock=False)).communicate(timeout=60)
    assert calls(machine) == []
