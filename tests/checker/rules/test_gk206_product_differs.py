import re

import pytest

from bundles import (
    BATCHED,
    DECODE,
    GUIDELINE,
    MXFP8,
    PLAIN,
    changed,
    device_loop,
    findings,
    honest_cpu,
    honest_gpu,
    outcome,
    result,
    scaled,
    with_field,
    with_hlo,
)

CODE = "GK206"


@pytest.mark.parametrize(
    "bundle", [honest_gpu, lambda: honest_gpu("closed"), honest_cpu, device_loop, scaled]
)
def test_programs_of_the_case_pass(bundle):
    assert outcome(CODE, bundle()) == "pass"


def swapped(old, new):
    def change(text):
        assert old in text
        return text.replace(old, new)

    return change


FORGERIES = {
    "alpha zero": (DECODE, swapped('"alpha_real":1', '"alpha_real":0'), "alpha_real is 0"),
    "beta one": (DECODE, swapped('"beta":0', '"beta":1'), "beta is 1"),
    "an epilogue": (GUIDELINE, swapped('"DEFAULT","prec', '"BIAS","prec'), "the epilogue is BIAS"),
    "tiny shapes": (GUIDELINE, lambda text: re.sub(r"\[\d+,\d+\]", "[16,16]", text), "bf16[16,16]"),
    "the other axis": (GUIDELINE, swapped('_contracting_dimensions":["0"]',
                                          '_contracting_dimensions":["1"]'), "other axes than K"),
    "nothing multiplied": (GUIDELINE, swapped("get-tuple-element(%cublas.0), index=0",
                                              "bitcast(%d.0)"), "is no product"),
    "no output at all": (DECODE, swapped(", %out.1)", ")"), "1"),
}  # fmt: skip


@pytest.mark.parametrize("division", ["open", "closed"])
@pytest.mark.parametrize("forgery", FORGERIES)
def test_another_product_fails_in_either_division(forgery, division):
    case, change, words = FORGERIES[forgery]
    bundle = with_hlo(honest_gpu(division), case, change)
    assert changed(bundle)[CODE] == "fail"
    found = findings(CODE, bundle)
    assert {finding.severity for finding in found} == {"fail"}
    assert words in found[0].found
    (name,) = bundle.cases[case].hlo
    assert found[0].place.startswith(f"data/cases/{case}/{name}: ")


@pytest.mark.parametrize(
    ("case", "old", "new"),
    [
        (PLAIN, "lhs_contracting_dims={1}", "lhs_contracting_dims={0}"),
        (PLAIN, "dot(%a.0, %b.0)", "dot(%a.0, %a.0)"),
        (BATCHED, "lhs_batch_dims={0}, ", ""),
        (BATCHED, "[2,64,48]", "[1,64,48]"),
    ],
)
def test_other_products_of_a_host_fail_too(case, old, new):
    bundle = with_hlo(honest_cpu(), case, swapped(old, new))
    assert changed(bundle)[CODE] == "fail"


def test_scales_left_out_fail():
    bundle = with_hlo(scaled(), MXFP8, swapped("dot(%scaled_a,", "dot(%wide_a,"))
    assert changed(bundle) == {CODE: "fail"}


def test_a_loop_that_runs_less_often_than_it_says_fails():
    bundle = with_hlo(device_loop(), DECODE, swapped("constant(16)", "constant(8)"))
    assert outcome(CODE, bundle) == "fail"
    assert "trips do not follow" in findings(CODE, bundle)[0].found


@pytest.mark.parametrize(
    "hidden", ["  %c = (bf16[8,8192] copy(%a.0)\n", "}\n", "ENTRY\n", "\x00\n"]
)
@pytest.mark.parametrize("division", ["open", "closed"])
def test_a_text_that_cannot_be_read_whole_fails_here_and_proves_nothing_elsewhere(hidden, division):
    bundle = with_hlo(
        honest_gpu(division),
        DECODE,
        lambda text: text.replace("  %cublas.0", f"{hidden}  %cublas.0"),
    )
    found = changed(bundle)
    assert found[CODE] == "fail"
    assert {outcome for code, outcome in found.items() if code != CODE} == {"unproven"}


def test_work_in_the_way_may_be_disclosed_in_the_open_division_only():
    """GK304 counts it there; whether the product is the case's can then not be told."""
    pad = "  %p = bf16[8,8192]{1,0} pad(%a.0, %a.0), padding=0_0x0_0\n"

    def padded(text):
        text = text.replace("  %cublas.0", f"{pad}  %cublas.0")
        return text.replace("custom-call(%a.0", "custom-call(%p")

    for division, severity in (("open", "warn"), ("closed", "fail")):
        bundle = with_hlo(honest_gpu(division), DECODE, padded)
        assert changed(bundle) == {CODE: severity, "GK304": severity}


def test_a_missing_text_proves_nothing():
    bundle = with_field(honest_gpu(), DECODE, 1, "executable.hlo", "0" * 16 + ".hlo.txt")
    assert "missing" in result(CODE, bundle).reason
