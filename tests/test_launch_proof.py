"""Every program that the kit compiles computes its launches, and no forged one passes for it."""

import re

import pytest

from forms import compiled_here, recorded_form, recorded_forms, submitted_forms
from kit.hlo import text as texts
from kit.hlo.module import array
from kit.launch_proof import Proof, prove
from kit.number_format import FORMATS

SOUND = Proof((), ())
TOO_MANY_CALLS = "its calls make it more than 2 times as long as its text"
ONE = "bf16_4096x4096x4096_nn_single"
UNROLLED = "tf32_256x384x512_b1_nn_unrolled_library"
BATCHED = "fp32_256x384x512_b3_nn_unrolled_library"
LOOP = "int8_4096x4096x4096_nt_device_loop"
TRITON = "bf16_1024x1024x1024_b1_nn_device_loop_triton"
SPLIT_K = "bf16_16x4096x4096_b1_nn_single_triton"
FP8 = "e4m3_4096x4096x4096_nt_single"
FP8_TURNED = "e4m3_256x384x512_b1_nn_device_loop_library"
SCALED = "mxfp8_256x384x512_b1_nt_single_library"


@pytest.mark.parametrize("form", list(recorded_forms()), ids=lambda form: form[0])
def test_programs_of_a_real_h200_are_proven(form):
    assert prove(*form[1:]) == SOUND


@pytest.mark.parametrize("form", list(submitted_forms()), ids=lambda form: form[0])
def test_programs_of_the_committed_bundles_are_proven(form):
    assert prove(*form[1:]) == SOUND


@pytest.mark.parametrize("mode", ["single", "unrolled"])
@pytest.mark.parametrize(("layout", "batch"), [("nn", 1), ("nt", 3), ("tn", 3), ("tt", 1)])
@pytest.mark.parametrize("name", sorted(set(FORMATS) - {"tf32"}))
def test_programs_of_this_machine_are_proven(name, layout, batch, mode):
    assert prove(*compiled_here(name, layout, batch, mode)) == SOUND


