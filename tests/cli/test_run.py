import os
from pathlib import Path

import pytest

from kit.bundle.documents import parse_document
from kit.cli.run import compose
from kit.number_format import FORMATS
from kit.plan import RunPlan

HYDRA = ("hydra", "omegaconf", "antlr4", "yaml")


def plan_of(folder):
    return parse_document(RunPlan, (folder / "plan.json").read_bytes(), "plan.json")


def test_the_result_is_on_stdout_and_nothing_but_the_bundle_is_left(unmeasured, tmp_path):
    done = unmeasured("run", "suite=quick", "seed=3")
    assert (done.returncode, done.stdout) == (0, "bundle: submissions/seed-3\n")
    assert done.stderr == "progress 3\n"
    assert [path.name for path in tmp_path.iterdir()] == ["submissions"]


def test_run_measures_the_plan_that_plan_froze(unmeasured, gemm_kit, tmp_path):
    overrides = ["suite=quick", "backend=cuda", "division=closed", "seed=3"]
    assert unmeasured("run", *overrides, "output=a", "name=b").returncode == 0
    assert gemm_kit("plan", *overrides, "--out", "plan.json").returncode == 0
    measured = plan_of(tmp_path / "a/b")
    assert measured == plan_of(tmp_path) == compose(overrides).plan
    assert measured.overrides == tuple(overrides)


def test_a_frozen_plan_is_measured_without_hydra(unmeasured, gemm_kit, tmp_path):
    assert gemm_kit("plan", "suite=square", "seed=1", "--out", "plan.json").returncode == 0
    done = unmeasured(
        "run", "--plan", "plan.json", "--output", "a", "--name", "b", hidden=(*HYDRA, "jax")
    )
    assert (done.returncode, done.stdout) == (1, "bundle: a/b\n")
    line = "gemm-kit: measured, but not compliant (gemm-kit check a/b says why)"
    assert done.stderr == f"progress 1\n{line}\n"
    assert (tmp_path / "a/b/plan.json").read_bytes() == (tmp_path / "plan.json").read_bytes()


@pytest.mark.parametrize(("option", "place"), [("--output", "output"), ("--name", "name")])
def test_what_does_not_print_names_no_folder(option, place, unmeasured, gemm_kit):
    assert gemm_kit("plan", "suite=square", "seed=1", "--out", "plan.json").returncode == 0
    done = unmeasured("run", "--plan", "plan.json", option, "a\x1b[31m\n\u202e")
    assert (done.returncode, done.stdout) == (2, "")
    shown = r"'a\x1b[31m\n\u202e' holds what does not print (name another one)"
    assert done.stderr == f"gemm-kit: error: {place} {shown}\n"


@pytest.mark.parametrize("command", ["run", "plan"])
def test_without_hydra_the_line_says_how_to_get_it(command, unmeasured):
    done = unmeasured(command, hidden=HYDRA)
    assert done.returncode == 2
    assert "pip install '.[run]' in the checkout" in done.stderr
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("seed", "code", "line"),
    [
        (0, 0, ""),
        (1, 1, "gemm-kit: measured, but not compliant (gemm-kit check submissions/seed-1 says"),
        (6, 6, "gemm-kit: error: nothing was measured (free the GPU)\n"),
        (4, 4, r"gemm-kit: internal error: RuntimeError: a bug\x1b[31m\x0ain two lines"),
        (130, 130, "gemm-kit: interrupted\n"),
        (131, 130, "gemm-kit: interrupted\n"),
    ],
)
def test_exit_codes(seed, code, line, unmeasured):
    done = unmeasured("run", f"seed={seed}")
    assert done.returncode == code
    assert done.stderr.startswith(f"progress {seed}\n{line}")
    assert done.stderr.count("\n") == (2 if line else 1)
    assert done.stdout == (f"bundle: submissions/seed-{seed}\n" if code < 2 or seed == 131 else "")


@pytest.mark.parametrize(("sweep", "bundles"), [(["seed=0"], 1), (["-m", "seed=0,2"], 2)])
def test_a_full_output_costs_no_bundle(sweep, bundles, unmeasured):
    with Path("/dev/full").open("wb") as full:
        done = unmeasured("run", *sweep, stdout=full)
    assert done.returncode == 2
    assert "gemm-kit: submissions/seed-0 is measured, but not judged\n" in done.stderr
    assert "gemm-kit: error: standard output cannot be written: No space left" in done.stderr
    assert done.stderr.count("submissions/seed-") == bundles


