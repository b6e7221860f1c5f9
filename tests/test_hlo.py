"""What compiled programs do, read from their text: real executables, and cuBLASLt's by hand.

The texts in CUDA's form follow what XLA prints for an H200: custom calls with a workspace, Triton
fusions, and the transposes and conversions that it puts in front of them.
"""

import time
from pathlib import Path

import jax
import jax.numpy as jnp
import pytest
from jax import lax

from bundles import honest_gpu
from hlo_texts import library_gemms, plain_dots
from kit.checker.programs import type_name
from kit.hlo import census, computations, dot_algorithms, normalise, operand_precisions
from kit.number_format import number_format
from recorded import FOLDER


def compiled(operand, output, *, gemms=1, shape=(96, 64, 128), precision=None, dims=((1,), (0,))):
    """Text of a real executable of this machine's processor, written in place over its outputs."""
    m, n, k = shape

    def multiply(d, a, b):
        return [
            lax.dot_general(x, y, (dims, ((), ())), precision=precision,
                            preferred_element_type=jnp.dtype(output))
            for x, y in zip(a, b, strict=True)
        ]  # fmt: skip

    def pool(kind, rows, columns):
        return [jax.ShapeDtypeStruct((rows, columns), jnp.dtype(kind))] * gemms

    b = (n, k) if dims == ((1,), (1,)) else (k, n)
    call = jax.jit(multiply, donate_argnums=(0,), keep_unused=True)
    with jax.enable_x64("float64" in (operand, output)):
        lowered = call.lower(pool(output, m, n), pool(operand, m, k), pool(operand, *b))
        return lowered.compile().as_text()


@pytest.mark.parametrize("gemms", [1, 2, 9])
@pytest.mark.parametrize(
    ("operand", "name"), [("float32", "f32"), ("float64", "f64"), ("int8", "s8")]
)
def test_a_real_executable_holds_its_gemms_and_nothing_else(gemms, operand, name):
    output = "int32" if operand == "int8" else operand
    found = census(normalise(compiled(operand, output, gemms=gemms)))
    assert found.gemm_count == gemms
    assert found.operand_types == {name}
    assert (found.extra, found.loop_control) == ({}, 0)


def test_a_real_executable_that_emulates_its_type_says_so():
    """No CPU multiplies fp8: XLA converts to a wider type and multiplies that."""
    found = census(normalise(compiled("float8_e4m3fn", "bfloat16", dims=((1,), (1,)))))
    assert found.gemm_count == 1
    assert "f8e4m3fn" not in found.operand_types
    assert found.extra["convert"] >= 2


def test_a_real_copy_is_extra_work():
    """A result that is returned twice has to be copied."""

    def twice(d, a, b):
        product = a @ b
        return [product, product]

    spec = jax.ShapeDtypeStruct((64, 64), jnp.float32)
    call = jax.jit(twice, donate_argnums=(0,), keep_unused=True)
    found = census(normalise(call.lower([spec, spec], spec, spec).compile().as_text()))
    assert found.gemm_count == 1
    assert found.extra == {"copy": 1}


def test_real_products_of_the_same_operands_are_merged_and_so_counted():
    def repeat(d, a, b):
        return [a @ b, a @ b, a @ b]

    spec = jax.ShapeDtypeStruct((64, 64), jnp.float32)
    text = jax.jit(repeat).lower(spec, spec, spec).compile().as_text()
    assert census(normalise(text)).gemm_count == 1


def test_a_real_loop_whose_products_were_moved_out_of_it_is_seen_through():
    """XLA's CPU pipeline may multiply once before the loop and copy the result at each trip."""

    def loop(d, a, b):
        def trip(count, _outputs):
            tied_a, tied_b, _ = lax.optimization_barrier((a, b, count))
            return [x @ y for x, y in zip(tied_a, tied_b, strict=True)]

        return lax.fori_loop(0, 16, trip, d)

    pool = [jax.ShapeDtypeStruct((64, 64), jnp.float32)] * 2
    call = jax.jit(loop, donate_argnums=(0,), keep_unused=True)
    found = census(normalise(call.lower(pool, pool, pool).compile().as_text()))
    moved_out = found.gemm_count == 2
    assert moved_out or found.gemm_count == 32  # 16 trips of both
    assert bool(found.extra) == moved_out
    assert found.loop_control > 0