def test_no_form_is_proven_as_another_case():
    """Another size, layout or number of sets than the program was made for."""
    for _, text, work, row, sets in recorded_forms():
        for other in (
            type(work)(work.name, work.m, work.n, work.k // 2, work.batch, work.layout),
            type(work)(work.name, work.m * 2, work.n, work.k, work.batch, work.layout),
            type(work)(work.name, work.m, work.n, work.k, work.batch + 1, work.layout),
        ):
            assert prove(text, other, row, sets).products
        assert prove(text, work, row, sets + 1).products
        if work.m == work.n == work.k:
            turned = {"nn": "nt", "nt": "tn", "tn": "nn", "tt": "nn"}[work.layout]
            other = type(work)(work.name, work.m, work.n, work.k, work.batch, turned)
            assert prove(text, other, row, sets).products


def swapped(old, new, count=1):
    def change(text):
        assert old in text
        return text.replace(old, new, count)

    return change


def everywhere(pattern, new):
    def change(text):
        assert re.search(pattern, text)
        return re.sub(pattern, new, text)

    return change


def same_operands(text):
    """Every product reads what the first one reads."""
    first = re.search(r"custom-call\((%[\w.\-]+, %[\w.\-]+)", text)[1]
    return re.sub(r"custom-call\(%[\w.\-]+, %[\w.\-]+", f"custom-call({first}", text)


def before_first(line, opcode="custom-call"):
    """A line in front of the first instruction of that opcode."""
    return everywhere(rf"(?s)^(.*?\n)(  [^\n]* {opcode}\()", rf"\1  {line}\n\2")


PRODUCTS = {
    "tiny shapes": (ONE, everywhere(r"\[\d+,\d+\]", "[16,16]")),
    "half of K": (ONE, everywhere(r"(%b_0_\.1 = bf16)\[4096,4096\]", r"\1[2048,4096]")),
    "K in every shape halved": (
        "bf16_8192x8192x16384_nn_single",
        everywhere("16384", "8192"),
    ),
    "another contraction": (
        ONE,
        swapped('"lhs_contracting_dimensions":["1"]', '"lhs_contracting_dimensions":["0"]'),
    ),
    "a transposed B": (
        ONE,
        swapped('"rhs_contracting_dimensions":["0"]', '"rhs_contracting_dimensions":["1"]'),
    ),
    "alpha zero": (ONE, swapped('"alpha_real":1', '"alpha_real":0')),
    "alpha true": (ONE, swapped('"alpha_real":1', '"alpha_real":true')),
    "imaginary alpha": (ONE, swapped('"alpha_imag":0', '"alpha_imag":1')),
    "no alpha": (ONE, swapped('"alpha_real":1,', "")),
    "beta one": (ONE, swapped('"beta":0', '"beta":1')),
    "an epilogue": (ONE, swapped('"epilogue":"DEFAULT"', '"epilogue":"RELU"')),
    "no configuration": (ONE, everywhere(r'"gemm_backend_config":', '"other":')),
    "a third operand": (ONE, swapped("(%a_0_.1, %b_0_.1)", "(%a_0_.1, %b_0_.1, %d_0_.1)")),
    "A times A": (ONE, swapped("(%a_0_.1, %b_0_.1)", "(%a_0_.1, %a_0_.1)")),
    "D as an operand": (ONE, swapped("(%a_0_.1, %b_0_.1)", "(%d_0_.1, %b_0_.1)")),
    "B times A": (ONE, swapped("(%a_0_.1, %b_0_.1)", "(%b_0_.1, %a_0_.1)")),
    "D given back by columns": (ONE, everywhere(r"(= \(?bf16\[4096,4096\])\{1,0\}( custom|, s8)",
                                                r"\1{0,1}\2")),
    "D given back as it came": (ONE, swapped("get-tuple-element(%custom-call.1), index=0",
                                             "bitcast(%d_0_.1)")),
    "the workspace given back": (ONE, swapped("(%custom-call.1), index=0",
                                              "(%custom-call.1), index=1")),
    "a parameter by columns": (ONE, swapped("%a_0_.1 = bf16[4096,4096]{1,0}",
                                            "%a_0_.1 = bf16[4096,4096]{0,1}")),
    "a parameter of another type": (ONE, swapped("%a_0_.1 = bf16", "%a_0_.1 = f16")),
    "a parameter twice": (ONE, swapped("parameter(2)", "parameter(1)")),
    "one product for each matrix of the batch but strided by none": (
        BATCHED, swapped('"lhs_stride":"131072"', '"lhs_stride":"0"'),
    ),
    "a batch that is none": (
        BATCHED, swapped('"lhs_batch_dimensions":["0"]', '"lhs_batch_dimensions":[]'),
    ),
    "a scale of two": (FP8, swapped("%constant_1 = f32[] constant(1)",
                                    "%constant_1 = f32[] constant(2)")),
    "another transpose": (FP8_TURNED, swapped("dimensions={1,0}", "dimensions={0,1}")),
    "an operand sliced": (
        TRITON, everywhere(r"(?m)^(  %parameter_0[\w.]* = bf16\[1024,)1024", r"\g<1>512"),
    ),
    "half of a split K": (
        SPLIT_K, everywhere(r"\[16,8,512\]\{2,1,0\}", "[16,4,512]{2,1,0}"),
    ),
    "parts that are not added up": (
        SPLIT_K, swapped("add(%lhs, %rhs)", "maximum(%lhs, %rhs)"),
    ),
    "parts added to one": (SPLIT_K, swapped("constant(0)", "constant(1)")),
    "parts added along M": (
        SPLIT_K, everywhere(r"dimensions=\{0\}, to_apply", "dimensions={1}, to_apply"),
    ),
    "scales of the other operand": (
        SCALED, swapped("%bitcast.2.0, %bitcast.3.0)", "%bitcast.3.0, %bitcast.2.0)"),
    ),
    "fewer trips": (LOOP, swapped("s32[] constant(16)", "s32[] constant(8)")),
    "steps of two": (LOOP, swapped("%constant_8_1 = s32[] constant(1)",
                                   "%constant_8_1 = s32[] constant(2)")),
    "a late start": (LOOP, swapped("%constant_5_0 = s32[] constant(0)",
                                   "%constant_5_0 = s32[] constant(4)")),
    "a loop that asks for less": (LOOP, swapped("direction=LT", "direction=NE")),
    "D of the trip before": (LOOP, everywhere(
        r"(%get-tuple-element\.188 = s32\[4096,4096\]\{1,0\}) get-tuple-element\([^)]*\), index=0",
        r"\1 get-tuple-element(%arg_tuple.7), index=1")),
    "an operand of the trip before": (LOOP, swapped(
        "/*index=5*/%get-tuple-element.192, %get-tuple-element.193, %get-tuple-element.194, "
        "%get-tuple-element.195, %get-tuple-element.196, /*index=10*/",
        "/*index=5*/%get-tuple-element.193, %get-tuple-element.192, %get-tuple-element.194, "
        "%get-tuple-element.195, %get-tuple-element.196, /*index=10*/")),
}  # fmt: skip


@pytest.mark.parametrize("forgery", PRODUCTS)
def test_a_product_that_is_not_the_cases_is_named(forgery):
    name, change = PRODUCTS[forgery]
    text, *case = recorded_form(name)
    assert prove(text, *case) == SOUND
    forged = change(text)
    assert forged != text
    assert prove(forged, *case).products


ROTATION = {
    "one pair of operands for all": (UNROLLED, same_operands),
    "the same in a loop": (LOOP, same_operands),
    "A of the next set": (LOOP, everywhere(
        r"(%optimization_barrier\.43\.0 = [^\n]*), index=0", r"\1, index=1")),
    "two outputs exchanged": (UNROLLED, everywhere(
        r"(ROOT %[\w.]+ = \([^\n]*\) tuple\()(%[\w.\-]+), (%[\w.\-]+)", r"\1\3, \2")),
    "one output for two": (UNROLLED, everywhere(
        r"(ROOT %[\w.]+ = \([^\n]*\) tuple\()(%[\w.\-]+), (%[\w.\-]+)", r"\1\2, \2")),
    "no output in place": (UNROLLED, everywhere(r" input_output_alias=\{[^\n]*?\) \},", "")),
    "one output not in place": (UNROLLED, everywhere(r", \{2\}: \(2, \{\}, may-alias\)", "")),
    "outputs over other sets": (UNROLLED, everywhere(r"\{0\}: \(0, \{\}", "{0}: (1, {}")),
    "an output over an A": (ONE, everywhere(r"\{\}: \(0, \{\}", "{}: (1, {}")),
}  # fmt: skip


@pytest.mark.parametrize("forgery", ROTATION)
def test_a_rotation_that_is_none_is_named(forgery):
    name, change = ROTATION[forgery]
    text, *case = recorded_form(name)
    forged = change(text)
    assert forged != text
    found = prove(forged, *case)
    assert found.rotation
    assert not found.products


def test_other_work_in_the_way_is_told_from_a_false_product():
    """A pad is counted beside the products, and the open division may say so; alpha may not."""
    text, *case = recorded_form(ONE)
    padded = before_first("%p = bf16[4096,4096]{1,0} pad(%a_0_.1, %a_0_.1), padding=0_0x0_0")(text)
    padded = padded.replace("custom-call(%a_0_.1", "custom-call(%p")
    (fault,) = prove(padded, *case).products
    assert fault.is_disclosed
    assert fault.found == "comes out of p, a pad"
    (fault,) = prove(text.replace('"alpha_real":1', '"alpha_real":0'), *case).products
    assert not fault.is_disclosed
    assert fault.found == "comes out of custom-call.1: alpha_real is 0"


def test_a_program_that_calls_without_end_is_given_up():
    text, *case = recorded_form(ONE)
    levels = "".join(
        f"%g{i} (p: bf16[4096,4096]) -> bf16[4096,4096] {{\n"
        "  %p = bf16[4096,4096]{1,0} parameter(0)\n"
        + "".join(
            f"  %f{j} = bf16[4096,4096]{{1,0}} fusion(%p), calls=%g{i + 1}\n" for j in range(20)
        )
        + "  ROOT %h = bf16[4096,4096]{1,0} copy(%p)\n}\n\n"
        for i in range(8)
    )
    deep = before_first("%q = bf16[4096,4096]{1,0} fusion(%a_0_.1), calls=%g0")(text)
    (fault,) = prove(deep.replace("ENTRY", levels + "ENTRY"), *case).products
    assert (fault.place, fault.found) == ("program", TOO_MANY_CALLS)


def test_a_short_computation_of_many_operands_is_not_followed_again_and_again():
    """Two instructions, of which one reads 2,000 operands, called a hundred times."""
    text, *case = recorded_form(ONE)
    wide = (
        "%wide (p: bf16[4096,4096]) -> (f32[]) {\n"
        "  %p = bf16[4096,4096]{1,0} parameter(0)\n"
        f"  ROOT %t = (f32[]) tuple({', '.join(['%p'] * 2000)})\n}}\n\n"
    )
    calls = "\n  ".join(f"%f{j} = (f32[]) fusion(%a_0_.1), calls=%wide" for j in range(100))
    called = before_first(calls)(text).replace("ENTRY", wide + "ENTRY")
    (fault,) = prove(called, *case).products
    assert (fault.place, fault.found) == ("program", TOO_MANY_CALLS)


def test_programs_are_kept_for_the_next_bundle_until_they_are_many(monkeypatch):
    monkeypatch.setattr(texts, "MOST_KEPT", -1)
    texts.forget()
    program = recorded_form(ONE)[0]
    monkeypatch.setattr(texts, "MOST_KEPT", len(program))
    found, kind = texts.parsed(program), array("bf16[4096,4096]{1,0}")
    texts.forget()
    assert texts.parsed("".join(list(program))) is found
    monkeypatch.setattr(texts, "MOST_KEPT", len(program) - 1)
    texts.forget()
    assert texts.parsed(program) is not found
    assert texts.parsed(program) == found
    assert array("bf16[4096,4096]{1,0}") is not kind
    assert array("bf16[4096,4096]{1,0}") == kind
