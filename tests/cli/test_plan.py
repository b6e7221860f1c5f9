import json
import os

import pytest

from kit.bundle.schema import validate
from kit.cli import main


def test_table_of_the_demonstration(capsys):
    assert main(["plan", "suite=quick", "--device", "A10"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split("  ")[0] == "case"
    # 6 MiB of cache twice over 0.5 MiB of inputs: 24 sets of 0.75 MiB.
    row = "square_256-fp32-nn    24     512 KiB     256 KiB    18 MiB   20+1000"
    assert lines[1].startswith(row)
    assert lines[-2] == "4 cases, 2 runs each, at least 17 s,"
    assert lines[-1] == "and what filling and compiling take."


def test_speed_of_light_of_a_product(capsys):
    overrides = ["workload=square_8192", "number_format=bf16", "backend=cuda"]
    assert main(["plan", *overrides, "--device", "h200 sxm", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    (case,) = document["cases"]
    # 2 * 8192^3 operations at 132 SMs x 4096 operations a clock x 1830 MHz.
    assert case["sol_ns"] == pytest.approx(2 * 8192**3 / (132 * 4096 * 1.83), rel=1e-9)
    assert document["graphics_mhz"] == 1830
    assert case["fits"] is True


def test_json_follows_its_schema(capsys):
    for arguments in (["suite=square"], ["backend=cuda"], ["--device", "H200 SXM"]):
        assert main(["plan", "--json", *arguments]) == 0
        validate("estimate", json.loads(capsys.readouterr().out), "estimate")


def test_a_gpu_without_a_name_leaves_the_sets_open(capsys):
    assert main(["plan", "backend=cuda", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["cases"][0]["sets"] is None
    assert document["cases"][0]["sol_ns"] is None


def test_what_does_not_fit_is_said(capsys):
    sizes = [f"workload.{name}=262144" for name in "mnk"]
    assert main(["plan", "workload=custom", *sizes, "--device", "H200 SXM"]) == 0
    last = capsys.readouterr().out.splitlines()[-1]
    assert last == "custom_262144x262144x262144-fp32-nn does not fit: 1.5 TiB for 2 sets."


def test_a_range_of_sets_is_said_to_be_one(capsys):
    decode = ["workload=decode_16x8192x8192", "number_format=bf16", "backend=cuda"]
    assert main(["plan", *decode, "--device", "H200 SXM"]) == 0
    lines = capsys.readouterr().out.splitlines()
    row = "decode_16x8192x8192-bf16-nn  2 to 36   128.2 MiB     256 KiB  at most 4.518 GiB"
    assert lines[1].startswith(row)
    assert lines[-1] == "How many sets a device loop takes depends on the GEMM's own time."
    assert main(["plan", *decode, "backend.dispatch=single", "--device", "H200 SXM"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[1].startswith("decode_16x8192x8192-bf16-nn     2   128.2 MiB     256 KiB")
    assert "device loop" not in lines[-1]


def test_a_loop_on_a_processor_has_no_known_most_sets(capsys):
    assert main(["plan", "backend.dispatch=device_loop", "--device", "A10"]) == 0
    assert "  6 or more  " in capsys.readouterr().out


def test_what_may_not_fit_is_said(capsys):
    sizes = [f"workload.{name}={size}" for name, size in (("m", 8192), ("n", 8192), ("k", 16))]
    overrides = ["workload=custom", *sizes, "number_format=bf16", "backend=cuda"]
    assert main(["plan", *overrides, "--device", "T4"]) == 0
    last = capsys.readouterr().out.splitlines()[-1]
    assert last == "custom_8192x8192x16-bf16-nn may not fit: at most 62.74 GiB for 500 sets."


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (["--device", "H200"], "device 'H200' is unknown (did you mean H200 NVL or H200 SXM?)"),
        (
            ["--device", "NVIDIA H200"],
            "device 'NVIDIA H200' is unknown (did you mean H200 NVL or H200 SXM?)",
        ),
        (["--device", "B20"], "device 'B20' is unknown (did you mean B200 (HGX)?)"),
        (["--config-dir", "nowhere"], "--config-dir 'nowhere' is no folder (name one with"),
        (["--config-dir", ""], "--config-dir '' is no folder (name one with group options)"),
        (["--out", ""], "--out '' is no file (name a file in"),
        (["name="], "name is empty (without one the time names the bundle)"),
        (
            ["--out", "/nowhere/plan.json"],
            "--out /nowhere/plan.json: cannot be written: No such file",
        ),
        (["-m", "seed=1"], "No such option '-m'"),
    ],
)
def test_wrong_use(arguments, line, capsys):
    assert main(["plan", *arguments]) == 2
    printed = capsys.readouterr()
    assert printed.err.startswith(f"gemm-kit: error: {line}")
    assert (printed.out, printed.err.count("\n")) == ("", 1)


def require_no_plan(overrides, line, path, capsys):
    """It is wrong use, told in this one line, and nothing is written."""
    assert main(["plan", *overrides, "--out", str(path)]) == 2
    printed = capsys.readouterr()
    assert printed.err.startswith(f"gemm-kit: error: {line}")
    assert (printed.out, printed.err.count("\n")) == ("", 1)
    assert not path.exists()


@pytest.mark.parametrize(
    ("overrides", "line"),
    [
        (
            ["timing.windows=100000000"],
            "timing.windows: must satisfy maximum 1000000, found 100000000 (schemas/plan.schema",
        ),
        (["telemetry.clock_period_ms=0"], "telemetry.clock_period_ms: must satisfy minimum 1, fo"),
        (["system.system_name="], "system.system_name: must satisfy minLength 1, found ''"),
        (
            [f"phases.profiling_min_launches={10**20}"],
            "phases.profiling_min_launches: must satisfy maximum 1000000000, found 1000",
        ),
        (
            ["test_type=fixed_frequency", "test_type.clock_mhz=-5"],
            "test_type.clock_mhz: must satisfy minimum 1, found -5 (",
        ),
        (["phases.idle_s=1e308"], "phases.idle_s: must satisfy maximum 1000000, found 1e+308 ("),
        (["edition="], "edition: must satisfy minLength 1, found '' ("),
        (["system.hw_notes='a\tb'"], "the text 'a\\tb' holds the character U+0009 ("),
    ],
)
def test_what_no_bundle_could_hold_is_no_plan(overrides, line, tmp_path, capsys):
    require_no_plan(overrides, line, tmp_path / "plan.json", capsys)


@pytest.mark.parametrize(
    ("overrides", "line"),
    [
        (["edition='2020.1'"], "edition '2020.1' is unknown to this kit (known: 2026.1)"),
        (["division=closed"], "division=closed needs a GPU (backend=cuda, or division=open)"),
        (["telemetry=nvml"], "telemetry=nvml needs a GPU (backend=cuda, or telemetry=host)"),
        (["counters=ncu"], "counters=ncu needs a GPU (backend=cuda, or counters=none)"),
        (["backend=cuda", "devices=-1"], "devices=-1: '-1' is no GPU (all, or NVML indices or"),
        (["backend=cuda", "devices=[0,0]"], "devices=0,0 names 0 twice (name each once)"),
        (["backend=cuda", "devices="], "devices: must satisfy minLength 1, found '' ("),
    ],
)
def test_what_run_would_refuse_on_any_machine_is_no_plan(overrides, line, tmp_path, capsys):
    require_no_plan(overrides, line, tmp_path / "plan.json", capsys)


def test_what_only_a_machine_can_tell_is_left_to_it(capsys):
    assert main(["plan", "backend=cuda", "devices=7", "division=closed"]) == 0
    assert capsys.readouterr().err == ""


def test_wrong_use_writes_no_plan(tmp_path):
    path = tmp_path / "plan.json"
    assert main(["plan", "--device", "nonsense", "--out", str(path)]) == 2
    assert not path.exists()


@pytest.mark.parametrize("out", [".", "-"])
def test_what_is_no_file_is_refused(out, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(["plan", "suite=quick", "--out", out, "--force"]) == 2
    assert f"--out {out!r} is no file (name a file" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def test_stdout_holds_the_plan_and_then_the_table(gemm_kit, tmp_path):
    with (tmp_path / "both").open("wb") as both:
        assert gemm_kit("plan", "suite=quick", "--out", "/dev/stdout", stdout=both).returncode == 0
    text = (tmp_path / "both").read_text()
    _, end = json.JSONDecoder().raw_decode(text)
    assert text[end:].lstrip().startswith("case ")


def test_a_gpus_estimate_says_that_the_plan_is_for_a_processor(capsys):
    said = "The plan itself runs on a processor: backend=cuda measures a GPU."
    assert main(["plan", "suite=quick", "--device", "H200 SXM"]) == 0
    assert said in capsys.readouterr().out
    assert main(["plan", "suite=quick", "--device", "H200 SXM", "backend=cuda"]) == 0
    assert said not in capsys.readouterr().out


def test_a_pipe_is_written_through_and_stays_one(tmp_path):
    path = tmp_path / "pipe"
    os.mkfifo(path)
    reader = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    try:
        assert main(["plan", "suite=quick", "--out", str(path)]) == 0
        assert os.read(reader, 2**16).startswith(b"{")
    finally:
        os.close(reader)
    assert path.is_fifo()


def test_what_acts_in_a_files_name_is_escaped(tmp_path, capsys):
    path = tmp_path / "x\x1b[31m\n\u202e.json"
    assert main(["plan", "suite=quick", "--out", str(path)]) == 0
    assert path.is_file()
    shown = r"x\x1b[31m\x0a\u202e.json"
    assert capsys.readouterr().err == f"wrote {tmp_path}/{shown}\n"


def test_help(capsys):
    assert main(["plan", "--help"]) == 0
    assert "Usage: gemm-kit plan [OPTIONS] [OVERRIDES]..." in capsys.readouterr().out


def test_a_frozen_plan_is_not_written_over(tmp_path, capsys):
    path = tmp_path / "plan.json"
    path.write_text("kept")
    assert main(["plan", "suite=quick", "--out", str(path)]) == 2
    assert "exists (--force replaces it)" in capsys.readouterr().err
    assert path.read_text() == "kept"
    assert main(["plan", "suite=quick", "--out", str(path), "--force"]) == 0
    assert path.read_text() != "kept"


def test_a_problem_too_small_to_rotate_is_named(capsys):
    sizes = [f"workload.{name}=8" for name in "mnk"]
    assert main(["plan", "workload=custom", *sizes, "number_format=int8", "--device", "A10"]) == 0
    last = capsys.readouterr().out.splitlines()[-1]
    assert last == (
        "custom_8x8x8-int8-nt is too small to measure: 98304 sets, and 32768 are the most."
    )


def test_a_loop_may_take_fewer_sets_and_plan_says_so(capsys):
    sizes = [f"workload.{name}=64" for name in "mnk"]
    asked = ["backend=cuda", "number_format=bf16", "--device", "H200 SXM"]
    assert main(["plan", "workload=custom", *sizes, *asked]) == 0
    assert capsys.readouterr().out.splitlines()[-1] == (
        "custom_64x64x64-bf16-nn is too small to measure: 7680 sets, and 3195 are the most."
    )
