"""Every option of every group makes a valid plan, and says what its name promises."""

import re
from typing import get_args

import pytest
import yaml

from kit.backends import backends
from kit.cli.run import compose
from kit.number_format import FORMATS
from kit.resources import CONFIGS, SCHEMAS
from kit.ruleset import CURRENT, ruleset
from kit.telemetry import sources
from kit.timing import methods
from kit.workload import Layout, sizes_said

GROUPS = (
    "workload", "number_format", "backend", "timing", "telemetry", "phases", "test_type",
    "counters", "division", "suite", "evidence",
)  # fmt: skip
# Options that have no value of their own for something that only the user knows.
NEEDED = {
    "workload=custom": ["workload.m=24", "workload.n=40", "workload.k=56"],
    "test_type=fixed_frequency": ["test_type.clock_mhz=1200"],
}


def options(group):
    return sorted(path.stem for path in (CONFIGS / group).glob("*.yaml"))


EVERY_OPTION = [f"{group}={option}" for group in GROUPS for option in options(group)]


def plan_of(*overrides):
    return compose(overrides).plan


def test_groups_are_the_folders():
    folders = {path.name for path in CONFIGS.iterdir() if path.is_dir()}
    assert folders == {*GROUPS, "hydra"}


@pytest.mark.parametrize("choice", EVERY_OPTION)
def test_every_option_makes_a_valid_plan(choice):
    overrides = (choice, *NEEDED.get(choice, ()))
    plan = plan_of(*overrides)
    plan.validate()
    assert plan.overrides == overrides


@pytest.mark.parametrize("suite", options("suite"))
@pytest.mark.parametrize("backend", options("backend"))
@pytest.mark.parametrize("division", options("division"))
def test_suites_backends_and_divisions_combine(suite, backend, division):
    plan = plan_of(f"suite={suite}", f"backend={backend}", f"division={division}")
    assert plan.backend.platform == backend
    assert plan.submission.division == division
    assert plan.replicates == (3 if division == "closed" else 2 if suite == "quick" else 1)


def test_one_option_for_every_number_format():
    assert options("number_format") == sorted(FORMATS)
    for name in FORMATS:
        assert plan_of(f"number_format={name}").cases[0].number_format == name


@pytest.mark.parametrize("workload", [name for name in options("workload") if name != "custom"])
def test_a_workloads_name_says_its_size(workload):
    found = plan_of(f"workload={workload}").cases[0].workload
    assert found.name == workload
    sizes = [int(text) for text in re.findall(r"\d+", workload)]
    batch = sizes.pop(0) if workload.startswith("batched") else 1
    assert [found.m, found.n, found.k] == (sizes if len(sizes) == 3 else 3 * sizes)
    assert found.batch == batch


def test_a_custom_workload_is_named_by_its_size():
    (case,) = plan_of("workload=custom", *NEEDED["workload=custom"]).cases
    assert case.id == "custom_24x40x56-fp32-nn"


@pytest.mark.parametrize(
    ("workload", "name"),
    [
        ("workload=custom", "custom_24x40x56_batch8"),
        ("workload=square_512", "square_512_batch8"),
        ("workload=decode_1x4096x4096", "decode_1x4096x4096_batch8"),
        ("workload=batched_64x512x512x512", "batched_64x512x512x512"),
    ],
)
def test_a_name_of_sizes_tells_the_batch(workload, name):
    batch = () if "batched" in workload else ("workload.batch=8",)
    (case,) = plan_of(workload, *NEEDED.get(workload, ()), *batch).cases
    assert case.workload.name == name
    assert sizes_said(name) == (
        case.workload.batch, case.workload.m, case.workload.n, case.workload.k
    )  # fmt: skip


def test_members_named_by_options_exist():
    assert {plan_of(f"backend={name}").backend.name for name in options("backend")} <= {*backends()}
    assert options("telemetry") == sorted(sources())
    assert options("timing") == sorted(methods())
    for name in options("telemetry"):
        assert plan_of(f"telemetry={name}").telemetry.source == name
    for name in options("timing"):
        assert plan_of(f"timing={name}").timing.method == name


def test_cuda_brings_events_and_nvml_unless_told_otherwise():
    plan = plan_of("backend=cuda")
    assert (plan.timing.method, plan.telemetry.source) == ("cuda_events", "nvml")
    plan = plan_of("backend=cuda", "timing=host_clock", "telemetry=none")
    assert (plan.timing.method, plan.telemetry.source) == ("host_clock", "none")


@pytest.mark.parametrize("tool", options("counters"))
def test_counters_are_counted_by_the_tool_of_their_option(tool):
    assert plan_of(f"counters={tool}").counters.tool == tool


def test_the_default_needs_no_gpu():
    plan = plan_of()
    assert plan.counters.tool == "none"
    assert (plan.backend.platform, plan.timing.method, plan.telemetry.source) == (
        "cpu", "host_clock", "host",
    )  # fmt: skip
    assert plan.edition == CURRENT
    assert plan.submission.division == "open"


