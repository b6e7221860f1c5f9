from dataclasses import replace

import pytest

from bundles import (
    DECODE,
    GUIDELINE,
    MXFP8,
    NVFP4,
    PLAIN,
    changed,
    findings,
    honest_cpu,
    honest_gpu,
    outcome,
    scaled,
    with_environment,
    with_field,
    with_plan,
)

CODE = "GK307"
L2 = 62_914_560


@pytest.mark.parametrize("name", ["input_bytes_per_set", "output_bytes_per_set"])
@pytest.mark.parametrize(("honest", "case"), [(honest_gpu, DECODE), (honest_cpu, PLAIN)])
def test_sizes_follow_from_the_case(honest, case, name):
    bundle = with_field(honest(), case, 2, f"rotation.{name}", lambda size: size + 2)
    assert changed(bundle) == {CODE: "fail"}
    (finding,) = findings(CODE, bundle)
    assert finding.place.endswith(f"-02/run.json: rotation.{name}")


def test_one_set_too_few_fails():
    needed = honest_cpu().cases[PLAIN].runs[0].document.rotation.sets
    bundle = with_field(honest_cpu(), PLAIN, 1, "rotation.sets", needed - 1)
    (finding,) = findings(CODE, bundle)
    assert (finding.found, finding.required) == (
        str(needed - 1),
        f"at least {needed} for a cache of {2**20} bytes",
    )
    more = with_field(honest_cpu(), PLAIN, 1, "rotation.sets", needed + 1)
    assert outcome(CODE, more) == "pass"


def test_scales_count_and_four_bit_elements_are_packed():
    found = {case: scaled().cases[case].runs[0].document.rotation for case in (MXFP8, NVFP4)}
    operands = 64 * 128 + 48 * 128
    assert found[MXFP8].input_bytes_per_set == operands + operands // 32
    assert found[NVFP4].input_bytes_per_set == operands // 2 + operands // 16
    bundle = with_field(scaled(), NVFP4, 1, "rotation.input_bytes_per_set", operands // 2)
    assert changed(bundle) == {CODE: "fail"}


def test_a_large_problem_still_needs_two_sets():
    bundle = with_field(honest_gpu(), GUIDELINE, 1, "rotation.sets", 1)
    (finding,) = findings(CODE, bundle)
    assert finding.required.startswith("at least 2 ")


def test_the_cache_is_the_devices():
    bundle = with_field(honest_gpu(), GUIDELINE, 1, "rotation.cache_bytes", L2 - 1)
    assert changed(bundle) == {CODE: "fail"}
    (finding,) = findings(CODE, bundle)
    assert finding.required.startswith(f"{L2}, as data/environment.json")


@pytest.mark.parametrize(("cache", "wanted"), [(int(0.96 * L2), "pass"), (int(0.94 * L2), "fail")])
def test_a_device_of_the_table_has_about_the_tables_cache(cache, wanted):
    bundle = with_environment(honest_gpu(), device__cache_bytes=cache)
    for case, found in bundle.cases.items():
        for run in found.runs:
            number = run.document.number
            bundle = with_field(bundle, case, number, "rotation.cache_bytes", cache)
    assert outcome(CODE, bundle) == wanted
    assert all("cache_bytes of gpu-" in finding.place for finding in findings(CODE, bundle))


def test_a_device_that_is_in_no_table_is_believed():
    bundle = with_environment(honest_gpu(), device__cache_bytes=2**20, device__sm_count=7)
    for case, found in bundle.cases.items():
        for run in found.runs:
            bundle = with_field(bundle, case, run.document.number, "rotation.cache_bytes", 2**20)
    assert outcome(CODE, bundle) == "pass"


def test_pools_fit_into_the_devices_memory():
    work = honest_gpu().plan.cases[0].workload
    pools = 2 * (2 * 8192 * 16384 * 2 + 8192 * 8192 * 2)
    assert work.elements("a") * 2 == 8192 * 16384 * 2
    fits = with_environment(honest_gpu(), device__memory_bytes=pools)
    assert outcome(CODE, fits) == "pass"
    bundle = with_environment(honest_gpu(), device__memory_bytes=pools - 1)
    assert outcome(CODE, bundle) == "fail"
    assert "at most the device's" in findings(CODE, bundle)[0].required


def test_another_workload_than_the_one_measured_fails():
    case = honest_gpu().plan.cases[0]
    larger = replace(case, workload=replace(case.workload, k=2 * case.workload.k))
    bundle = with_plan(honest_gpu(), cases=(larger, honest_gpu().plan.cases[1]))
    assert outcome(CODE, bundle) == "fail"