@pytest.mark.parametrize("sweep", [("-m", "seed=0,2"), ("seed=0",)])
def test_a_reader_that_left_is_no_internal_error(sweep, unmeasured):
    end, gone = os.pipe()
    os.close(end)
    with os.fdopen(gone, "wb") as pipe:
        done = unmeasured("run", *sweep, stdout=pipe)
    assert done.returncode == 141
    assert "internal error" not in done.stderr
    assert "submissions/seed-0 is measured, but not judged" in done.stderr


@pytest.mark.parametrize("shown", ["--help", "--cfg=job"])
def test_what_hydra_prints_may_meet_a_full_disk_or_no_reader(shown, unmeasured):
    with Path("/dev/full").open("wb") as full:
        done = unmeasured("run", shown, stdout=full)
    assert done.returncode == 2
    assert "gemm-kit: error: standard output cannot be written: No space left" in done.stderr
    end, gone = os.pipe()
    os.close(end)
    with os.fdopen(gone, "wb") as pipe:
        assert unmeasured("run", shown, stdout=pipe).returncode == 141


def test_a_batch_of_a_sweep_that_is_refused_ends_it(unmeasured):
    done = unmeasured("run", "-m", "seed=0", "hydra.sweeper.max_batch_size=1", "name=a,B")
    assert done.returncode == 2
    assert "name=B: bundle name" in done.stderr


def test_a_sweep_goes_on_after_a_fault_and_ends_with_the_worst_code(unmeasured, tmp_path):
    done = unmeasured("run", "-m", "seed=6,1,0", "workload=square_256")
    assert done.returncode == 6
    assert done.stdout == "bundle: submissions/seed-1\nbundle: submissions/seed-0\n"
    assert done.stderr.count("gemm-kit: error: nothing was measured (free the GPU)\n") == 1
    assert "Traceback" not in done.stderr
    assert "Error executing job" not in done.stderr  # as Hydra would, with no problem or remedy
    assert plan_of(tmp_path / "submissions/seed-1").overrides == ("seed=1", "workload=square_256")


def test_ctrl_c_ends_a_sweep_behind_the_bundle_that_it_came_across(unmeasured):
    done = unmeasured("run", "-m", "seed=0,132,2")
    assert done.returncode == 130
    assert done.stdout == "bundle: submissions/seed-0\nbundle: submissions/seed-132\n"
    assert "gemm-kit: measured, but not compliant" in done.stderr
    assert done.stderr.endswith("gemm-kit: interrupted\n")
    assert "Traceback" not in done.stderr


def test_a_plain_run_that_was_cut_short_ends_with_its_verdict(unmeasured):
    assert unmeasured("run", "seed=132").returncode == 1


def test_a_clean_sweep_ends_with_0(unmeasured):
    done = unmeasured("run", "-m", "seed=0", "workload=square_256", "name=a,b")
    assert (done.returncode, done.stdout.count("bundle: ")) == (0, 2)


@pytest.mark.parametrize(
    ("sweep", "line"),
    [
        (["seed=0,abc"], "seed=abc: seed: must be a whole number"),
        (["seed=0", "workload=square_256,square_25"], "seed=0 workload=square_25: workload="),
        (["seed=0", "workload.m=512,300"], "seed=0 workload.m=512: workload.m changes the size"),
        (["seed=0", "division=open,closed"], "seed=0 division=closed: division=closed needs a GPU"),
        (["seed=0,2", "name=same"], "seed=2 name=same: another job would write submissions/open/"),
        (["name=a,B"], "name=B: bundle name 'B' will not do"),
        (["name=a,there"], "name=there: submissions/open/unnamed/this-machine/there exists"),
        (["hydra.sweeper.max_batch_size=null", "seed=0,-1"], "seed=-1: seed is -1"),
        (
            ["seed=0", "timing.windows=20,100000000"],
            "seed=0 timing.windows=100000000: timing.windows: must satisfy maximum 1000000, found",
        ),
        (["submission={},3", "seed=0"], "submission=3 seed=0: submission must be a group of keys"),
        (["timing=host_clock,[1]", "seed=0"], "timing=[1] seed=0: "),
        (["seed=0", "name=a,''"], "seed=0 name='': name is empty"),
        (
            ["seed=0", "output=here,/dev/null/x"],
            "seed=0 output=/dev/null/x: /dev/null is no folder",
        ),
    ],
)
def test_a_sweep_is_refused_before_its_first_job_is_measured(sweep, line, unmeasured, tmp_path):
    there = tmp_path / "submissions/open/unnamed/this-machine/there"
    there.mkdir(parents=True)
    done = unmeasured("run", "-m", *sweep)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert done.stderr.startswith(f"gemm-kit: error: {line}")


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (["output="], "output is empty (name a folder; . is the one you are in)"),
        (["name="], "name is empty (without one the time names the bundle)"),
        (["--config-dir", ""], "--config-dir '' is no folder (name one with group options)"),
        (["--plan", "p.json", "--output", ""], "output is empty (name a folder; . is the one you"),
        (["--plan", "p.json", "--name", ""], "name is empty (without one the time names"),
        (["--plan", ""], "Invalid value for '--plan': Path '' does not exist (see"),
    ],
)
def test_what_is_empty_is_refused(arguments, line, unmeasured, gemm_kit, tmp_path):
    if "p.json" in arguments:
        assert gemm_kit("plan", "suite=quick", "--out", "p.json").returncode == 0
    before = sorted(tmp_path.iterdir())
    done = unmeasured("run", *arguments)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert done.stderr.startswith(f"gemm-kit: error: {line}")
    assert sorted(tmp_path.iterdir()) == before


