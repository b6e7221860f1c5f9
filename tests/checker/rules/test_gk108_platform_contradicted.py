from dataclasses import replace

import pytest

from bundles import (
    PLAIN,
    changed,
    device_loop,
    findings,
    fixed_frequency,
    honest_cpu,
    honest_gpu,
    outcome,
    with_environment,
    with_field,
    with_plan,
    with_run,
)

CODE = "GK108"


@pytest.mark.parametrize(
    "bundle", [honest_cpu(), honest_gpu(), honest_gpu("closed"), fixed_frequency(), device_loop()]
)
def test_honest(bundle):
    assert outcome(CODE, bundle) == "pass"


def test_a_gpu_that_is_called_a_cpu():
    """Open division, telemetry and speed of light escaped by one word of the plan."""
    broken = with_plan(honest_gpu(), backend__platform="cpu")
    found = {finding.place.rpartition("/")[2] for finding in findings(CODE, broken)}
    assert outcome(CODE, broken) == "fail"
    assert {
        "environment.json: devices[0].kind",
        "environment.json: devices[0].id",
        "environment.json: libraries.cublas",
        "run.json: device",
        "run.json: identity.cuda_uuid_hash",
        "run.json: limits_before.power_enforced_mw",
        "run.json: executable.autotune",
        "run.json: dispatch.candidates",
        "clocks.csv: rows",
        "kernels.csv: rows",
        "trace.json: status",
    } <= found


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("identity.cuda_uuid_hash", "1dd20b1a6155"),
        ("identity.nvml_uuid_hash", "1dd20b1a6155"),
        ("limits_before.power_enforced_mw", 700_000),
        ("limits_after.power_enforced_mw", 700_000),
        ("executable.autotune", "0123456789abcdef.autotune.txt"),
    ],
)
def test_one_trace_of_a_gpu_is_enough(path, value):
    broken = with_field(honest_cpu(), PLAIN, 1, path, value)
    assert changed(broken)[CODE] == "fail"
    (finding,) = findings(CODE, broken)
    assert finding.place.endswith(f"cpu-01/run.json: {path}")


@pytest.mark.parametrize(
    ("platforms", "wanted"), [("cpu", "pass"), ("cuda,cpu", "pass"), ("cuda", "fail")]
)
def test_jax_must_have_been_allowed_to_use_the_cpu(platforms, wanted):
    settings = honest_cpu().environment.settings | {"JAX_PLATFORMS": platforms}
    assert outcome(CODE, with_environment(honest_cpu(), settings=settings)) == wanted


def test_clocks_of_a_gpu_beside_a_cpus_windows():
    table = honest_gpu().cases["decode-bf16-nn"].runs[0].tables["clocks.csv"]

    def add(run):
        return replace(run, tables=run.tables | {"clocks.csv": table})

    (finding,) = findings(CODE, with_run(honest_cpu(), PLAIN, 1, add, derive=False))
    assert finding.place.endswith("cpu-01/clocks.csv: rows")


def test_a_cpu_among_gpus():
    broken = with_environment(honest_gpu(), device__kind="cpu")
    (finding,) = findings(CODE, broken)
    assert finding.required == "gpu on platform cuda"
