import re
from dataclasses import replace

import pytest

from bundles import (
    DECODE,
    GUIDELINE,
    PLAIN,
    changed,
    findings,
    honest_cpu,
    honest_gpu,
    outcome,
    result,
    scaled,
    with_environment,
    with_field,
    with_hlo,
    with_plan,
)
from hlo_texts import library_gemms
from kit.bundle.layout import hlo_name
from kit.number_format import FORMATS
from kit.plan import Case

CODE = "GK205"


def widened(text):
    """Both operands of every product converted to float32, the product back to bfloat16."""
    for i in range(2):
        for name in "ab":
            shape = re.search(rf"%{name}\.{i} = bf16(\S+)", text)[1]
            wide = f"  %{name}_wide.{i} = f32{shape} convert(%{name}.{i})\n"
            text = text.replace(f"  %cublas.{i} =", f"{wide}  %cublas.{i} =")
        text = text.replace(
            f"custom-call(%a.{i}, %b.{i})", f"custom-call(%a_wide.{i}, %b_wide.{i})"
        )
    return text


def test_operands_of_another_type_warn_open_and_fail_closed():
    for division, severity in (("open", "warn"), ("closed", "fail")):
        bundle = with_hlo(honest_gpu(division), DECODE, widened)
        assert changed(bundle) == {CODE: severity, "GK304": severity}
        found = findings(CODE, bundle)
        assert len(found) == 3  # one for each run that launched it
        assert found[0].found == "f32: bf16 is emulated in tf32"
        (name,) = bundle.cases[DECODE].hlo
        assert found[0].place == f"data/cases/{DECODE}/{name}: operands of the products"


def test_a_converted_operand_on_a_cpu_is_called_emulated():
    """bf16 on a CPU: XLA converts both operands to f32 and multiplies those."""
    bundle = with_hlo(honest_cpu(), PLAIN, lambda text: text.replace("f32[", "f64["))
    (finding, _) = findings(CODE, bundle)
    assert finding.found == "f64: fp32 is emulated in fp64"
    assert finding.severity == "warn"


def as_format(number_format, **hlo):
    """The closed bundle's guideline case in another number format, as far as this rule looks."""
    bundle = honest_gpu("closed")
    case = bundle.plan.cases[0]
    case = Case(case.id, case.workload, number_format)
    text = library_gemms(case, 1, **hlo)
    found = bundle.cases[GUIDELINE]
    bundle = replace(
        bundle,
        plan=replace(bundle.plan, cases=(case, bundle.plan.cases[1])),
        cases=bundle.cases | {GUIDELINE: replace(found, hlo={hlo_name(text): text})},
    )
    for number in (1, 2, 3):
        bundle = with_field(bundle, GUIDELINE, number, "executable.hlo", hlo_name(text))
    return bundle


PLAIN_FORMATS = sorted(set(FORMATS) - {"fp32", "mxfp8", "nvfp4"})


@pytest.mark.parametrize("number_format", PLAIN_FORMATS)
def test_every_format_in_its_own_type_passes(number_format):
    assert outcome(CODE, as_format(number_format)) == "pass"


def test_fp32_must_ask_for_the_highest_precision_on_a_gpu():
    assert outcome(CODE, as_format("fp32", precision="HIGHEST")) == "pass"
    for hlo in ({"precision": "DEFAULT"}, {"precision": "HIGH"}):
        (finding, *_) = findings(CODE, as_format("fp32", **hlo))
        assert finding.found == hlo["precision"]
        assert finding.required.startswith("HIGHEST")
    algorithm = {"precision": "HIGHEST", "algorithm": "ALG_DOT_TF32_TF32_F32"}
    assert outcome(CODE, as_format("fp32", **algorithm)) == "fail"


