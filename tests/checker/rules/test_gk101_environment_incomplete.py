import pytest

from bundles import (
    GUIDELINE,
    changed,
    findings,
    honest_cpu,
    honest_gpu,
    outcome,
    with_environment,
    with_field,
)

CODE = "GK101"


def without(bundle, part, name):
    values = {k: v for k, v in getattr(bundle.environment, part).items() if k != name}
    return with_environment(bundle, **{part: values})


def only(bundle):
    (finding,) = findings(CODE, bundle)
    return f"{finding.place} | {finding.found} | {finding.required}"


@pytest.mark.parametrize("bundle", [honest_gpu(), honest_gpu("closed"), honest_cpu()])
def test_honest(bundle):
    assert outcome(CODE, bundle) == "pass"


@pytest.mark.parametrize("name", ["jaxlib", "jax-cuda13-plugin", "nvidia-ml-py"])
def test_packages_of_a_gpu(name):
    broken = without(honest_gpu(), "packages", name)
    assert changed(broken) == {CODE: "fail"}
    assert "environment.json: packages | no jax" in only(broken) or name in only(broken)


@pytest.mark.parametrize("name", ["cuda_driver", "cuda_runtime", "cublas"])
def test_libraries_of_a_gpu(name):
    broken = without(honest_gpu(), "libraries", name)
    assert changed(broken) == {CODE: "fail"}
    assert f"libraries | no {name}" in only(broken)


def test_the_older_plugin_will_do():
    packages = dict(honest_gpu().environment.packages)
    packages["jax-cuda12-plugin"] = packages.pop("jax-cuda13-plugin")
    assert changed(with_environment(honest_gpu(), packages=packages)) == {}


def test_packages_of_a_host():
    assert changed(without(honest_cpu(), "packages", "jaxlib")) == {CODE: "fail"}
    assert "cpu_model" in only(with_environment(honest_cpu(), cpu_model=" "))


def test_a_fact_that_must_be_there_even_with_a_reason():
    broken = with_environment(
        honest_gpu(),
        device__vbios_version=None,
        device__missing={"vbios_version": "not supported"},
    )
    assert changed(broken) == {CODE: "fail"}
    assert "devices[0].vbios_version | null: not supported" in only(broken)


def test_null_needs_a_reason():
    broken = with_environment(honest_gpu(), device__gsp_version=None)
    assert changed(broken) == {CODE: "fail"}
    assert "devices[0].gsp_version | null without a reason" in only(broken)
    reason = {"gsp_version": "not supported"}
    honest = with_environment(honest_gpu(), device__gsp_version=None, device__missing=reason)
    assert changed(honest) == {}


def test_limits_need_reasons_too():
    broken = with_field(honest_gpu(), GUIDELINE, 3, "limits_after.ecc_errors", None)
    assert changed(broken) == {CODE: "fail"}
    assert "-03/run.json: limits_after.ecc_errors" in only(broken)
