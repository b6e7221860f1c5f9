from dataclasses import replace

import pytest

from bundles import findings, honest_cpu, honest_gpu, outcome, scaled

CODE = "GK611"


def first_case(**changes):
    bundle = honest_gpu()
    case, *others = bundle.plan.cases
    work = {
        key: changes.pop(key) for key in list(changes) if key in ("name", "m", "n", "k", "batch")
    }
    case = replace(case, workload=replace(case.workload, **work), **changes)
    return replace(bundle, plan=replace(bundle.plan, cases=(case, *others)))


@pytest.mark.parametrize("bundle", [honest_gpu(), honest_cpu(), scaled()])
def test_honest(bundle):
    assert outcome(CODE, bundle) == "pass"


@pytest.mark.parametrize("name", ["square_16384-fp64-nn", "guideline-bf16-nt", "guideline-bf16"])
def test_an_id_is_name_format_and_layout(name):
    broken = first_case(id=name)
    assert outcome(CODE, broken) == "fail"
    (finding,) = findings(CODE, broken)
    assert (finding.found, finding.required) == (name, "guideline-bf16-nn")


@pytest.mark.parametrize(
    ("name", "wanted"),
    [
        ("square_16384", "fail"),
        ("square_8192", "fail"),
        ("guideline_8192x8192x16384", "pass"),
        ("guideline_8192x16384x8192", "fail"),
        ("layer_3", "pass"),
        ("square_", "pass"),
        ("square_16384x", "fail"),
        ("square_4096x", "fail"),
        ("squared_4096", "fail"),
        ("layer_99", "pass"),
        ("layer_100", "fail"),
        ("layer_16384", "pass"),
        ("mlp_8192_to_16384", "pass"),
        ("mlp_8192_to_16385", "fail"),
        ("square_" + "9" * 10, "fail"),
    ],
)
def test_a_name_that_says_sizes_says_the_right_ones(name, wanted):
    assert outcome(CODE, first_case(name=name, id=f"{name}-bf16-nn")) == wanted


@pytest.mark.parametrize(
    ("name", "wanted"),
    [
        ("square_512", "fail"),
        ("square_512_batch64", "pass"),
        ("square_512_batch6", "fail"),
        ("prefill_512x512x512", "fail"),
        ("prefill_512x512x512_batch64", "pass"),
        ("batched_64x512x512x512", "pass"),
        ("batched_65x512x512x512", "fail"),
        ("pair", "pass"),
    ],
)
def test_a_name_of_sizes_tells_how_many_products(name, wanted):
    broken = first_case(name=name, id=f"{name}-bf16-nn", m=512, n=512, k=512, batch=64)
    assert outcome(CODE, broken) == wanted
