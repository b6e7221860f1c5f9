"""From a plan to a sealed bundle, and what stays when something goes wrong on the way."""

import errno
import json
import os
import re
import signal
import subprocess
import sys
from dataclasses import replace

import pytest

from kit.checker.judge import judge
from kit.errors import MeasurementError, UnwritableError, UsageError
from kit.records import to_json
from kit.runner.failure import failure
from kit.runner.job import ended
from kit.runner.launcher import measure
from kit.runner.tuning import Tunings
from plans import plan_of, small_plan

SMALL = {"name": "small", "m": 128, "n": 128, "k": 128, "batch": 1, "layout": "nn"}
HUGE = {"name": "huge", "m": 2**20, "n": 2**20, "k": 2**10, "batch": 1, "layout": "nn"}


def kit(*arguments, cwd=None, **environment):
    return subprocess.Popen(
        [sys.executable, "-m", "kit", *map(str, arguments)],
        cwd=cwd,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)} | environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def frozen(path, plan):
    path.write_text(json.dumps(to_json(plan)))
    return path


def test_a_failed_case_does_not_stop_the_others(tmp_path):
    plan = plan_of(
        [
            {"workload": HUGE, "number_format": "fp32"},
            {"workload": SMALL, "number_format": "fp32"},
        ]
    )
    outcome = measure(plan, tmp_path, "both")
    assert outcome.bundle == tmp_path / "open/acme/box/both"
    huge, small = (
        json.loads((outcome.bundle / f"data/cases/{case.id}/case.json").read_text())
        for case in plan.cases
    )
    assert huge["runs"][0]["status"] == "out_of_memory"
    assert "bytes" in huge["runs"][0]["reason"]
    assert small["runs"][0]["status"] == "measured"
    assert judge(outcome.bundle).exit_code == outcome.exit_code == 0


def test_a_frozen_plan_gives_the_same_content(tmp_path):
    plan = small_plan()
    path = frozen(tmp_path / "plan.json", plan)
    process = kit("run", "--plan", path, "--output", tmp_path / "out", "--name", "one")
    out, err = process.communicate(timeout=100)
    assert process.returncode == 0, err
    bundle = tmp_path / "out/open/acme/box/one"
    assert out.splitlines()[-1] == f"bundle: {bundle}"
    assert json.loads((bundle / "data/plan.json").read_text()) == to_json(plan)
    again = measure(plan, tmp_path, "two").bundle

    def unmeasured(root):
        runs = sorted(root.glob("data/cases/*/runs/*/outputs.csv"))
        return [path.read_bytes() for path in (root / "data/plan.json", *runs)]

    assert unmeasured(bundle) == unmeasured(again)


def test_nothing_measured_is_no_bundle(tmp_path):
    plan = plan_of([{"workload": HUGE, "number_format": "fp32"}])
    with pytest.raises(MeasurementError, match=r"out_of_memory.*bytes"):
        measure(plan, tmp_path, "none")
    assert not list(tmp_path.iterdir())


def test_a_gpu_asked_for_but_absent_is_one_line_and_exit_6(tmp_path):
    plan = small_plan()
    plan = replace(
        plan,
        backend=replace(plan.backend, platform="cuda"),
        timing=replace(plan.timing, method="cuda_events"),
        telemetry=replace(plan.telemetry, source="nvml"),
    )
    process = kit("run", "--plan", frozen(tmp_path / "p.json", plan), cwd=tmp_path)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 6
    assert out == ""
    assert len(err.splitlines()) == 1
    assert "NVML" in err
    assert not list(tmp_path.rglob(".partial-*"))


def test_an_existing_bundle_is_not_overwritten(tmp_path):
    (tmp_path / "open/acme/box/there").mkdir(parents=True)
    with pytest.raises(UsageError, match="exists"):
        measure(small_plan(), tmp_path, "there")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt_keeps_finished_cases_and_the_bundle_is_not_compliant(tmp_path, number):
    plan = plan_of(
        [
            {"workload": SMALL, "number_format": "fp32"},
            {"workload": SMALL | {"name": "long", "k": 256}, "number_format": "fp32"},
        ]
    )
    path = frozen(tmp_path / "plan.json", plan)
    (tmp_path / "scratch").mkdir()
    process = kit(
        *("run", "--plan", path, "--output", tmp_path / "out", "--name", "cut"),
        TMPDIR=str(tmp_path / "scratch"), XDG_RUNTIME_DIR=str(tmp_path),
    )  # fmt: skip
    for line in process.stderr:
        if "long" in line and "idle" in line:
            process.send_signal(number)
            break
    out, _ = process.communicate(timeout=60)
    bundle = tmp_path / "out/open/acme/box/cut"
    assert process.returncode == 1
    assert out.splitlines()[-1] == f"bundle: {bundle}"
    verdict = judge(bundle)
    assert verdict.exit_code == 1
    outcome = json.loads((bundle / f"data/cases/{plan.cases[1].id}/case.json").read_text())
    assert outcome["runs"][0]["status"] == "interrupted"
    assert not list((tmp_path / "scratch").iterdir())