def test_operands_of_two_types_may_come_in_either_order_but_not_be_one_type():
    mixed = as_format("e5m2_e4m3")
    (text,) = mixed.cases[GUIDELINE].hlo.values()
    pair = text.replace("custom-call(%a.0, %b.0)", "custom-call(%b.0, %a.0)")
    assert outcome(CODE, with_hlo(mixed, GUIDELINE, lambda _: pair)) == "pass"
    one = text.replace("f8e5m2", "f8e4m3fn")
    (finding, *_) = findings(CODE, with_hlo(mixed, GUIDELINE, lambda _: one))
    assert finding.found == "f8e4m3fn: e5m2_e4m3 is emulated in fp8"
    assert finding.required == "f8e5m2 x f8e4m3fn for e5m2_e4m3"


def test_a_scaled_format_that_a_host_dequantises_is_emulated():
    found = findings(CODE, scaled())
    assert {(finding.found, finding.severity) for finding in found} == {
        ("f32: mxfp8 is emulated in fp32", "warn"),
        ("f32: nvfp4 is emulated in fp32", "warn"),
    }
    assert found[0].required == "f8e4m3fn scaled by f8e8m0fnu for mxfp8"


@pytest.mark.parametrize("number_format", ["mxfp8", "nvfp4"])
def test_a_scaled_product_must_read_its_scales(number_format):
    """The operands' type alone does not make e4m3 mxfp8."""
    plain = as_format(number_format)
    (finding, *_) = findings(CODE, plain)
    assert "is emulated in" in finding.found

    def block_scaled(text):
        return text.replace("__cublas$lt$matmul$f8", "__op$block_scaled_dot").replace(
            "__cublas$lt$matmul", "__op$block_scaled_dot"
        )

    scaled_product = with_hlo(plain, GUIDELINE, block_scaled)
    assert (
        outcome(CODE, with_environment(scaled_product, device__compute_capability="10.0")) == "pass"
    )
    (finding, *_) = findings(CODE, scaled_product)
    assert finding.found.endswith(f"{number_format} is emulated in bf16")  # on a Hopper GPU


def test_tf32_at_the_highest_precision_is_fp32():
    assert outcome(CODE, as_format("tf32", precision="HIGHEST")) == "fail"
    algorithm = {"precision": "DEFAULT", "algorithm": "ALG_DOT_TF32_TF32_F32"}
    assert outcome(CODE, as_format("tf32", **algorithm)) == "pass"


@pytest.mark.parametrize("word", ["highest,highest", "highest"])
def test_a_program_without_the_precision_that_the_kit_asks_for_fails_anywhere(word):
    other = word.replace("highest", "default", 1)
    bundle = with_hlo(honest_cpu(), PLAIN, lambda text: text.replace(word, other))
    assert changed(bundle) == {CODE: "fail"}
    none = with_hlo(
        honest_cpu(), PLAIN, lambda text: text.replace(", operand_precision={highest,highest}", "")
    )
    assert changed(none) == {CODE: "fail"}


def test_the_open_division_may_not_disclose_another_precision():
    bundle = as_format("fp32", precision="DEFAULT")
    bundle = replace(bundle, plan=with_plan(bundle, submission__division="open").plan)
    assert {finding.severity for finding in findings(CODE, bundle)} == {"fail"}


@pytest.mark.parametrize("text", ["", "no module", "HloModule x\n"])
def test_a_text_that_is_no_module_proves_nothing(text):
    found = result(CODE, with_hlo(honest_gpu(), DECODE, lambda _: text))
    assert found.outcome == "unproven"
    assert "the HLO cannot be read" in found.reason


def test_a_missing_text_proves_nothing():
    bundle = with_field(honest_gpu(), DECODE, 1, "executable.hlo", "0" * 16 + ".hlo.txt")
    assert result(CODE, bundle).outcome == "unproven"


def test_no_run_proves_nothing():
    empty = {case: replace(found, runs=()) for case, found in honest_gpu().cases.items()}
    found = result(CODE, replace(with_plan(honest_gpu()), cases=empty))
    assert (found.outcome, found.reason) == ("unproven", "the bundle holds no measured run")
