"""What compiled programs do, read from texts by hand in the form that XLA prints for CUDA.

Custom calls with a workspace, Triton fusions, transposes and conversions in front of them, loops,
and texts that are no program at all.
"""

import pytest

from bundles import honest_gpu
from hlo_texts import library_gemms
from kit.execution import types_read
from kit.hlo.census import census
from kit.hlo.module import parse_module

CASES = honest_gpu().plan.cases


@pytest.mark.parametrize("gemms", [1, 2, 60])
def test_cublaslt_calls_are_counted_with_the_types_they_read(gemms):
    found = census(library_gemms(CASES[0], gemms))
    assert found.gemms == {"__cublas$lt$matmul": gemms}
    assert types_read(found) == "bf16"
    assert found.extra == {}


def module(body, others=""):
    """A module of this body; `others` are computations, one after the other."""
    parameters = [
        f"  %{name} = {kind}[64,64]{{1,0}} parameter({i})"
        for i, (name, kind) in enumerate((("a", "bf16"), ("b", "bf16"), ("q", "f8e4m3fn"),
                                          ("r", "f8e4m3fn"), ("s", "f32")))
    ]  # fmt: skip
    parameters.append("  %one = f32[] constant(1)")
    return "\n".join(
        ["HloModule jit_gemms", "", *others.splitlines(), "",
         "ENTRY %main.1 (a: bf16[64,64]) -> bf16[64,64] {", *parameters, *body.splitlines(), "}"]
    )  # fmt: skip


ADD = """%add (x: f32[], y: f32[]) -> f32[] {
  %x = f32[] parameter(0)
  %y = f32[] parameter(1)
  ROOT %s = f32[] add(%x, %y)
}
"""
RESULT = "(bf16[64,64]{{1,0}}, s8[4194304]{{0}})"
CALL = RESULT + ' custom-call({}), custom_call_target="__cublas$lt$matmul{}"'


def test_an_fp8_call_reads_fp8_and_its_scales_are_no_operands():
    found = census(module(f"  ROOT %c = {CALL.format('%q, %r, %one, %one', '$f8')}"))
    assert found.gemms == {"__cublas$lt$matmul$f8": 1}
    assert types_read(found) == "f8e4m3fn"


def test_an_fp8_product_that_became_f16_is_seen_with_its_conversions():
    body = f"""  %qh = f16[64,64]{{1,0}} convert(%q)
  %rh = f16[64,64]{{1,0}} convert(%r)
  ROOT %c = {CALL.format("%qh, %rh", "")}"""
    found = census(module(body))
    assert types_read(found) == "f16"
    assert found.extra == {"convert": 2}


TRANSPOSE = """%fused_transpose (p: f8e4m3fn[64,64]) -> f8e4m3fn[64,64] {
  %p = f8e4m3fn[64,64]{1,0} parameter(0)
  ROOT %t = f8e4m3fn[64,64]{1,0} transpose(%p), dimensions={1,0}
}"""


def test_a_transpose_in_a_fusion_of_its_own_is_extra_work():
    body = f"""  %turned = f8e4m3fn[64,64]{{1,0}} fusion(%r), kind=kInput, calls=%fused_transpose
  ROOT %c = {CALL.format("%q, %turned", "$f8")}"""
    found = census(module(body, TRANSPOSE))
    assert found.gemm_count == 1
    assert found.extra == {"transpose": 1}


TRITON = """%gemm_fusion_dot (p: bf16[64,64], r: bf16[64,64]) -> bf16[64,64] {
  %p = bf16[64,64]{1,0} parameter(0)
  %r = bf16[64,64]{1,0} parameter(1)
  %d = f32[64,64]{1,0} dot(%p, %r), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  ROOT %v = bf16[64,64]{1,0} convert(%d)
}

%reduce (p: f32[2,64,64]) -> bf16[64,64] {
  %p = f32[2,64,64]{2,1,0} parameter(0)
  %z = f32[] constant(0)
  ROOT %s = f32[64,64]{1,0} reduce(%p, %z), dimensions={0}, to_apply=%add
}"""
TRITON_CALL = (
    "%f = bf16[64,64]{1,0} fusion(%a, %b), kind=kCustom, calls=%gemm_fusion_dot, "
    'backend_config={"fusion_backend_config":{"kind":"__triton_gemm"}}'
)


def test_a_triton_fusion_is_one_product_and_its_inner_work_is_named():
    found = census(module(f"  ROOT {TRITON_CALL}", TRITON))
    assert found.gemms == {"fusion": 1}
    assert types_read(found) == "bf16"
    assert found.extra == {"convert": 1}


def test_a_split_k_reduction_is_extra_work():
    body = f"  {TRITON_CALL}\n  ROOT %g = bf16[64,64]{{1,0}} fusion(%f), kind=kInput, calls=%reduce"
    assert census(module(body, TRITON)).extra == {"convert": 1, "reduce": 1}


@pytest.mark.parametrize("opcode", ["copy", "transpose", "convert", "pad", "slice", "call", "iota"])
def test_any_other_instruction_of_the_entry_is_extra_work(opcode):
    body = f"  %x = bf16[64,64]{{1,0}} {opcode}(%a)\n  ROOT %c = {CALL.format('%x, %b', '')}"
    assert census(module(body)).extra == {opcode: 1}