def test_square_is_the_powers_of_two():
    cases = plan_of("suite=square", "number_format=bf16").cases
    assert [case.id for case in cases] == [f"square_{2**i}-bf16-nn" for i in range(8, 15)]


def test_formats_are_all_of_them():
    cases = plan_of("suite=formats").cases
    assert [case.number_format for case in cases] == list(FORMATS)


@pytest.mark.parametrize("layout", get_args(Layout))
@pytest.mark.parametrize("number_format", FORMATS)
def test_every_format_may_be_asked_for_in_every_layout(number_format, layout):
    (case,) = plan_of(f"number_format={number_format}", f"workload.layout={layout}").cases
    assert case.workload.layout == layout
    assert case.id == f"square_512-{number_format}-{layout}"


def test_guideline_has_the_guidelines_numbers():
    plan = plan_of("suite=guideline", "number_format=bf16")
    (case,) = plan.cases
    assert (case.workload.m, case.workload.n, case.workload.k) == (8192, 8192, 16384)
    assert plan.phases.warm_up_min_launches == 10_000
    assert plan.phases.profiling_min_launches == 4_000
    assert plan.phases.cool_down_min_s == 1


@pytest.mark.parametrize("phases", ["standard", "guideline"])
@pytest.mark.parametrize("timing", options("timing"))
def test_phases_for_submissions_reach_the_editions_minima(phases, timing):
    plan, rules = plan_of(f"phases={phases}", f"timing={timing}"), ruleset(CURRENT)
    assert plan.phases.warm_up_min_s >= rules.minimum_warm_up_s
    assert plan.phases.profiling_min_launches >= rules.minimum_profiling_launches
    assert plan.phases.profiling_min_s >= rules.minimum_profiling_s
    assert plan.phases.cool_down_min_s >= rules.minimum_cool_down_s
    assert plan.timing.windows >= rules.minimum_windows
    assert plan_of("division=closed").replicates >= rules.minimum_replicates


def test_nvml_is_sampled_often_enough_for_the_shortest_profiling():
    plan, rules = plan_of("backend=cuda"), ruleset(CURRENT)
    samples = rules.minimum_profiling_s * 1e3 / plan.telemetry.clock_period_ms
    assert samples >= rules.minimum_clock_samples


def test_zero_fill_belongs_to_fixed_frequency():
    assert plan_of().test_type.fill == "uniform"
    fixed = plan_of("test_type=fixed_frequency", "test_type.clock_mhz=1200").test_type
    assert (fixed.fill, fixed.clock_mhz) == ("zero", 1200)


@pytest.mark.parametrize(
    ("text", "devices"), [("0", "0"), ("[0,1]", "0,1"), ("GPU-1a2b", "GPU-1a2b")]
)
def test_devices_may_be_written_as_hydra_likes_them(text, devices):
    assert plan_of("backend=cuda", f"devices={text}").devices == devices


@pytest.mark.parametrize(
    "nonce",
    ["1234567890123456", "0012345678901234", "12345678901234e5", "1234567890e12345", "ABCDEF" * 3],
)
def test_a_challenge_is_what_was_typed(nonce):
    for override in (f"submission.challenge={nonce}", f"++submission.challenge={nonce}"):
        plan = plan_of("submission.challenge=ffffffffffffffff", override)
        assert plan.submission.challenge == nonce.lower()
        assert plan.overrides[-1] == override


def test_interpolations_are_recorded_as_written_and_measured_as_meant():
    plan = plan_of("submission.system_id=${submission.submitter}")
    assert plan.submission.system_id == "unnamed"
    assert plan.overrides == ("submission.system_id=${submission.submitter}",)


def test_where_the_bundle_goes_is_not_part_of_the_plan():
    asked = compose(["output=/home/alice/bundles", "name=first", "seed=5"])
    assert (asked.output, asked.name) == ("/home/alice/bundles", "first")
    assert asked.plan.overrides == ("seed=5",)


def test_configurations_name_no_code_and_resolve_nothing():
    for path in CONFIGS.rglob("*.yaml"):
        text = path.read_text(encoding="utf-8")
        assert "_target_" not in text, path
        tree = yaml.safe_load(text)
        if path.name == "run.yaml":
            del tree["hydra"]  # Hydra's own settings; no bundle holds them
        assert not re.search(r"\$\{[^}]*:", str(tree)), path


def test_shipped_folders_hold_data_only():
    for folder, suffix in ((CONFIGS, ".yaml"), (SCHEMAS, ".json")):
        files = [path for path in folder.rglob("*") if path.is_file()]
        assert files
        assert {path.suffix for path in files} == {suffix}


def test_one_workload_of_a_suite_may_be_exchanged():
    cases = plan_of("suite=quick", "workload@suite.catalogue.square_512=square_1024").cases
    assert [case.workload.m for case in cases] == [256, 1024, 256, 256]
