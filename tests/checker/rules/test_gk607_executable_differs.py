from dataclasses import replace

import pytest

from bundles import (
    DECODE,
    GUIDELINE,
    changed,
    device_loop,
    findings,
    fixed_frequency,
    honest_cpu,
    honest_gpu,
    outcome,
    with_field,
    with_fields,
    with_hlo,
    with_plan,
    with_run,
)
from hlo_texts import plain_dots
from honest import hlo_file
from honest_gpu import AUTOTUNE
from kit.bundle.layout import autotune_name

CODE = "GK607"
DIVISIONS = pytest.mark.parametrize(("division", "verdict"), [("open", "warn"), ("closed", "fail")])
LOAD = "xla_gpu_load_autotune_results_from"
COMPLETE = "xla_gpu_require_complete_aot_autotune_results"


def texts(bundle):
    return [f"{f.place} | {f.found} | {f.required}" for f in findings(CODE, bundle)]


def with_executable(bundle, **changes):
    """The second run of the guideline case, its executable changed."""
    changes = {f"executable__{name}": value for name, value in changes.items()}

    def change(run):
        return replace(run, document=with_fields(run.document, **changes))

    return with_run(bundle, GUIDELINE, 2, change, derive=False)


def in_all(bundle, path, value):
    for case in (GUIDELINE, DECODE):
        for number in (1, 2, 3):
            bundle = with_field(bundle, case, number, path, value)
    return bundle


@pytest.mark.parametrize(
    "bundle",
    [honest_gpu(), honest_gpu("closed"), fixed_frequency(), device_loop(), honest_cpu()],
)
def test_honest(bundle):
    assert outcome(CODE, bundle) == "pass"


@DIVISIONS
def test_a_replicate_with_another_program(division, verdict):
    bundle = honest_gpu(division)
    case = bundle.cases[GUIDELINE]
    ((_, text),) = case.hlo.items()
    name, other = hlo_file(text.replace('"selected_algorithm":"0"', '"selected_algorithm":"7"'))
    bundle = replace(
        bundle, cases=bundle.cases | {GUIDELINE: replace(case, hlo=case.hlo | {name: other})}
    )
    broken = with_executable(bundle, hlo=name)
    assert changed(broken) == {CODE: verdict}
    differing, not_chosen = texts(broken)
    assert "case.json | 2 programs on gpu-3f0a51c2d9e8" in differing
    assert f"library {name} | library " in not_chosen


@DIVISIONS
def test_a_replicate_that_tuned_for_itself(division, verdict):
    broken = with_executable(
        honest_gpu(division), autotune=None, autotune_reason="XLA wrote no autotune results"
    )
    assert changed(broken) == {CODE: verdict}
    differing, unpinned = texts(broken)
    assert "2 tunings" in differing
    assert "executable.autotune | none: XLA wrote no autotune results" in unpinned


def test_no_tuning_at_all():
    broken = in_all(honest_gpu("closed"), "executable.autotune", None)
    assert outcome(CODE, broken) == "fail"
    assert "none: no reason given" in texts(broken)[0]


@pytest.mark.parametrize(
    ("option", "value"), [(LOAD, "other.autotune.txt"), (COMPLETE, "False"), (COMPLETE, None)]
)
def test_results_that_were_not_replayed(option, value):
    options = dict(honest_gpu().cases[GUIDELINE].runs[1].document.executable.options)
    options |= {option: value} if value is not None else {}
    if value is None:
        del options[option]
    broken = with_executable(honest_gpu(), options=options)
    assert changed(broken) == {CODE: "fail"}
    (text,) = texts(broken)
    assert f"executable.options.{option} | {value or 'not set'}" in text