def test_precision_and_algorithm_of_real_executables():
    highest = compiled("float32", "float32", precision=lax.Precision.HIGHEST)
    assert operand_precisions(highest) == {"HIGHEST"}
    assert dot_algorithms(highest) == frozenset()
    plain = compiled("float32", "float32")
    assert operand_precisions(plain) == frozenset()
    preset = compiled("float32", "float32", precision=lax.DotAlgorithmPreset.F32_F32_F32)
    assert dot_algorithms(preset) == {"DOT_F32_F32_F32"}


def test_normalising_hides_where_the_program_was_written_and_nothing_else():
    raw = compiled("float32", "float32")
    text = normalise(raw)
    here = Path(__file__).name
    assert here in raw
    assert here not in text
    assert "metadata" not in text
    assert "FileNames" not in text
    assert normalise(text) == text
    assert text == normalise(compiled("float32", "float32"))  # the same program from another line
    kept = [line for line in raw.splitlines() if " = " in line and not line[:1].isdigit()]
    assert len(kept) == sum(" = " in line for line in text.splitlines())


def test_metadata_with_braces_and_quotes_goes_too():
    line = r'  %x = f32[] add(%a, %b), metadata={op_name="a\"}{" source_file="/home/me"}, k={1}'
    assert normalise(line) == "%x = f32[] add(%a, %b), k={1}\n"


H200 = sorted((FOLDER / "hlo").glob("*.hlo.txt"))


@pytest.mark.parametrize("path", H200, ids=lambda path: path.name)
def test_executables_of_a_real_h200_hold_their_gemms_and_nothing_else(path):
    text = path.read_text()
    name = path.name.partition("_")[0]
    looped = "device_loop" in path.name
    found = census(text)
    target = "__cublas$lt$matmul$f8" if name == "e4m3" else "__cublas$lt$matmul"
    assert found.gemms == {target: 30 * 16 if looped else 1}
    assert found.operand_types == {type_name(number_format(name).operand)}
    assert found.extra == {}
    assert found.loop_control == (16 + 1 if looped else 0)
    assert normalise(text) == text
    if not looped:
        assert operand_precisions(text) == {"HIGHEST" if name == "fp32" else "DEFAULT"}


def test_real_executables_of_five_formats_and_a_loop_are_among_them():
    assert {path.name.partition("_")[0] for path in H200} >= {
        "bf16", "fp16", "fp32", "fp64", "e4m3",
    }  # fmt: skip
    assert any("device_loop" in path.name for path in H200)


CASES = honest_gpu().plan.cases


@pytest.mark.parametrize("gemms", [1, 2, 60])
def test_cublaslt_calls_are_counted_with_the_types_they_read(gemms):
    found = census(library_gemms(CASES[0], gemms))
    assert found.gemms == {"__cublas$lt$matmul": gemms}
    assert found.operand_types == {"bf16"}
    assert found.extra == {}


def module(body, others=""):
    parameters = [
        f"  %{name} = {kind}[64,64]{{1,0}} parameter({i})"
        for i, (name, kind) in enumerate((("a", "bf16"), ("b", "bf16"), ("q", "f8e4m3fn"),
                                          ("r", "f8e4m3fn"), ("s", "f32")))
    ]  # fmt: skip
    return "\n".join(
        ["HloModule jit_gemms", "", *others.splitlines(), "",
         "ENTRY %main.1 (a: bf16[64,64]) -> bf16[64,64] {", *parameters, *body.splitlines(), "}"]
    )  # fmt: skip


RESULT = "(bf16[64,64]{{1,0}}, s8[4194304]{{0}})"
CALL = RESULT + ' custom-call({}), custom_call_target="__cublas$lt$matmul{}"'


def test_an_fp8_call_reads_fp8_and_its_scales_are_no_operands():
    found = census(module(f"  ROOT %c = {CALL.format('%q, %r, %one, %one', '$f8')}"))
    assert found.gemms == {"__cublas$lt$matmul$f8": 1}
    assert found.operand_types == {"f8e4m3fn"}


