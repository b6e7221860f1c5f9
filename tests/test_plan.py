"""What a plan may ask for, and the one line that refuses the rest."""

import json
from dataclasses import replace
from math import inf, nan

import pytest

from bundles import honest_cpu, honest_gpu, outcome, with_fields
from kit.bundle.documents import format_document, parse_document
from kit.errors import UsageError
from kit.evidence import Journal, Results
from kit.number_format import FORMATS
from kit.plan import MOST_RUNS, RunPlan, build_cases
from kit.records import to_json
from plans import small_plan

PLAN = honest_gpu().plan


def test_more_runs_than_a_bundle_holds_are_refused_before_they_are_measured():
    """1,000 runs are what the claims and the journal of one bundle may list."""
    plan = with_fields(PLAN, replicates=99)
    plan = replace(plan, cases=tuple(replace(PLAN.cases[0], id=f"c{i}") for i in range(10)))
    plan.validate()
    plan.require_runs(devices=1)
    with pytest.raises(UsageError, match=r"10 cases, 99 replicates, devices: 2\) is 1980.*1000"):
        plan.require_runs(devices=2)
    more = replace(plan, cases=(*plan.cases, replace(PLAN.cases[0], id="c10")))
    with pytest.raises(UsageError, match="several bundles"):
        more.validate()


@pytest.mark.parametrize(("cases", "replicates"), [(11, 90), (500, 2), (1000, 1)])
def test_what_a_plan_allows_its_documents_can_hold(cases, replicates):
    """Claims and journal as they would be, read back as the checker reads them."""
    bundle = honest_gpu()
    claim = bundle.claims.cases[0]
    claims = replace(bundle.claims, cases=tuple(
        replace(claim, id=f"case-{i}", runs=tuple(
            replace(claim.runs[0], number=number) for number in range(1, replicates + 1)))
        for i in range(cases)))  # fmt: skip
    assert cases * replicates <= MOST_RUNS
    assert parse_document(Results, format_document(claims, "results"), "results") == claims
    entry = bundle.journal.entries[1]
    many = tuple(replace(entry, sequence=i) for i in range(2 * cases * replicates + 2))
    journal = replace(bundle.journal, entries=many)
    assert parse_document(Journal, format_document(journal, "journal"), "journal") == journal


def workload(**changes):
    fields = {"name": "w", "m": 64, "n": 64, "k": 64, "batch": 1, "layout": "auto"}
    return {"workload": fields | changes, "number_format": changes.pop("number_format", "bf16")}


@pytest.mark.parametrize("plan", [PLAN, honest_cpu().plan])
def test_a_frozen_plan_comes_back_as_it_was(plan):
    text = json.dumps(to_json(plan))
    assert RunPlan.from_json(json.loads(text)) == plan