@DIVISIONS
def test_a_slower_candidate(division, verdict):
    """The tuner had found a faster program than the one measured."""
    bundle = honest_gpu(division)
    first, triton, second = bundle.cases[GUIDELINE].runs[1].document.dispatch.candidates
    faster = (first, triton, replace(second, period_ns=first.period_ns * 0.9))
    broken = with_field(bundle, GUIDELINE, 2, "dispatch.candidates", faster)
    assert changed(broken) == {CODE: verdict}
    assert f"library {second.hlo}, the tuner's fastest" in texts(broken)[0]
    unclean = (first, replace(triton, period_ns=1.0, extra={"reduce": 1}), second)
    fine = with_field(bundle, GUIDELINE, 2, "dispatch.candidates", unclean)
    assert outcome(CODE, fine) == "pass"


def test_no_candidates():
    broken = with_field(honest_gpu(), GUIDELINE, 2, "dispatch.candidates", ())
    assert changed(broken) == {CODE: "warn"}
    assert "no candidate that was timed" in texts(broken)[0]


def test_another_implementation_than_planned():
    broken = with_plan(honest_gpu(), backend__implementation="triton")
    assert outcome(CODE, broken) == "fail"
    assert {text.split(" | ", 1)[1] for text in texts(broken)} == {"library | triton, as planned"}
    assert outcome(CODE, with_plan(honest_gpu(), backend__implementation="library")) == "pass"


def test_options_of_another_implementation():
    options = dict(honest_gpu().cases[GUIDELINE].runs[1].document.executable.options)
    broken = with_executable(honest_gpu(), options=options | {"xla_gpu_enable_triton_gemm": "True"})
    assert changed(broken) == {CODE: "fail"}
    assert (
        "xla_gpu_enable_triton_gemm | True | False, for implementation library" in texts(broken)[0]
    )


def test_kernels_of_another_implementation():
    case = honest_gpu().plan.case(GUIDELINE)
    broken = with_hlo(honest_gpu(), GUIDELINE, lambda _: plain_dots(case, 1))
    assert outcome(CODE, broken) == "fail"
    assert "products | dot | __cublas, for implementation library" in texts(broken)[0]


def test_a_program_that_cannot_be_read_proves_nothing():
    broken = with_hlo(honest_gpu(), GUIDELINE, lambda _: "HloModule nothing\n")
    assert outcome(CODE, broken) == "unproven"


def test_two_programs_of_a_cpu():
    bundle = honest_cpu()
    case = bundle.plan.cases[0].id
    name = "0123456789abcdef.hlo.txt"
    broken = with_field(bundle, case, 2, "executable.hlo", name)
    assert outcome(CODE, broken) == "warn"
    assert autotune_name(AUTOTUNE) not in texts(broken)[0]


def named(bundle, name):
    """The GEMM of run 2's trace called otherwise."""

    def change(run):
        names = tuple(name if found == run.trace.gemm_name else found for found in run.trace.names)
        return replace(run, trace=replace(run.trace, names=names, gemm_name=name))

    return with_run(bundle, GUIDELINE, 2, change)


@pytest.mark.parametrize("division", ["open", "closed"])
@pytest.mark.parametrize("name", ["gemm_fusion_dot_0", "triton_gemm_dot"])
def test_a_traced_kernel_of_the_compiler_is_none_of_the_librarys(division, name):
    bundle = named(honest_gpu(division), name)
    assert outcome(CODE, bundle) == "fail"
    assert any(text.endswith("implementation library, as the program") for text in texts(bundle))


@pytest.mark.parametrize("name", ["ampere_sgemm_128x64_nn", "void gemvNSP_kernel", "a_new_kernel"])
def test_names_that_nobody_knows_tell_nothing(name):
    assert outcome(CODE, named(honest_gpu(), name)) == "pass"


def test_a_librarys_kernel_is_none_of_tritons():
    bundle = in_all(honest_gpu(), "executable.implementation", "triton")
    wanted = "a kernel of implementation triton, as the program"
    assert sum(text.endswith(wanted) for text in texts(bundle)) == 6
