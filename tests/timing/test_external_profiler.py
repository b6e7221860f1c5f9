"""When an attached profiler looks, on stand-ins for the CUDA that this machine lacks."""

import subprocess
import sys
import types
from contextlib import contextmanager

import pytest

from kit import cuda_profiler
from kit.errors import MeasurementError
from kit.timing import cuda_events, external_profiler

LIBRARY = """
#include <stdlib.h>
static int started, stopped;
int cudaProfilerStart(void) { started++; return atoi(getenv("START_CODE")); }
int cudaProfilerStop(void) { stopped++; return 0; }
int calls(void) { return 10 * started + stopped; }
"""


@pytest.fixture
def library(tmp_path, monkeypatch):
    source, built = tmp_path / "cudart.c", tmp_path / "libcudart.so"
    source.write_text(LIBRARY)
    subprocess.run(["cc", "-shared", "-fPIC", "-o", built, source], check=True)
    row = (str(built), "cudaProfilerStart", "cudaProfilerStop")
    monkeypatch.setattr(cuda_profiler, "_LIBRARIES", (("libnone.so.0", "a", "b"), row))
    monkeypatch.setattr(cuda_profiler, "enter_primary_context", lambda: None)
    monkeypatch.setenv("START_CODE", "0")
    import ctypes

    return ctypes.CDLL(str(built))


def test_a_profiler_is_started_and_stopped_around_the_work(library):
    with cuda_profiler.profiled():
        assert library.calls() == 10
    assert library.calls() == 11


def test_a_profiler_is_stopped_after_a_failure(library):
    with pytest.raises(ZeroDivisionError), cuda_profiler.profiled():
        _ = 1 / 0
    assert library.calls() == 11


def test_a_refused_start_says_so(library, monkeypatch):
    monkeypatch.setenv("START_CODE", "36")
    refused = pytest.raises(MeasurementError, match="cudaProfilerStart returned CUDA error 36")
    with refused, cuda_profiler.profiled():
        pass


def test_no_cuda_says_so(library, monkeypatch):
    monkeypatch.setattr(cuda_profiler, "_LIBRARIES", (("libnone.so.0", "a", "b"),))
    with pytest.raises(MeasurementError, match="no CUDA library"), cuda_profiler.profiled():
        pass


class Event:
    """An event that is passed as soon as it is recorded."""

    log = None

    def record(self, stream):
        self.log.append(f"event on {stream}")

    def synchronize(self):
        pass

    def has_happened(self):
        return True

    def elapsed_ns(self, later):
        return 1


class Backend:
    def __init__(self, log):
        self.log = log

    def compute_stream(self):
        return 14

    def drain(self):
        self.log.append("drain")

    def wait_for(self, output):
        self.log.append("wait")


class Output:
    def __dlpack__(self, stream):
        return object()


@pytest.fixture
def log(monkeypatch):
    found = []

    @contextmanager
    def told(what):
        found.append(f"begin {what}")
        yield
        found.append(f"end {what}")

    monkeypatch.setattr(Event, "log", found)
    monkeypatch.setattr(cuda_events, "Event", Event)
    monkeypatch.setattr(cuda_events, "create_stream", lambda: 15)
    monkeypatch.setattr(cuda_events, "enter_primary_context", lambda: None)
    monkeypatch.setattr(external_profiler, "profiled", lambda: told("profiler"))
    nvtx = types.SimpleNamespace(annotate=lambda name, domain: told(f"{domain} {name}"))
    monkeypatch.setitem(sys.modules, "nvtx", nvtx)
    return found


def run(log):
    timer = external_profiler.connect(Backend(log), iter(range(1000)).__next__)
    timer.start()
    timer.boundary(Output())
    timer.open_control(Output())
    timer.boundary(Output())
    timer.close_control(Output(), 8)
    timer.finish(Output())
    return timer


def test_only_the_profiling_windows_are_laid_open(log):
    timer = run(log)
    assert log == [
        "drain",
        "event on 14",
        "begin gemm-kit warm-up",
        "event on 14",
        "wait",
        "end gemm-kit warm-up",
        "begin profiler",
        "begin gemm-kit profiling",
        "event on 15",
        "event on 14",
        "event on 15",
        "end gemm-kit profiling",
        "end profiler",
    ]
    assert (timer.method, timer.drains) == ("external_profiler", 1)
    assert timer.durations_ns() == [1, 1]
    assert [control.name for control in timer.controls()] == ["dlpack_events"]


def test_without_nvtx_the_profiler_is_started_all_the_same(log, monkeypatch):
    monkeypatch.setitem(sys.modules, "nvtx", None)
    run(log)
    assert "begin profiler" in log
    assert not [line for line in log if "gemm-kit" in line]
