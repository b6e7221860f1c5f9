"""Tracing a finished run: over a fake device, in real processes, and every way to have no trace."""

import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from bundles import DECODE, honest_gpu
from fakes import FakeBackend
from kit.bundle.writer import write_document
from kit.errors import MeasurementError
from kit.plan import EvidencePlan
from kit.ruleset import CURRENT, ruleset
from kit.runner import kernel_trace
from kit.runner.job import Job
from kit.runner.kernel_trace import TRACER, trace_kernels, written_trace
from kit.runner.process import run_job
from kit.runner.tracer import calls_to_trace, compile_again, mean_mhz, record_calls
from kit.trace import Table
from plans import small_plan


def job(folder, plan):
    for name in ("case", "run"):
        (folder / name).mkdir(exist_ok=True)
    return Job(
        plan=plan,
        case=plan.cases[0].id,
        device="cpu",
        pci_bus_id=None,
        uuid=None,
        number=1,
        base_ns=time.monotonic_ns(),
        case_folder=str(folder / "case"),
        run_folder=str(folder / "run"),
        tuning=None,
    )


def on_a_gpu(plan):
    return replace(plan, backend=replace(plan.backend, platform="cuda"))


def traced(gemm_s=0.0005, **changes):
    """(recording, backend, reports) of the honest decode run on a fake device."""
    bundle = honest_gpu()
    run = bundle.cases[DECODE].runs[0].document
    backend = FakeBackend(gemm_s)
    alias = run.executable.alias_bytes
    compile_as_before = backend.compile

    def compile_as_changed(mode, sets, build):
        executable, hlo = compile_as_before(mode, sets, build)
        made = replace(executable, options=run.executable.options, alias_bytes=alias)
        return replace(made, **changes), hlo

    backend.compile = compile_as_changed
    phases = replace(bundle.plan.phases, warm_up_min_s=0.05)
    reports = []
    plan = replace(bundle.plan, phases=phases)
    compile_again(backend, run, Path("case"))
    found = record_calls(backend, plan, run, time.monotonic_ns, reports.append)
    return found, backend, reports


def test_the_same_program_and_buffers_warmed_up_and_recorded_twice():
    found, backend, reports = traced()
    run = honest_gpu().cases[DECODE].runs[0].document
    assert [event[0] for event in backend.events] == ["compile", "allocate", "record", "record"]
    assert backend.events[0][:3] == ("compile", "unrolled", run.rotation.sets)
    assert backend.events[0][3].load_from == f"case/{run.executable.autotune}"
    assert backend.events[1] == ("allocate", run.rotation.sets, "uniform", run.fill_seed)
    assert reports == ["trace: warm-up", "trace: record"]
    assert len(found.table) == found.calls * run.executable.gemms_per_call
    # 1.5 s of calls that take 1 ms each, but for what the host adds.
    assert 700 <= found.calls <= 1500
    # What was kept ran last, after as long a lead under the profiler.
    assert found.end_ns - found.start_ns == 500_000 * len(found.table)


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"gemms_per_call": 4}, "gemms_per_call 4, the run had 2"),
        ({"options": {}}, "compiled options"),
        ({"alias_bytes": 0}, "compiled alias_bytes 0"),
    ],
)
def test_another_executable_is_not_traced(changes, reason):
    with pytest.raises(MeasurementError, match=reason):
        traced(**changes)


