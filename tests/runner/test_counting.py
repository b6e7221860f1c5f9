"""From a measured run to its counters, under a stand-in for Nsight Compute."""

import json
import os
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

import processes
from fakes import FakeBackend
from kit.backends import Build
from kit.bundle import layout
from kit.bundle.documents import format_document, parse_document
from kit.counters import BYTES, DRAM_READ, L2_HIT_RATE, MILLIPERCENT, SM_ACTIVE, DeviceCounters
from kit.evidence import Run
from kit.plan import Counters
from kit.records import from_json
from kit.runner import counted, counting, launcher
from kit.runner.counted import CountJob, Series
from kit.runner.job import Job
from kit.runner.launcher import measure
from kit.runner.process import run_job
from plans import small_plan

FAKE = Path(__file__).resolve().parents[1] / "fake_ncu"


def asking(tool, **changes):
    return replace(small_plan(), counters=Counters(tool), **changes)


@pytest.fixture(scope="module")
def measured(tmp_path_factory):
    """The job of a measured run that asks for ncu."""
    folder = tmp_path_factory.mktemp("measured")
    plan = replace(small_plan(m=1024, n=1024, k=1024, profiling_min_launches=4), timeout_s=60.0)
    plan = replace(plan, counters=Counters("ncu"))
    (folder / "case").mkdir()
    job = Job(
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
    report = run_job(job, lambda _: None)
    assert report.status == "measured", report.reason
    return job


@pytest.fixture
def fake(monkeypatch):
    """The stand-in on PATH; call it with how it shall go."""

    def use(mode):
        path = os.pathsep.join((str(FAKE), str(Path(sys.executable).parent), "/usr/bin", "/bin"))
        monkeypatch.setenv("PATH", path)
        monkeypatch.setenv("FAKE_NCU", mode)

    return use


def rerun(job, monkeypatch):
    sets = json.loads((Path(job.run_folder) / "run.json").read_text())["rotation"]["sets"]
    monkeypatch.setenv("FAKE_NCU_LAUNCHES", str(min(2 * sets, 16)))
    phases = []
    found = counting.rerun(job, phases.append)
    data = format_document(found, "counters")
    assert parse_document(DeviceCounters, data, "counters") == found
    return found, phases, sets


def few(monkeypatch):
    """Every rerun starts JAX anew: two counters and the multicast one show what all would."""
    monkeypatch.setattr(counting, "NCU_COUNTERS", (DRAM_READ, L2_HIT_RATE))


def test_every_counter_is_counted_in_a_run_of_its_own(measured, fake, monkeypatch):
    fake("ok")
    few(monkeypatch)
    found, phases, sets = rerun(measured, monkeypatch)
    assert (found.status, found.reason, found.version) == ("ok", "", "2025.3.1.0")
    assert (found.mode, found.rotation_sets) == ("single", sets)
    assert [entry.name for entry in found.counters] == [
        *counting.NCU_COUNTERS, "l2__multicast_sectors.sum",
    ]  # fmt: skip
    launches = min(2 * sets, 16)
    for entry in found.counters:
        assert (entry.status, entry.passes) == ("ok", 1), entry
        assert entry.sets == tuple(i % sets for i in range(launches))
    read = found.counter(DRAM_READ)
    assert read.values == (16_802_304,) * launches
    assert read.unit == BYTES
    units = {entry.unit for entry in found.counters}
    assert units == {BYTES, MILLIPERCENT, "sector"}
    assert phases == [f"counters: {entry.name}" for entry in found.counters]


@pytest.mark.parametrize(
    ("mode", "status", "word"),
    [
        ("permission", "no_permission", "ERR_NVGPUCTRPERM"),
        ("silent", "failed", "no kernel"),
        ("nokernel", "failed", "no kernel"),
    ],
)
def test_without_the_proof_the_others_are_not_tried(
    measured, fake, monkeypatch, mode, status, word
):
    fake(mode)
    found, phases, _ = rerun(measured, monkeypatch)
    assert found.status == status
    assert word in found.reason
    assert [entry.status for entry in found.counters] == [status]
    assert len(phases) == 1


def test_a_counter_that_the_gpu_lacks_is_named(measured, fake, monkeypatch):
    fake("missing")
    few(monkeypatch)
    found, _, _ = rerun(measured, monkeypatch)
    assert found.status == "ok"
    first, *others = found.counters
    assert first.status == "ok"
    assert {entry.status for entry in others} == {"not_available"}
    assert all(entry.reason == "this GPU has no such counter" for entry in others)


def test_replays_are_recorded(measured, fake, monkeypatch):
    fake("replay")
    few(monkeypatch)
    found, _, _ = rerun(measured, monkeypatch)
    assert found.counter(DRAM_READ).passes == 9


def test_no_tool_says_where_it_was_looked_for(measured, monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr("kit.runner.ncu._PLACES", (f"{tmp_path}/*/ncu",))
    found = counting.rerun(measured, lambda _: None)
    assert (found.status, found.counters) == ("no_tool", ())
    assert "/opt/nvidia" in found.reason


def test_a_counted_process_that_fails_says_why(measured, fake, monkeypatch):
    fake("nokernel")
    (case,) = measured.plan.cases
    plan = replace(measured.plan, cases=(replace(case, number_format="tf32"),))
    found, _, _ = rerun(replace(measured, plan=plan), monkeypatch)
    assert (found.status, found.reason) == ("failed", "tf32 is unsupported on a CPU")


def test_counting_ends_with_its_timeout_and_leaves_no_process(measured, fake, monkeypatch):
    fake("ok")
    plan = replace(measured.plan, timeout_s=0.3)
    found, _, _ = rerun(replace(measured, plan=plan), monkeypatch)
    assert found.status == "failed"
    assert "timeout_s=0.3" in found.reason
    assert not processes.children()


def test_jaxs_sampler_without_a_gpu_says_so(measured):
    plan = replace(measured.plan, counters=Counters("xla"))
    found = counting.rerun(replace(measured, plan=plan), lambda _: None)
    assert found.status == "failed"
    assert [entry.name for entry in found.counters] == [*counting.XLA_COUNTERS]
    assert {entry.status for entry in found.counters} == {"not_available"}
    assert found.mode == "single"


def test_samples_of_bytes_add_up_and_idle_ones_do_not_count_for_a_mean():
    read = counting.sampled(Series(DRAM_READ, (14_336.0, 1e6, 2e6, 0.0), 3, ""))
    assert (read.values, read.launches_per_value, read.samples) == ((3_014_336,), 3, 4)
    active = counting.sampled(Series(SM_ACTIVE, (0.0, 3.2, 98.0, 99.0, 0.1), 3, ""))
    assert active.values == (98_500,)


@pytest.mark.parametrize(("tool", "status"), [("none", "not_asked"), ("ncu", "not_applicable")])
def test_a_cpu_bundle_says_why_nothing_was_counted(tmp_path, tool, status, monkeypatch):
    # `gemm-kit run` refuses counters on a CPU; a bundle of other making may still ask for them.
    monkeypatch.setattr(launcher, "preflight", lambda _plan: None)
    outcome = measure(asking(tool), tmp_path, "one")
    assert outcome.exit_code == 0
    path = outcome.bundle / layout.counters_file(asking(tool).cases[0].id, "cpu")
    found = parse_document(DeviceCounters, path.read_bytes(), "counters")
    assert (found.tool, found.status) == (tool, status)
    assert found.reason


def test_what_is_counted_is_what_the_run_launched(measured, tmp_path):
    """The rerun is told of the run's own kernels and tuning, and compiles from these."""
    path = Path(measured.run_folder) / "run.json"
    run = parse_document(Run, path.read_bytes(), "run.json")
    executable = replace(
        run.executable, implementation="triton", autotune="0123456789abcdef.autotune.txt"
    )
    again = counting._Rerun(measured, replace(run, executable=executable), tmp_path, lambda _: None)
    printed, _ = again._run("single", (), lambda child: ["cat", child[-1]])
    asked = from_json(CountJob, json.loads(printed))
    assert asked.implementation == "triton"
    assert asked.autotune == f"{measured.case_folder}/0123456789abcdef.autotune.txt"
    gemms = FakeBackend()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(counted, "backend", lambda *_: gemms)
        assert counted._count(asked).problem == ""
    build = Build("triton", load_from=asked.autotune)
    assert gemms.events[0] == ("compile", "single", run.rotation.sets, build)
