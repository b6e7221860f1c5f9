"""A wrong override is one line that names the nearest right one, and exit 2."""

import pytest

from kit.cli import main
from kit.cli._faults import explained

KEYS = (
    "seed", "replicates", "devices", "timeout_s", "submission", "system", "test_type", "backend",
    "timing", "telemetry", "counters", "phases", "evidence", "suite", "workload", "number_format",
    "output",
)  # fmt: skip


@pytest.mark.parametrize(
    ("override", "line"),
    [
        # unknown options, groups and keys
        ("workload=square_4095", "workload=square_4095 is unknown (did you mean square_4096?)"),
        ("number_format=bf61", "number_format=bf61 is unknown (did you mean bf16?)"),
        ("suite=quik", "suite=quik is unknown (did you mean quick?)"),
        ("backend=metal", "backend=metal is unknown (known: cpu, cuda)"),
        ("wrkload=square_256", "wrkload is unknown (did you mean workload?)"),
        ("divsion=closed", "divsion is unknown (did you mean division?)"),
        (
            "phases.profiling_min_launchs=4",
            "phases.profiling_min_launchs is unknown (did you mean profiling_min_launches?)",
        ),
        ("submision.submitter=me", "submision is unknown (did you mean submission?)"),
        ("layout=nn", "layout is unknown (did you mean workload.layout?)"),
        ("clock_mhz=1500", "clock_mhz is unknown (did you mean test_type.clock_mhz?)"),
        ("~phase", "Could not delete from config. 'phase' does not exist."),
        ("+phases.extra=1", "phases.extra: unknown key"),
        ("+extra=1", "extra: unknown key"),
        # values
        ("replicates=abc", "replicates: must be a whole number"),
        ("replicates=1e3", "replicates: must be a whole number"),
        ("replicates=true", "replicates: must be a whole number"),
        ("replicates=0", "replicates is 0 (must be 1 to 99)"),
        ("phases.idle_s=long", "phases.idle_s: must be a number"),
        ("phases.idle_s=nan", "phases.idle_s is nan (must be 0 or more, and finite)"),
        (
            "timing.method=gpu",
            "timing.method: must be one of cuda_events, external_profiler, host_clock",
        ),
        ("submission.submitter=12", "submission.submitter must be text (quote it: submission."),
        ("submission.challenge=12", "submission.challenge is '12' (must be null, or an even num"),
        (
            "submission.challenge=1_2",
            "submission.challenge must be text (quote it: submission.challenge='\"...\"')",
        ),
        ("submission.submitter=Me", "submission.submitter is 'Me' (must be lower-case letters"),
        ("name=12", "name must be text (quote it: name='"),
        ("devices=true", "devices must be text"),
        ("workload.layout=nx", "workload.layout: must be one of nn, nt, tn, tt"),
        ("suite.cases=[]", "suite.cases is '[]' (must be at least one case)"),
        ("suite.cases=[3]", "suite.cases is not a list of cases"),
        ("phases=3", "phases=3: phases takes the name of an option (known: guideline, quick, st"),
        ("phases=null", "phases=null: phases takes the name of an option"),
        ("phases=[1]", "phases=[1]: phases takes the name of an option"),
        ("devices=" + "9" * 5000, "Exceeds the limit (4300 digits)"),
        ("++suite.cases=3", "suite.cases is not a list of cases"),
        *((f"~{key}", f"{key}: missing (leave out ~{key})") for key in KEYS),
        *(
            (f"{key}={value}", f"{key} must be a group of keys (give {key}.KEY=VALUE)")
            for key in ("submission", "system")
            for value in ("3", "null", "", "'${phases}'")
        ),
        ("edition=0", "edition must be text"),
        ("name=false", "name must be text"),
        # missing values
        ("test_type=fixed_frequency", "test_type.clock_mhz has no value yet (give it: "),
        ("workload=custom", "workload.m has no value yet (give it: workload.m=VALUE)"),
        # overrides that Hydra cannot read
        ("workload", "cannot parse workload (write GROUP=OPTION or KEY=VALUE"),
        ("seed=a=b", "cannot parse seed=a=b ("),
        ("seed=1,2", "Ambiguous value for argument 'seed=1,2' (-m measures each"),
        # resolvers
        ("name=${oc.env:HOME}", "override: resolvers are not allowed in 'name=${oc.env:HOME}'"),
        ("name=${now:%Y}", "override: resolvers are not allowed"),
        ("name=${oc.${x}:HOME}", "override: resolvers are not allowed"),
        ("hydra.run.dir=${oc.env:HOME}", "override: resolvers are not allowed"),
        ("name=${nowhere}", "name: Interpolation key 'nowhere' not found"),
        # overrides that would mislead
        (
            "workload.m=300",
            "workload.m changes the size of the workload called square_512 (choose workload=custom",
        ),
        ("workload.name=square_256", "case square_256-fp32-nn: workload.name is 'square_256' ("),
    ],
)
def test_one_line(override, line, capsys):
    assert main(["plan", override]) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.startswith(f"gemm-kit: error: {line}")
    assert printed.err.count("\n") == 1


def test_a_batch_that_the_name_cannot_tell_is_refused(capsys):
    assert main(["plan", "workload=batched_64x512x512x512", "workload.batch=8"]) == 2
    assert "workload.batch changes the size" in capsys.readouterr().err


@pytest.mark.parametrize("override", ["workload=square_1024", "number_format=bf16"])
def test_a_choice_that_the_suite_would_drop_is_refused(override, capsys):
    assert main(["plan", "suite=quick", override]) == 2
    assert "would have no effect" in capsys.readouterr().err


@pytest.mark.parametrize("group", ["workload", "suite", "phases"])
@pytest.mark.parametrize("text", ["- 1", "3"])
def test_an_option_that_holds_no_keys_is_refused(group, text, tmp_path, capsys):
    (tmp_path / group).mkdir()
    (tmp_path / group / "odd.yaml").write_text(text)
    assert main(["plan", "--config-dir", str(tmp_path), f"{group}=odd"]) == 2
    printed = capsys.readouterr().err
    line = f"{group} must be a group of keys (" if text == "- 1" else "Invalid loaded object type"
    assert printed.startswith(f"gemm-kit: error: {line}")
    assert printed.count("\n") == 1


def test_a_folder_that_cannot_be_written_is_no_internal_error():
    fault = explained(PermissionError(13, "Permission denied", "multirun"))
    assert fault.exit_code == 2
    assert "cannot write multirun: Permission denied" in str(fault)


def test_a_broken_configuration_file_is_one_line():
    import yaml

    with pytest.raises(yaml.YAMLError) as broken:
        yaml.safe_load("a: [1\nb: }")
    fault = explained(broken.value)
    assert fault.exit_code == 2
    assert "not YAML" in fault.problem
    assert "\n" not in str(fault)
