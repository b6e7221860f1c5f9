from dataclasses import replace

import pytest

from bundles import (
    changed,
    findings,
    honest_cpu,
    honest_gpu,
    outcome,
    with_environment,
    with_system,
)

CODE = "GK104"
MEMORY = 150_754_820_096


def only(bundle):
    (finding,) = findings(CODE, bundle)
    return f"{finding.place} | {finding.found} | {finding.required}"


@pytest.mark.parametrize("bundle", [honest_gpu(), honest_gpu("closed"), honest_cpu()])
def test_honest(bundle):
    assert outcome(CODE, bundle) == "pass"


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("accelerator_model_name", "NVIDIA H100"),
        ("accelerator_model_name", None),
        ("accelerator_memory_capacity_bytes", None),
        ("accelerator_memory_capacity_bytes", 80 * 2**30),
        ("accelerators_per_node", 0),
        ("framework", "jax 0.11.20"),
        ("framework", "jax"),
        ("operating_system", "Ubuntu 22.04"),
        ("host_processor_model_name", "AMD EPYC 9965"),
        ("host_processor_core_count", 192),
        ("host_memory_capacity_bytes", 2**42),
    ],
)
def test_declared_otherwise(field, value):
    broken = with_system(honest_gpu(), **{field: value})
    assert changed(broken) == {CODE: "fail"}
    assert f"data/system.json: {field}" in only(broken)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("accelerator_model_name", "Nvidia H200 SXM 141GB"),
        ("accelerators_per_node", 8),
        ("framework", "JAX (0.11.2), cuBLAS 13.1"),
    ],
)
def test_declared_with_more_words(field, value):
    assert changed(with_system(honest_gpu(), **{field: value})) == {}


@pytest.mark.parametrize(("share", "verdict"), [(1.0199, "pass"), (1.0201, "fail"), (0.98, "pass")])
def test_margin_of_the_memory(share, verdict):
    declared = int(MEMORY * share) + 1
    broken = with_system(honest_gpu(), accelerator_memory_capacity_bytes=declared)
    assert outcome(CODE, broken) == verdict


def test_every_measured_gpu_counts():
    bundle = honest_gpu()
    (device,) = bundle.environment.devices
    second = replace(device, id="gpu-000000000000", name="NVIDIA H20")
    environment = replace(bundle.environment, devices=(device, second))
    places = {finding.place for finding in findings(CODE, replace(bundle, environment=environment))}
    assert places == {"data/system.json: accelerators_per_node"}


def test_a_host_declares_no_accelerator():
    broken = with_environment(honest_cpu(), operating_system="Debian GNU/Linux 13")
    assert changed(broken) == {CODE: "fail"}
    assert outcome(CODE, with_system(honest_cpu(), accelerator_model_name="none")) == "pass"