def test_an_fp8_product_that_became_f16_is_seen_with_its_conversions():
    body = f"""  %qh = f16[64,64]{{1,0}} convert(%q)
  %rh = f16[64,64]{{1,0}} convert(%r)
  ROOT %c = {CALL.format("%qh, %rh", "")}"""
    found = census(module(body))
    assert found.operand_types == {"f16"}
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
    assert found.operand_types == {"bf16"}
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
}}
%add (p: s32[]) -> s32[] {{
  %p = s32[] parameter(0)
  ROOT %s = s32[] add(%p, %p)
}}"""
    config = f"backend_config={{{trips}}}"
    text = f"""{entry}  %zero = s32[] constant(0)
  %start = s32[] copy(%zero)
  ROOT %w = (s32[], bf16[64,64]{{1,0}}) while(%start), condition=%cond, body=%body, {config}"""
    return module(text, others)


def test_a_loops_body_counts_once_for_each_trip_and_its_counter_apart():
    calls = "\n".join(f"  %c.{i} = {CALL.format('%x, %x', '')}" for i in range(3))
    found = census(loop(calls))
    assert found.gemms == {"__cublas$lt$matmul": 48}
    assert found.operand_types == {"bf16"}
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
        loop("", entry="  %w0 = (s32[]) while(%t), condition=%c, body=%body\n"),
    ],
    ids=["no trips", "trips unknown", "no body", "entry as body", "loop in loop", "two loops"],
)
def test_a_loop_that_cannot_be_counted_is_refused(text):
    with pytest.raises(ValueError, match="loop"):
        census(text)


@pytest.mark.parametrize("text", ["", "HloModule x", "ENTRY", "%f () -> f32[] {\n}", "\0" * 100])
def test_what_is_no_module_is_refused(text):
    with pytest.raises(ValueError, match="no ENTRY computation"):
        census(text)


def test_computations_are_found_by_name_with_their_instructions():
    found, entry = computations(module(f"  ROOT {TRITON_CALL}", TRITON))
    assert entry == "main.1"
    assert list(found) == ["gemm_fusion_dot", "reduce", "main.1"]
    assert [line.opcode for line in found["gemm_fusion_dot"]] == [
        "parameter", "parameter", "dot", "convert",
    ]  # fmt: skip
    tuple_shaped = computations(module(f"  ROOT %c = {CALL.format('%a, %b', '')}"))[0]["main.1"][-1]
    assert tuple_shaped.shape == "(bf16[64,64]{1,0}, s8[4194304]{0})"
    assert tuple_shaped.opcode == "custom-call"


def test_a_hostile_text_costs_no_more_than_its_length():
    """Twenty thousand fusions that call one computation of twenty thousand instructions."""
    many = 20_000
    inner = "\n".join(f"  %i.{i} = f32[] add(%p, %p)" for i in range(many))
    calls = "\n".join(
        f"  %f.{i} = f32[64]{{0}} fusion(%a), kind=kLoop, calls=%f" for i in range(many)
    )
    text = module(calls, "%f (p: f32[]) -> f32[] {\n" + inner + "\n}")
    started = time.monotonic()
    assert census(text).extra == {"add": many * many}
    assert census(module("  %x = (" + "(" * 10**6)).extra == {}
    assert time.monotonic() - started < 10


@pytest.mark.parametrize(
    ("precision", "algorithm", "precisions", "algorithms"),
    [
        ("DEFAULT", "ALG_UNSET", {"DEFAULT"}, set()),
        ("HIGHEST", "ALG_UNSET", {"HIGHEST"}, set()),
        ("DEFAULT", "ALG_DOT_TF32_TF32_F32", {"DEFAULT"}, {"ALG_DOT_TF32_TF32_F32"}),
    ],
)
def test_cublaslts_precision_and_algorithm(precision, algorithm, precisions, algorithms):
    text = library_gemms(CASES[0], 2, precision=precision, algorithm=algorithm)
    assert operand_precisions(text) == precisions
    assert dot_algorithms(text) == algorithms


def test_the_tests_own_texts_are_read_as_real_ones_are():
    """`hlo_texts`, which the honest bundles carry, against this machine's compiler."""
    from bundles import PLAIN, honest_cpu

    case = honest_cpu().plan.case(PLAIN)
    real = compiled("float32", "float32", gemms=3, precision=lax.Precision.HIGHEST)
    ours = census(plain_dots(case, 3))
    theirs = census(normalise(real))
    assert ours.gemm_count == theirs.gemm_count
    assert (ours.operand_types, ours.extra) == (theirs.operand_types, theirs.extra)
    assert operand_precisions(plain_dots(case, 3)) == operand_precisions(real)