@pytest.mark.parametrize(
    ("change", "place"),
    [
        ({"submission__submitter": "Example Inc."}, "submission.submitter"),
        ({"submission__submitter": ""}, "submission.submitter"),
        ({"submission__submitter": "../up"}, "submission.submitter"),
        ({"submission__submitter": "a" * 65}, "submission.submitter"),
        ({"submission__system_id": ".hidden"}, "submission.system_id"),
        ({"submission__system_id": "a/b"}, "submission.system_id"),
        ({"submission__system_id": "line\nbreak"}, "submission.system_id"),
        ({"submission__challenge": "abc"}, "submission.challenge"),
        ({"submission__challenge": "00" * 7}, "submission.challenge"),
        ({"submission__challenge": "AB" * 8}, "submission.challenge"),
        ({"submission__challenge": "00" * 65}, "submission.challenge"),
        ({"cases": ()}, "suite.cases"),
        ({"cases": (PLAN.cases[0], PLAN.cases[0])}, "suite.cases"),
        ({"seed": -1}, "seed"),
        ({"seed": 2**53}, "seed"),
        ({"replicates": 0}, "replicates"),
        ({"replicates": 100}, "replicates"),
        ({"timing__windows": 0}, "timing.windows"),
        ({"timeout_s": 0.0}, "timeout_s"),
        ({"timeout_s": inf}, "timeout_s"),
        ({"timeout_s": nan}, "timeout_s"),
        ({"test_type__name": "fixed_frequency"}, "test_type.clock_mhz"),
        ({"test_type__clock_mhz": 1200}, "test_type.clock_mhz"),
        ({"test_type__lock": True}, "test_type.lock"),
        ({"phases__idle_s": -0.1}, "phases.idle_s"),
        ({"phases__idle_s": nan}, "phases.idle_s"),
        ({"phases__warm_up_max_s": inf}, "phases.warm_up_max_s"),
        ({"phases__warm_up_min_launches": -1}, "phases.warm_up_min_launches"),
        ({"phases__profiling_min_launches": 0}, "phases.profiling_min_launches"),
        ({"phases__warm_up_max_s": 2.9}, "phases.warm_up_max_s"),
        ({"phases__cool_down_max_s": 0.9}, "phases.cool_down_max_s"),
    ],
)
def test_what_no_machine_could_run_is_refused_with_its_place(change, place):
    plan = with_fields(PLAN, **change)
    with pytest.raises(UsageError) as refusal:
        plan.validate()
    assert refusal.value.problem.startswith(f"{place} is ")
    assert refusal.value.hint.startswith("must be ")
    assert "\n" not in str(refusal.value)


@pytest.mark.parametrize(
    "change",
    [
        {"seed": 0},
        {"seed": 2**53 - 1},
        {"replicates": 99},
        {"submission__challenge": "00" * 8},
        {"submission__challenge": "ff" * 64},
        {"submission__submitter": "a" * 64},
        {"phases__warm_up_max_s": 3.0},
        {"phases__warm_up_min_launches": 0, "phases__idle_s": 0.0},
        {"test_type__name": "fixed_frequency", "test_type__clock_mhz": 1200},
    ],
)
def test_the_edges_are_allowed(change):
    with_fields(PLAN, **change).validate()


@pytest.mark.parametrize("name", ["m", "n", "k", "batch"])
@pytest.mark.parametrize("size", [0, -1, 2**31])
def test_sizes_are_positive_and_of_32_bits(name, size):
    case = with_fields(PLAN.cases[0], **{f"workload__{name}": size})
    with pytest.raises(UsageError, match=f": {name} is {size}"):
        with_fields(PLAN, cases=(case,)).validate()


@pytest.mark.parametrize(
    ("number_format", "size", "allowed"),
    [("e4m3", 16, True), ("e4m3", 24, False), ("int8", 4, True), ("int8", 6, False),
     ("bf16", 1, True), ("e5m2_e4m3_f32", 24, False), ("mxfp8", 32, True), ("mxfp8", 8, False),
     ("nvfp4", 16, True), ("nvfp4", 8, False)],
)  # fmt: skip
def test_sizes_fit_what_the_format_multiplies_without_padding(number_format, size, allowed):
    for name in ("m", "n", "k"):
        (case,) = build_cases([workload(**{name: size}) | {"number_format": number_format}])
        plan = with_fields(PLAN, cases=(case,))
        if allowed:
            plan.validate()
        else:
            with pytest.raises(UsageError, match=f"multiple of .* for {number_format}"):
                plan.validate()


def test_k_holds_whole_blocks_of_scales():
    (case,) = build_cases([workload(m=16, n=16, k=48) | {"number_format": "mxfp8"}])
    with pytest.raises(UsageError) as caught:
        with_fields(PLAN, cases=(case,)).validate()
    assert caught.value.problem == "case w-mxfp8-nt: k is 48"
    assert caught.value.hint == "must be a multiple of 32 for mxfp8"