def test_a_sweep_that_has_no_place_for_its_folder_is_wrong_use(unmeasured, tmp_path):
    (tmp_path / "multirun").touch()
    done = unmeasured("run", "-m", "seed=0,2")
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert done.stderr.startswith("gemm-kit: error: cannot write multirun")


def test_a_frozen_plan_may_come_through_a_pipe(unmeasured, gemm_kit, tmp_path):
    assert gemm_kit("plan", "suite=quick", "seed=0", "--out", "plan.json").returncode == 0
    end, fed = os.pipe()
    with os.fdopen(fed, "wb") as pipe:
        pipe.write((tmp_path / "plan.json").read_bytes())
    with os.fdopen(end) as pipe:
        done = unmeasured("run", "--plan", "/dev/stdin", "--name", "a", stdin=pipe)
    assert (done.returncode, done.stdout) == (0, "bundle: submissions/a\n")


def test_a_frozen_plan_without_an_end_is_not_read_to_its_end(unmeasured):
    done = unmeasured("run", "--plan", "/dev/zero")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == (
        "gemm-kit: error: /dev/zero: 4194305 bytes; a document may have 4194304"
        " (gemm-kit plan --out writes a plan)\n"
    )


def test_jobs_of_a_sweep_may_have_one_name_in_several_places(unmeasured):
    done = unmeasured("run", "-m", "seed=0", "name=a", "output=here,there")
    assert (done.returncode, done.stdout) == (0, "bundle: here/a\nbundle: there/a\n")


def test_a_sweep_tells_whose_each_bundle_is_and_leaves_no_empty_folder(unmeasured, tmp_path):
    done = unmeasured("run", "-m", "seed=0,2", "replicates=3")
    assert done.returncode == 0
    for seed in (0, 2):
        line = f"gemm-kit: submissions/seed-{seed} is the bundle of seed={seed} replicates=3\n"
        assert line in done.stderr
    assert all(any(path.iterdir()) for path in tmp_path.rglob("*") if path.is_dir())


def test_options_from_a_folder_of_ones_own(unmeasured, tmp_path):
    (tmp_path / "mine/workload").mkdir(parents=True)
    (tmp_path / "mine/workload/odd.yaml").write_text(
        "name: odd\nm: 24\nn: 40\nk: 56\nbatch: 3\nlayout: tn\n"
    )
    done = unmeasured("run", "--config-dir", "mine", "workload=odd", "seed=0")
    assert done.returncode == 0
    (case,) = plan_of(tmp_path / "submissions/seed-0").cases
    assert case.id == "odd-fp32-tn"
    assert (case.workload.m, case.workload.n, case.workload.k, case.workload.batch) == (
        24,
        40,
        56,
        3,
    )
    assert case == compose(["workload=odd", "seed=0"], tmp_path / "mine").plan.cases[0]


def test_a_foreign_option_cannot_read_the_environment(unmeasured, tmp_path):
    (tmp_path / "mine/telemetry").mkdir(parents=True)
    (tmp_path / "mine/telemetry/spy.yaml").write_text("source: ${oc.env:SECRET}\n")
    done = unmeasured(
        "run", "--config-dir", "mine", "telemetry=spy", environment={"SECRET": "hunter2"}
    )
    assert done.returncode == 2
    assert "telemetry.source: resolvers are not allowed in '${oc.env:SECRET}'" in done.stderr
    assert "hunter2" not in done.stdout + done.stderr


def test_help_names_both_ways_and_every_group(gemm_kit):
    done = gemm_kit("run", "--help")
    assert done.returncode == 0
    assert "gemm-kit run --plan PLAN.json" in done.stdout
    assert "130 interrupted" in done.stdout
    assert f"\nnumber_format: {', '.join(sorted(FORMATS))}\n" in done.stdout