def test_a_killed_kit_leaves_only_an_unsealed_bundle(tmp_path):
    path = frozen(tmp_path / "plan.json", small_plan(warm_up_min_s=30.0))
    process = kit("run", "--plan", path, "--output", tmp_path / "out", "--name", "dead")
    for line in process.stderr:
        if "warm-up" in line:
            process.kill()
            break
    process.communicate(timeout=60)
    parent = tmp_path / "out/open/acme/box"
    assert [entry.name for entry in parent.iterdir()] == [".partial-dead"]
    assert judge(parent / ".partial-dead").exit_code == 3


@pytest.mark.skipif(os.geteuid() != 0, reason="mounting a small disk needs root")
@pytest.mark.parametrize("size", ["8k", "24k", "120k"])
def test_a_full_disk_is_one_line_and_leaves_nothing_behind(tmp_path, size):
    disk = tmp_path / "disk"
    disk.mkdir()
    path = frozen(tmp_path / "plan.json", small_plan())
    command = f"{sys.executable} -m kit run --plan {path} --output {disk}"
    left = f"code=$?; ls -A {disk}; exit $code"
    script = f"mount -t tmpfs -o size={size} none {disk} && {command}; {left}"
    process = subprocess.run(
        ["unshare", "-m", "sh", "-c", script],
        env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert process.returncode == 6, process.stderr
    line = process.stderr.splitlines()[-1]
    assert "cannot be written: No space left on device (free some space)" in line
    assert f"{disk}/open/acme/box" in line
    assert "Traceback" not in process.stderr
    assert "hidden" not in process.stderr
    assert "device_error" not in process.stderr
    assert process.stdout == ""


def test_a_reason_names_places_to_the_operator_but_not_in_the_bundle(tmp_path, monkeypatch, capsys):
    """The second of two cases finds no room for what it measured."""
    place = tmp_path / "out/open/acme/box"
    cases = [{"workload": SMALL | {"name": name}, "number_format": "fp32"} for name in ("a", "b")]
    plan = plan_of(cases)

    def run_out_of_room(tunings, job, on_phase, really=Tunings.run):
        report = really(tunings, job, on_phase)
        if job.case == plan.cases[0].id:
            return report
        gone = UnwritableError(f"{place}/x: cannot be written: full", hint="free some space")
        return ended(*failure(gone))

    monkeypatch.setattr(Tunings, "run", run_out_of_room)
    bundle = measure(plan, tmp_path / "out", "some").bundle
    assert f"crashed: {place}/x: cannot be written: full (free" in capsys.readouterr().err
    case = json.loads((bundle / f"data/cases/{plan.cases[1].id}/case.json").read_text())
    reason = "<hidden>: cannot be written: full (free some space)"
    assert [(run["status"], run["reason"]) for run in case["runs"]] == [("crashed", reason)]
    assert str(tmp_path) not in (bundle / "data/journal.json").read_text()


def test_a_run_that_finds_no_room_costs_no_other_run(tmp_path, monkeypatch):
    plan = replace(plan_of([{"workload": SMALL, "number_format": "fp32"}]), replicates=2)

    def no_scratch(tunings, job, on_phase, really=Tunings.run):
        if job.number == 2:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), "/tmp/gemm-kit-job-1")
        return really(tunings, job, on_phase)

    monkeypatch.setattr(Tunings, "run", no_scratch)
    bundle = measure(plan, tmp_path, "some").bundle
    case = json.loads((bundle / f"data/cases/{plan.cases[0].id}/case.json").read_text())
    first, second = case["runs"]
    assert (first["status"], second["status"]) == ("measured", "crashed")
    assert "No space left on device" in second["reason"]


def test_no_room_for_the_whole_says_where_the_runs_lie(tmp_path, monkeypatch):
    def full(*_):
        raise UnwritableError("results.json: cannot be written: full", hint="free some space")

    monkeypatch.setattr("kit.runner.launcher.write_whole", full)
    kept = tmp_path / "open/acme/box/.partial-some"
    line = f"(free some space; what was written so far lies unsealed in {kept})"
    with pytest.raises(UnwritableError, match=re.escape(line)):
        measure(small_plan(), tmp_path, "some")
    assert list(kept.rglob("run.json"))


def test_two_measurements_of_one_device_exclude_each_other(tmp_path):
    from kit.system import device_lock

    with device_lock("cpu"), pytest.raises(MeasurementError, match="another measurement"):
        measure(small_plan(), tmp_path, "second")
    assert not list(tmp_path.rglob("second"))
    assert not list(tmp_path.rglob(".partial-second"))
