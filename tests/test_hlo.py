"""What compiled programs do, read from the text of real executables: this machine's, an H200's."""

from pathlib import Path

import jax
import jax.numpy as jnp
import pytest
from jax import lax

from hlo_texts import plain_dots
from kit.execution import XLA_TYPES, types_read
from kit.hlo.census import census
from kit.hlo.text import normalise
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
    assert types_read(found) == name
    assert (found.extra, found.loop_control) == ({}, 0)


def test_a_real_executable_that_emulates_its_type_says_so():
    """No CPU multiplies fp8: XLA converts to a wider type and multiplies that."""
    found = census(normalise(compiled("float8_e4m3fn", "bfloat16", dims=((1,), (1,)))))
    assert found.gemm_count == 1
    assert "f8e4m3fn" not in types_read(found)
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
    assert census(normalise(highest)).precisions == {"HIGHEST"}
    assert census(normalise(highest)).algorithms == {""}
    plain = compiled("float32", "float32")
    assert census(normalise(plain)).precisions == {"DEFAULT"}
    preset = compiled("float32", "float32", precision=lax.DotAlgorithmPreset.F32_F32_F32)
    assert census(normalise(preset)).algorithms == {"DOT_F32_F32_F32"}


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
    sets = {"bf16": 30, "int8": 4}  # of the loops
    assert found.gemms == {target: sets[name] * 16 if looped else 1}
    assert types_read(found) == XLA_TYPES[number_format(name).a]
    assert found.extra == {}
    assert found.loop_control == (16 + 1 if looped else 0)
    assert normalise(text) == text
    assert found.precisions == {"HIGHEST" if name == "fp32" else "DEFAULT"}
    assert found.algorithms == {"DOT_TF32_TF32_F32" if name == "tf32" else ""}


def test_real_executables_of_five_formats_and_a_loop_are_among_them():
    assert {path.name.partition("_")[0] for path in H200} >= {
        "bf16", "fp16", "fp32", "fp64", "e4m3", "int8", "tf32",
    }  # fmt: skip
    assert any("device_loop" in path.name for path in H200)


def test_the_tests_own_texts_are_read_as_real_ones_are():
    """`hlo_texts`, which the honest bundles carry, against this machine's compiler."""
    from bundles import PLAIN, honest_cpu

    case = honest_cpu().plan.case(PLAIN)
    real = compiled("float32", "float32", gemms=3, precision=lax.Precision.HIGHEST)
    ours = census(plain_dots(case, 3))
    theirs = census(normalise(real))
    assert ours.gemm_count == theirs.gemm_count
    assert (types_read(ours), ours.extra) == (types_read(theirs), theirs.extra)
    assert ours.precisions == theirs.precisions == {"HIGHEST"}


TRITON = """HloModule jit_gemms

%left (p: bf16[64,64]) -> bf16[64,64] {
  ROOT %p = bf16[64,64]{1,0} parameter(0)
}

%right (q: bf16[64,64]) -> bf16[64,64] {
  %q = bf16[64,64]{1,0} parameter(0)
WORK
}

%gemm_fusion (x: bf16[64,64], y: bf16[64,64]) -> bf16[64,64] {
  %x = bf16[64,64]{1,0} parameter(0)
  %block.0 = bf16[64,64]{1,0} fusion(%x), kind=kCustom, calls=%left
  %y = bf16[64,64]{1,0} parameter(1)
  %block.1 = bf16[64,64]{1,0} fusion(%y), kind=kCustom, calls=%right
  ROOT %dot = bf16[64,64]{1,0} dot(%block.0, %block.1), lhs_contracting_dims={1}
}

ENTRY %main (a: bf16[64,64], b: bf16[64,64]) -> bf16[64,64] {
  %a = bf16[64,64]{1,0} parameter(0)
  %b = bf16[64,64]{1,0} parameter(1)
  ROOT %d = bf16[64,64]{1,0} fusion(%a, %b), kind=kCustom, calls=%gemm_fusion
}
"""


def test_triton_wraps_each_operand_in_a_fusion_that_does_nothing():
    found = census(TRITON.replace("WORK", "  ROOT %r = bf16[64,64]{1,0} bitcast(%q)"))
    assert (found.gemms, found.extra) == ({"fusion": 1}, {})


def test_work_on_an_operand_inside_tritons_fusion_counts():
    found = census(TRITON.replace("WORK", "  ROOT %r = bf16[64,64]{1,0} convert(%q)"))
    assert (found.gemms, found.extra) == ({"fusion": 1}, {"convert": 1})


def test_fusions_further_inside_count_as_such():
    inner = "  ROOT %r = bf16[64,64]{1,0} fusion(%q), kind=kLoop, calls=%left"
    assert census(TRITON.replace("WORK", inner)).extra == {"fusion": 1}
    itself = inner.replace("%left", "%right")
    assert census(TRITON.replace("WORK", itself)).extra == {"fusion": 1}