@pytest.mark.parametrize("word", ["--help", "-h"])
def test_help_needs_no_hydra(word, unmeasured):
    done = unmeasured("run", "suite=quick", word, hidden=HYDRA)
    assert (done.returncode, done.stderr) == (0, "")
    for text in ("--plan PLAN.json", "pip install '.[run]' in the checkout", "130 interrupted"):
        assert text in done.stdout


def test_cfg_shows_the_configuration_and_measures_nothing(gemm_kit, tmp_path):
    done = gemm_kit("run", "--cfg", "job", "suite=quick")
    assert done.returncode == 0
    assert "replicates: 2" in done.stdout
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (["--experimental-rerun", "x.pickle"], "--experimental-rerun is not offered here"),
        (["--config-name", "x"], "--config-name is not offered here"),
        (["--config-path", "x"], "--config-path is not offered here"),
        (["--cfg", "nonsense"], "argument --cfg/-c: invalid choice: 'nonsense'"),
        (["--cfg", "job", "-m"], "Only one of --run, --multirun, --cfg"),
        (["--nonsense"], "unrecognized arguments: --nonsense"),
        (["--output", "x"], "unrecognized arguments: --output (without --plan write output=x)"),
        (["--name=x"], "unrecognized arguments: --name=x (without --plan write name=x)"),
        (["--config-dir", "nowhere"], "--config-dir 'nowhere' is no folder (name one with"),
        (["--plan", "nowhere.json"], "Invalid value for '--plan': Path 'nowhere.json' does not"),
        (["--plan", "."], "cannot read .: Is a directory (name a file that can be read)"),
        (["--plan"], "Option '--plan' requires an argument"),
        (["--plan", "/dev/null", "suite=quick"], "Got unexpected extra argument (suite=quick)"),
    ],
)
def test_wrong_flags_are_one_line_and_exit_2(arguments, line, unmeasured):
    done = unmeasured("run", *arguments)
    assert done.returncode == 2
    assert done.stderr.startswith(f"gemm-kit: error: {line}")
    assert (done.stdout, done.stderr.count("\n")) == ("", 1)


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("", "plan.json: not JSON"),
        ("[" * 100_000, "plan.json: nested deeper"),
        ('{"seed": 1, "seed": 2}', "plan.json: the key 'seed' stands twice"),
        ("{}", "plan.json: $: must have 'edition'"),
    ],
)
def test_a_frozen_plan_of_another_form_is_wrong_use(text, line, gemm_kit, tmp_path):
    (tmp_path / "plan.json").write_text(text)
    done = gemm_kit("run", "--plan", "plan.json")
    assert done.returncode == 2
    assert done.stderr.startswith(f"gemm-kit: error: {line}")
    assert done.stderr.count("\n") == 1


def test_a_frozen_plan_that_calls_a_case_by_other_sizes_is_not_measured(gemm_kit, tmp_path):
    assert gemm_kit("plan", "workload=square_256", "--out", "plan.json").returncode == 0
    text = (tmp_path / "plan.json").read_text()
    (tmp_path / "plan.json").write_text(text.replace("square_256", "square_4096"))
    done = gemm_kit("run", "--plan", "plan.json")
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    line = "gemm-kit: error: case square_4096-fp32-nn: workload.name is 'square_4096' (must be"
    assert done.stderr.startswith(line)
    assert not (tmp_path / "submissions").exists()


def test_a_frozen_plan_becomes_a_compliant_bundle(start, gemm_kit, tmp_path):
    """The real measurement, without Hydra, and the real judgement."""
    sizes = [f"workload.{name}=64" for name in "mnk"]
    brief = [
        "phases.idle_s=0.1", "phases.warm_up_min_launches=20", "phases.warm_up_min_s=0.1",
        "phases.warm_up_max_s=5", "phases.profiling_min_launches=50", "phases.profiling_min_s=0.2",
        "phases.cool_down_min_s=0.1", "phases.cool_down_max_s=1",
    ]  # fmt: skip
    frozen = gemm_kit("plan", "workload=custom", *sizes, *brief, "--out", "plan.json")
    assert frozen.returncode == 0, frozen.stderr
    hide = f"import sys; sys.modules.update(dict.fromkeys({HYDRA!r})); from kit.cli import main;"
    done = start("-c", f"{hide} sys.exit(main())", "run", "--plan", "plan.json", "--output", "out")
    assert done.returncode == 0, done.stderr
    bundle = done.stdout.splitlines()[-1].removeprefix("bundle: ")
    assert bundle.startswith("out/open/unnamed/this-machine/")
    assert plan_of(tmp_path / bundle / "data") == plan_of(tmp_path)
    checked = gemm_kit("check", bundle)
    assert checked.returncode == 0, checked.stdout
    assert checked.stdout.splitlines()[-1] == "SUMMARY: submission looks OK"
