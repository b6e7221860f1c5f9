"""What is refused before anything is measured, in one line with a remedy."""

from dataclasses import replace

import pytest

from kit.errors import UsageError
from kit.runner.preflight import preflight
from plans import small_plan


@pytest.mark.parametrize(
    "environment",
    [
        {"XLA_FLAGS": "--xla_gpu_autotune_level=0"},
        {"XLA_PYTHON_CLIENT_ALLOCATOR": "platform"},
        {"XLA_PYTHON_CLIENT_ALLOCATOR": "address"},
        {"TF_GPU_ALLOCATOR": "something_new"},
    ],
)
def test_settings_that_falsify_are_refused(environment):
    with pytest.raises(UsageError, match=next(iter(environment))) as refusal:
        preflight(small_plan(), environment)
    assert "unset" in str(refusal.value)


def test_the_usual_allocators_pass():
    preflight(small_plan(), {"XLA_PYTHON_CLIENT_ALLOCATOR": "bfc", "HOME": "/x"})


def changed(part, **values):
    plan = small_plan()
    return replace(plan, **{part: replace(getattr(plan, part), **values)})


@pytest.mark.parametrize(
    ("plan", "named"),
    [
        (changed("submission", division="closed"), "division=closed"),
        (changed("test_type", name="fixed_frequency", clock_mhz=1500), "fixed_frequency"),
        (changed("timing", method="cuda_events"), "timing=cuda_events"),
        (changed("timing", method="external_profiler"), "timing=external_profiler"),
        (changed("telemetry", source="nvml"), "telemetry=nvml"),
        (changed("counters", tool="ncu"), "counters=ncu"),
        (replace(small_plan(), devices="0"), "devices=0"),
    ],
)
def test_what_only_a_gpu_can_do_is_not_ignored_on_a_cpu(plan, named):
    with pytest.raises(UsageError, match=named) as refusal:
        preflight(plan, {})
    assert "needs a GPU" in refusal.value.problem
    assert "backend=cuda" in refusal.value.hint


@pytest.mark.parametrize("method", ["external_profiler", "host_clock"])
def test_a_timing_that_the_closed_division_refuses_is_refused_first(method):
    plan = changed("submission", division="closed")
    plan = replace(
        plan,
        backend=replace(plan.backend, platform="cuda"),
        counters=replace(plan.counters, tool="xla"),
        replicates=3,
    )
    preflight(replace(plan, timing=replace(plan.timing, method="cuda_events")), {})
    with pytest.raises(UsageError, match=f"timing={method} proves too little") as refusal:
        preflight(replace(plan, timing=replace(plan.timing, method=method)), {})
    assert refusal.value.hint == "timing=cuda_events"


@pytest.mark.parametrize(
    ("devices", "problem"),
    [
        ("-1", "devices=-1: '-1' is no GPU"),
        ("0,", "devices=0,: '' is no GPU"),
        ("all,0", "devices=all,0: 'all' is no GPU"),
        ("0,1, 00", "devices=0,1, 00 names 0 twice"),
        ("GPU-1a,gpu-1A", "devices=GPU-1a,gpu-1A names gpu-1a twice"),
    ],
)
def test_devices_that_no_machine_has_are_refused(devices, problem):
    plan = changed("backend", platform="cuda")
    preflight(replace(plan, devices="0, 7,GPU-1a2b,gpu-ccd6a33d47a9"), {})
    with pytest.raises(UsageError) as refusal:
        preflight(replace(plan, devices=devices), {})
    assert refusal.value.problem == problem
    assert refusal.value.hint


@pytest.mark.parametrize(
    ("plan", "line"),
    [
        (changed("backend", name="jax"), "backend.name=jax is unknown (did you mean jax_gemm?)"),
        (
            changed("telemetry", source="x"),
            "telemetry.source=x is unknown (known: host, none, nvml",
        ),
    ],
)
def test_members_that_the_kit_lacks_are_refused(plan, line):
    with pytest.raises(UsageError) as refusal:
        preflight(plan, {})
    assert str(refusal.value).startswith(line)


def test_a_case_that_is_called_something_else_is_refused():
    plan = small_plan()
    work = replace(plan.cases[0].workload, name="square_4096")
    case = replace(plan.cases[0], id="square_4096-fp32-nn", workload=work)
    with pytest.raises(UsageError, match="name is 'square_4096'") as refusal:
        preflight(replace(plan, cases=(case,)), {})
    assert refusal.value.hint == "must be a name that says M 128, N 128, K 128, or no sizes"
    assert refusal.value.exit_code == 2


def test_an_unknown_edition_is_wrong_use():
    with pytest.raises(UsageError, match="edition") as refusal:
        preflight(replace(small_plan(), edition="1999.1"), {})
    assert refusal.value.exit_code == 2


@pytest.mark.parametrize(("name", "period_ms"), [("clock_period_ms", 51), ("power_period_ms", 61)])
def test_gaps_that_are_planned_are_refused(name, period_ms):
    plan = changed("telemetry", source="nvml", **{name: period_ms})
    plan = replace(plan, backend=replace(plan.backend, platform="cuda"))
    with pytest.raises(UsageError, match=f"telemetry.{name}={period_ms}") as refusal:
        preflight(plan, {})
    assert refusal.value.hint == f"{period_ms - 1} or less"