@pytest.mark.parametrize(
    ("gemms_per_call", "sets", "events", "call_ns", "calls"),
    [
        (1, 2, 2, 400_000, 3_750),  # a second and a half
        (1, 2, 2, 200_000, 4_000),  # 4096 cubed: events bound it
        (1, 2, 2, 3_190_800, 470),  # the guideline's size
        (1, 2, 2, 60_000_000, 100),  # slow: the least number of GEMMs
        (480, 30, 497, 2_800_000, 16),  # 1024 cubed in a device loop: events bound it
        (30_720, 1_920, 30_737, 84_000_000, 1),  # 128 cubed: one call is more than enough
        (64, 480, 64, 300_000, 125),
        (2, 2_000, 2, 6_000_000, 2_000),  # slow and many sets: two rotations
        (1, 2, 0, 0.0, 8_000),
    ],
)
def test_how_many_calls(gemms_per_call, sets, events, call_ns, calls):
    assert calls_to_trace(gemms_per_call, sets, events, call_ns, ruleset(CURRENT)) == calls
    assert calls * gemms_per_call >= max(100, 2 * sets)


def test_mean_clock_of_the_traced_stretch():
    clocks = Table({"t_ns": np.arange(0, 100, 10), "graphics_mhz": np.arange(1900, 2000, 10)})
    assert mean_mhz(clocks, 20, 41) == 1930
    assert mean_mhz(clocks, 41, 42) is None
    assert mean_mhz(Table({"t_ns": np.arange(3)}), 0, 2) is None


def test_a_real_tracer_on_a_cpu_finds_no_gpu_and_spoils_nothing(tmp_path):
    made = job(tmp_path, small_plan())
    (tmp_path / "run").rmdir()
    assert run_job(made, print).status == "measured"
    before = {path.name: path.read_bytes() for path in (tmp_path / "run").iterdir()}
    phases = []
    report = run_job(made, phases.append, TRACER)
    assert (report.status, report.environment) == ("device_error", None)
    assert report.reason == "the profile shows 0 GPUs instead of one"
    assert phases == ["trace: start", "trace: compile", "trace: warm-up"]
    assert {path.name: path.read_bytes() for path in (tmp_path / "run").iterdir()} == before


def test_a_cpu_run_is_not_traced_and_says_so(tmp_path):
    assert trace_kernels(job(tmp_path, small_plan()), print)
    found = written_trace(tmp_path / "run")
    assert (found.status, found.reason) == ("not_applicable", "a CPU host has no GPU kernels")


def test_a_trace_that_nobody_asked_for(tmp_path):
    plan = replace(on_a_gpu(small_plan()), evidence=EvidencePlan(kernel_trace=False))
    assert trace_kernels(job(tmp_path, plan), print)
    found = written_trace(tmp_path / "run")
    assert found.status == "not_asked"
    assert "evidence.kernel_trace" in found.reason


def test_a_tracer_that_cannot_start_is_a_reason(tmp_path):
    made = job(tmp_path, on_a_gpu(small_plan()))
    run = honest_gpu().cases[DECODE].runs[0].document
    write_document(tmp_path / "run" / "run.json", run)
    assert trace_kernels(made, print)
    found = written_trace(tmp_path / "run")
    assert found.status == "failed"
    assert found.reason.partition(": ")[0] in ("crashed", "device_error")
    assert not (tmp_path / "run" / "kernels.csv").exists()


def test_a_killed_tracer_costs_its_own_files_only(tmp_path, monkeypatch):
    monkeypatch.setattr(kernel_trace, "TRACER", "killed_tracer")
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parent))
    made = job(tmp_path, on_a_gpu(small_plan()))
    (tmp_path / "run" / "windows.csv").write_text("kept")
    assert trace_kernels(made, print)
    found = written_trace(tmp_path / "run")
    assert found.status == "failed"
    assert found.reason == "crashed: the worker was killed by SIGKILL"
    assert {path.name for path in (tmp_path / "run").iterdir()} == {"trace.json", "windows.csv"}


def test_an_operator_may_stop_a_trace_and_keep_the_run(tmp_path, monkeypatch):
    def interrupted(*_arguments):
        raise KeyboardInterrupt

    monkeypatch.setattr(kernel_trace, "run_job", interrupted)
    assert not trace_kernels(job(tmp_path, on_a_gpu(small_plan())), print)
    assert written_trace(tmp_path / "run").reason == "interrupted: stopped by the operator"
