"""Worker processes: their environment, and every way in which one can end."""

import os
import signal
import threading
import time
from dataclasses import replace

import processes
from kit.runner.job import Job
from kit.runner.process import run_job, worker_environment
from plans import small_plan


def job(tmp_path, plan):
    case = plan.cases[0].id
    (tmp_path / "case").mkdir()
    return Job(
        plan=plan,
        case=case,
        device="cpu",
        pci_bus_id=None,
        uuid=None,
        number=1,
        base_ns=time.monotonic_ns(),
        case_folder=str(tmp_path / "case"),
        run_folder=str(tmp_path / "run"),
        tuning=None,
    )


def test_worker_sees_none_of_the_callers_jax_settings(tmp_path):
    made = replace(job(tmp_path, small_plan()), uuid="GPU-1234")
    caller = {"JAX_DISABLE_JIT": "1", "XLA_PYTHON_CLIENT_MEM_FRACTION": ".1", "PATH": "/bin"}
    environment = worker_environment(made, caller | {"CUDA_VISIBLE_DEVICES": "0,1"})
    assert environment["CUDA_VISIBLE_DEVICES"] == "GPU-1234"
    assert environment["PATH"] == "/bin"
    assert environment["PJRT_GPU_ENABLE_ASYNC_DISPATCH"] == "0"
    assert environment["JAX_ENABLE_X64"] == "0"
    assert not {"JAX_DISABLE_JIT", "XLA_PYTHON_CLIENT_MEM_FRACTION"} & set(environment)


def test_fp64_turns_on_x64(tmp_path):
    made = job(tmp_path, small_plan(number_format="fp64"))
    assert worker_environment(made, {})["JAX_ENABLE_X64"] == "1"


def test_a_run_is_measured(tmp_path):
    phases = []
    report = run_job(job(tmp_path, small_plan()), phases.append)
    assert (report.status, report.reason) == ("measured", "")
    assert report.environment.packages["jax"]
    assert phases[0] == "start"
    assert phases[-1] == "evidence"
    names = {path.name for path in (tmp_path / "run").iterdir()}
    assert {"run.json", "windows.csv", "buffers.csv", "outputs.csv", "host.csv"} <= names


def test_too_large_a_case_says_bytes_and_sets(tmp_path):
    report = run_job(job(tmp_path, small_plan(m=2**20, n=2**20, k=2**10)), print)
    assert report.status == "out_of_memory"
    assert "2 rotation sets need" in report.reason
    assert "are free" in report.reason


def test_a_format_without_cpu_support_is_unsupported(tmp_path):
    report = run_job(job(tmp_path, small_plan(number_format="tf32")), print)
    assert report.status == "unsupported"
    assert "tf32" in report.reason


def test_a_run_beyond_its_timeout_is_ended(tmp_path):
    plan = small_plan(warm_up_min_s=60.0)
    report = run_job(job(tmp_path, replace(plan, timeout_s=4.0)), print)
    assert report.status == "timed_out"
    assert "timeout_s=4" in report.reason
    assert not processes.children()


def test_a_killed_worker_is_a_crash_and_takes_its_sampler_along(tmp_path):
    samplers = []

    def kill_soon(phase):
        if phase == "warm-up":
            worker = processes.children()[0]
            samplers.extend(processes.children(worker))
            threading.Timer(0.2, os.kill, (worker, signal.SIGKILL)).start()

    report = run_job(job(tmp_path, small_plan(warm_up_min_s=30.0)), kill_soon)
    assert report.status == "crashed"
    assert "SIGKILL" in report.reason
    deadline = time.monotonic() + 3
    while any(map(processes.lives, samplers)) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert samplers
    assert not any(map(processes.lives, samplers))