def test_a_custom_call_that_is_no_gemm_is_extra_work():
    body = '  ROOT %c = bf16[64,64]{1,0} custom-call(%a), custom_call_target="SliceToDynamic"'
    found = census(module(body))
    assert (found.gemm_count, found.extra) == (0, {"custom-call": 1})


def test_a_fusion_of_two_products_is_no_gemm():
    two = TRITON.replace("  ROOT %v", "  %e = f32[64,64]{1,0} dot(%p, %p)\n  ROOT %v", 1)
    found = census(module(f"  ROOT {TRITON_CALL}", two))
    assert found.gemm_count == 0
    assert found.extra["dot"] == 2


def loop(body, trips='"known_trip_count":{"n":"16"}', entry=""):
    others = f"""%body (t: (s32[], bf16[64,64])) -> (s32[], bf16[64,64]) {{
  %t = (s32[], bf16[64,64]{{1,0}}) parameter(0)
  %i = s32[] get-tuple-element(%t), index=0
  %x = bf16[64,64]{{1,0}} get-tuple-element(%t), index=1
  %next = s32[] fusion(%i), kind=kLoop, calls=%add
{body}
  ROOT %state = (s32[], bf16[64,64]{{1,0}}) tuple(%next, %x)
}}

%add (p: s32[]) -> s32[] {{
  %p = s32[] parameter(0)
  ROOT %s = s32[] add(%p, %p)
}}"""
    config = f"backend_config={{{trips}}}"
    text = f"""{entry}  %zero = s32[] constant(0)
  %start = s32[] copy(%zero)
  %first = (s32[], bf16[64,64]{{1,0}}) tuple(%start, %a)
  ROOT %w = (s32[], bf16[64,64]{{1,0}}) while(%first), condition=%cond, body=%body, {config}"""
    return module(text, others.replace("\n\n  ROOT", "\n  ROOT"))


def test_a_loops_body_counts_once_for_each_trip_and_its_counter_apart():
    calls = "\n".join(f"  %c.{i} = {CALL.format('%x, %x', '')}" for i in range(3))
    found = census(loop(calls))
    assert found.gemms == {"__cublas$lt$matmul": 48}
    assert types_read(found) == "bf16"
    assert found.extra == {}
    assert found.loop_control == 17  # an addition a trip and one copy


def test_work_in_a_loop_counts_once_for_each_trip():
    assert census(loop("  %y = bf16[64,64]{1,0} copy(%x)")).extra == {"copy": 16}


@pytest.mark.parametrize(
    "text",
    [
        loop("", trips=""),
        loop("", trips='"known_trip_count":{"n":"many"}'),
        loop("").replace("body=%body", "body=%nobody"),
        loop("").replace("body=%body", "body=%main.1"),
        loop("  %w2 = (s32[]) while(%t), condition=%c, body=%add"),
        loop("", entry="  %w0 = (s32[]) while(%a), condition=%c, body=%body\n"),
    ],
    ids=["no trips", "trips unknown", "no body", "entry as body", "loop in loop", "two loops"],
)
def test_a_loop_that_cannot_be_counted_is_refused(text):
    with pytest.raises(ValueError, match="loop"):
        census(text)


@pytest.mark.parametrize("text", ["", "HloModule x", "ENTRY", "%f () -> f32[] {\n}", "\0" * 100])
def test_what_is_no_module_is_refused(text):
    with pytest.raises(ValueError, match=r"no ENTRY computation|does not begin|printable ASCII"):
        census(text)


def test_computations_are_found_by_name_with_their_instructions():
    found = parse_module(module(f"  ROOT {TRITON_CALL}", TRITON)).computations
    assert list(found) == ["gemm_fusion_dot", "reduce", "main.1"]
    assert [line.opcode for line in found["gemm_fusion_dot"]] == [
        "parameter", "parameter", "dot", "convert",
    ]  # fmt: skip
    text = module(f"  ROOT %c = {CALL.format('%a, %b', '')}")
    tuple_shaped = parse_module(text).computations["main.1"][-1]
    assert tuple_shaped.shape == "(bf16[64,64]{1,0}, s8[4194304]{0})"
    assert tuple_shaped.opcode == "custom-call"


@pytest.mark.parametrize(
    ("precision", "algorithm", "found"),
    [
        ("DEFAULT", "ALG_UNSET", ""),
        ("HIGHEST", "ALG_UNSET", ""),
        ("DEFAULT", "ALG_DOT_TF32_TF32_F32", "DOT_TF32_TF32_F32"),
    ],
)
def test_cublaslts_precision_and_algorithm(precision, algorithm, found):
    ran = census(library_gemms(CASES[0], 2, precision=precision, algorithm=algorithm))
    assert ran.precisions == {precision}
    assert ran.algorithms == {found}


def test_a_precision_beside_the_products_is_not_theirs():
    beside = "  %z = f32[] constant(0), frontend_attributes={operand_precision={highest}}\n"
    text = library_gemms(CASES[0], 1).replace("  %cublas.0", f"{beside}  %cublas.0")
    assert census(text).precisions == {"DEFAULT"}