@pytest.mark.parametrize(
    "name",
    ["square_64", "square_128", "w_64x64x64", "w_64x64x128", "w_64x64x64_batch8", "w_1x64x64x64",
     "w_8x64x64x64", "layer_3", "layer_100", "square_", "square_1x", "w-64"],
)  # fmt: skip
@pytest.mark.parametrize("batch", [1, 8])
def test_a_name_that_the_checker_would_refuse_is_refused_before_anything_is_measured(name, batch):
    (case,) = build_cases([workload(batch=batch)])
    work = replace(case.workload, name=name)
    plan = with_fields(PLAN, cases=(replace(case, id=f"{name}-bf16-nn", workload=work),))
    plan.validate()
    if outcome("GK611", replace(honest_gpu(), plan=plan)) == "pass":
        plan.require_names()
    else:
        with pytest.raises(UsageError, match=f"case {name}-bf16-nn: workload.name is '{name}'"):
            plan.require_names()


def test_a_case_is_called_by_name_format_and_layout():
    plan = with_fields(PLAN, cases=(replace(PLAN.cases[1], id="decode-bf16-nt"),))
    with pytest.raises(UsageError) as refusal:
        plan.require_names()
    assert str(refusal.value) == "case id is 'decode-bf16-nt' (must be decode-bf16-nn)"


def test_a_case_is_found_by_its_name():
    assert PLAN.case("decode-bf16-nn") is PLAN.cases[1]
    with pytest.raises(KeyError):
        PLAN.case("other")


@pytest.mark.parametrize("name", FORMATS)
def test_an_automatic_layout_is_the_formats_own(name):
    (case,) = build_cases([workload() | {"number_format": name}])
    assert case.workload.layout == FORMATS[name].default_layout
    assert case.id == f"w-{name}-{case.workload.layout}"
    with_fields(PLAN, cases=(case,)).validate()


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        (workload() | {"number_format": "fp5"}, "number_format 'fp5' is unknown"),
        (workload(layout="xy"), "workload.layout: must be one of nn, nt, tn, tt"),
        (workload(m="64"), "workload.m: must be a whole number"),
        (workload(extra=1), "workload.extra: unknown key"),
    ],
)
def test_a_wrong_case_is_one_line(entry, message):
    with pytest.raises(UsageError, match=message):
        build_cases([entry])


@pytest.mark.parametrize("document", [None, [], {}, {"edition": 1}])
def test_what_is_no_plan_is_refused_as_one(document):
    with pytest.raises(UsageError, match=r"^plan: "):
        RunPlan.from_json(document)


def test_an_unknown_number_format_names_the_known_ones():
    document = to_json(PLAN)
    document["cases"][0]["number_format"] = "fp5"
    with pytest.raises(UsageError, match="known: fp64, fp32"):
        RunPlan.from_json(document)


@pytest.mark.parametrize(
    ("platform", "implementation", "attempts", "place"),
    [
        ("cpu", "triton", 0, "backend.implementation"),
        ("cpu", "best", 3, "backend.implementation"),
        ("cpu", "library", 1, "backend.tuning_attempts"),
        ("cuda", "best", 0, "backend.tuning_attempts"),
        ("cuda", "library", 10, "backend.tuning_attempts"),
        ("cuda", "library", -1, "backend.tuning_attempts"),
    ],
)
def test_tuning_that_cannot_be(platform, implementation, attempts, place):
    plan = small_plan()
    backend = replace(
        plan.backend,
        platform=platform,
        implementation=implementation,
        tuning_attempts=attempts,
    )
    with pytest.raises(UsageError, match=place):
        replace(plan, backend=backend).validate()


@pytest.mark.parametrize(
    ("implementation", "attempts"), [("best", 1), ("triton", 9), ("library", 0), ("triton", 0)]
)
def test_tuning_that_can_be(implementation, attempts):
    plan = small_plan()
    backend = replace(
        plan.backend, platform="cuda", implementation=implementation, tuning_attempts=attempts
    )
    replace(plan, backend=backend).validate()
