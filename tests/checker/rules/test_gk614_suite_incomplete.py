import pytest

from bundles import changed, findings, honest_cpu, honest_gpu, outcome, with_plan
from kit.cli.run import compose

CODE = "GK614"


def planned(*overrides, keep=lambda case: True, division="open"):
    cases = tuple(case for case in compose(overrides).plan.cases if keep(case))
    return with_plan(honest_gpu(division), overrides=overrides, cases=cases)


@pytest.mark.parametrize("bundle", [honest_gpu(), honest_gpu("closed"), honest_cpu()])
def test_a_plan_of_another_suite_is_not_judged(bundle):
    assert outcome(CODE, with_plan(bundle, overrides=("suite=example",))) == "not_applicable"
    assert outcome(CODE, with_plan(bundle, overrides=())) == "not_applicable"


@pytest.mark.parametrize("suite", ["quick", "formats", "square"])
def test_a_whole_suite(suite):
    assert outcome(CODE, planned(f"suite={suite}")) == "pass"


@pytest.mark.parametrize("division", ["open", "closed"])
def test_a_case_left_out_is_warned_of(division):
    bundle = planned(
        "suite=square",
        "number_format=bf16",
        keep=lambda case: case.workload.m != 8192,
        division=division,
    )
    (finding,) = findings(CODE, bundle)
    assert (finding.found, finding.severity) == ("none of square_8192", "warn")
    assert finding.required == "all 7 cases of suite square"


def test_a_format_left_out_is_named():
    bundle = planned("suite=formats", keep=lambda case: case.number_format != "fp16")
    assert [finding.found for finding in findings(CODE, bundle)] == ["none of square_4096-fp16"]


@pytest.mark.parametrize(
    "override", ["workload@suite.catalogue.square_512=square_1024", "suite.cases=[]"]
)
def test_a_plan_that_says_what_it_changed_is_not_judged(override):
    bundle = planned("suite=quick", keep=lambda case: case.workload.m != 512)
    said = with_plan(bundle, overrides=("suite=quick", override))
    assert outcome(CODE, said) == "not_applicable"


def test_nothing_else_minds():
    assert CODE not in changed(with_plan(honest_gpu(), overrides=("suite=guideline",)))
