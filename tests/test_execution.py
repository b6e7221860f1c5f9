"""What ran, read from programs: XLA's own for an H200, this processor's, and hand-made ones."""

import re
from pathlib import Path
from typing import get_args

import jax
import jax.numpy as jnp
import pytest

from bundles import honest_gpu
from hlo_texts import library_gemms
from kit.backends.jax_product import product, specification
from kit.execution import execution
from kit.hlo.census import census
from kit.hlo.text import normalise
from kit.number_format import FORMATS, number_format
from kit.surfaces import inputs
from kit.workload import Layout, Workload

H200 = Path(__file__).parent / "data" / "h200" / "hlo"
RECORDED = sorted(path.name.removesuffix(".hlo.txt") for path in H200.glob("*.hlo.txt"))


HOST, HOPPER, BLACKWELL = None, "9.0", "10.0"


def ran(text, name, capability=HOPPER):
    return execution(text, number_format(name), capability)


@pytest.mark.parametrize("name", RECORDED)
def test_what_xla_compiled_for_an_h200_is_native(name):
    text = (H200 / f"{name}.hlo.txt").read_text(encoding="utf-8")
    row = number_format(name.split("_")[0])
    found = ran(text, row.name)
    assert (found.executed, found.native, found.reason) == (row.arithmetic, True, "")
    m, n, k = (int(size) for size in name.split("_")[1].split("x"))
    assert census(text).flops == 2 * m * n * k * census(text).gemm_count


def compiled(name, layout="", batch=1, size=64):
    """The backend's product of one set, by this machine's compiler."""
    row = number_format(name)
    work = Workload("w", size, size, size, batch, layout or row.default_layout)
    place = jax.sharding.SingleDeviceSharding(jax.devices("cpu")[0])
    with jax.enable_x64(row.needs_x64):
        traced = product(work, row, "cpu")
        shapes = [specification(work, row, surface, place) for surface in inputs(row)]
        return work, normalise(jax.jit(traced).lower(*shapes).compile().as_text())


@pytest.mark.parametrize("name", ["fp64", "fp32", "int8"])
@pytest.mark.parametrize("layout", get_args(Layout))
@pytest.mark.parametrize("batch", [1, 5])
def test_a_processor_multiplies_its_own_types_in_every_layout(name, layout, batch):
    work, text = compiled(name, layout, batch)
    found = ran(text, name, HOST)
    # XLA has no kernel for int8 whose A lies transposed: it widens both operands.
    widened = name == "int8" and layout[0] == "t"
    assert (found.executed, found.native) == ("int32" if widened else name, not widened)
    assert census(text).flops == work.flops == 2 * 64**3 * batch


@pytest.mark.parametrize("name", ["e4m3", "e5m2_e4m3_f32", "mxfp8", "nvfp4"])
@pytest.mark.parametrize("layout", get_args(Layout))
def test_a_processor_emulates_narrow_types_and_the_reason_says_in_what(name, layout):
    work, text = compiled(name, layout)
    found = ran(text, name, HOST)
    assert not found.native
    assert found.executed in ("fp32", "fp16", "bf16")
    assert found.reason.startswith(f"{name} is emulated in {found.executed}")
    assert census(text).flops == work.flops


CASE = honest_gpu().plan.cases[0]
GUIDELINE = library_gemms(CASE, 2)


def as_types(a, b):
    return (
        GUIDELINE.replace("%a.0 = bf16[", f"%a.0 = {a}[")
        .replace("%b.0 = bf16[", f"%b.0 = {b}[")
        .replace("%a.1 = bf16[", f"%a.1 = {a}[")
        .replace("%b.1 = bf16[", f"%b.1 = {b}[")
    )


@pytest.mark.parametrize(
    ("a", "b", "executed"),
    [
        ("bf16", "bf16", "bf16"),
        ("f16", "f16", "fp16"),
        ("f8e5m2", "f8e4m3fn", "fp8"),
        ("f8e5m2", "f8e5m2", "fp8"),
        ("s8", "s8", "int8"),
        ("f64", "f64", "fp64"),
        ("f32", "f32", "tf32"),  # XLA's default
        ("bf16", "f16", "unknown"),
        ("c64", "c64", "unknown"),
    ],
)
def test_types_decide_the_arithmetic(a, b, executed):
    assert ran(as_types(a, b), "bf16").executed == executed


@pytest.mark.parametrize(
    ("precision", "algorithm", "executed"),
    [
        ("DEFAULT", "ALG_UNSET", "tf32"),
        ("HIGH", "ALG_UNSET", "tf32"),
        ("HIGHEST", "ALG_UNSET", "fp32"),
        ("DEFAULT", "ALG_DOT_TF32_TF32_F32", "tf32"),
        ("HIGHEST", "ALG_DOT_TF32_TF32_F32", "tf32"),
        ("DEFAULT", "ALG_DOT_F32_F32_F32", "fp32"),
        ("DEFAULT", "ALG_DOT_BF16_BF16_F32_X9", "bf16"),
    ],
)
def test_precision_and_algorithm_decide_what_float32_becomes(precision, algorithm, executed):
    text = library_gemms(CASE, 1, precision=precision, algorithm=algorithm).replace("bf16", "f32")
    assert ran(text, "fp32").executed == executed
    assert ran(text, "fp32", HOST).executed == "fp32"


def test_e5m2_that_is_widened_runs_as_bf16_with_its_conversions_named():
    """XLA has no e5m2 x e5m2 on a GPU: it converts both to bf16 without a word."""
    wide = GUIDELINE.replace(
        "  %cublas.0",
        "  %wa = bf16[8192,16384]{1,0} convert(%a.0)\n  %wb = bf16[16384,8192]{1,0} convert(%b.0)\n"
        "  %cublas.0",
    ).replace("custom-call(%a.0, %b.0)", "custom-call(%wa, %wb)")
    wide = wide.replace("%a.0 = bf16", "%a.0 = f8e5m2").replace("%b.0 = bf16", "%b.0 = f8e5m2")
    found = ran(wide, "e5m2_e4m3")
    assert (found.executed, found.native) == ("bf16", False)
    assert found.reason == "e5m2_e4m3 is emulated in bf16, its products read bf16"
    assert census(wide).extra == {"convert": 2}


def test_a_hidden_transpose_leaves_the_arithmetic_and_takes_the_word_native():
    turned = as_types("f8e4m3fn", "f8e4m3fn").replace(
        "  %cublas.0", "  %t = f8e4m3fn[8192,16384]{0,1} transpose(%b.0)\n  %cublas.0"
    )
    found = ran(turned, "e4m3")
    assert (found.executed, found.native) == ("fp8", False)
    assert found.reason == "beside its products it does 1 transpose"


def test_two_kinds_of_product_are_several():
    one = GUIDELINE.replace("%a.1 = bf16", "%a.1 = f16").replace("%b.1 = bf16", "%b.1 = f16")
    assert ran(one, "bf16").executed == "several"


@pytest.mark.parametrize("text", [None, "", "HloModule x\n"])
def test_without_a_program_nothing_is_known(text):
    found = ran(text, "bf16")
    assert (found.executed, found.native) == ("unknown", False)
    assert found.reason


CUDNN = """HloModule jit_gemms

%dequantised (l: f8e4m3fn[64,64], r: f8e4m3fn[64,64], m: f8e8m0fnu[64,2], n: f8e8m0fnu[64,2]) -> f32[64,64] {
  %l = f8e4m3fn[64,64]{1,0} parameter(0)
  %lw = bf16[64,64]{1,0} convert(%l)
  %r = f8e4m3fn[64,64]{1,0} parameter(1)
  %rw = bf16[64,64]{1,0} convert(%r)
  %x = bf16[64,64]{1,0} multiply(%lw, %lw)
  %y = bf16[64,64]{1,0} multiply(%rw, %rw)
  ROOT %d = bf16[64,64]{1,0} dot(%x, %y), lhs_contracting_dims={1}, rhs_contracting_dims={1}
}

ENTRY %main (a: f8e4m3fn[64,64], b: f8e4m3fn[64,64], c: f8e8m0fnu[64,2], d: f8e8m0fnu[64,2]) -> bf16[64,64] {
  %a = f8e4m3fn[64,64]{1,0} parameter(0)
  %b = f8e4m3fn[64,64]{1,0} parameter(1)
  %c = f8e8m0fnu[64,2]{1,0} parameter(2)
  %d = f8e8m0fnu[64,2]{1,0} parameter(3)
  ROOT %f = bf16[64,64]{1,0} fusion(%a, %b, %c, %d), kind=kCustom, calls=%dequantised, backend_config={"fusion_backend_config":{"kind":"KIND"}}
}
"""  # noqa: E501 - as XLA prints it


def test_a_cudnn_fusion_of_operands_and_scales_is_the_scaled_product():
    """Its body only says what scales mean. In any other fusion the same body is real work."""
    scaled = CUDNN.replace("KIND", "__cudnn$block_scaled_dot")
    assert ran(scaled, "mxfp8", BLACKWELL).native
    assert census(scaled).flops == 2 * 64**3
    other = CUDNN.replace("KIND", "__triton_gemm")
    assert ran(other, "mxfp8", BLACKWELL).executed == "bf16"
    assert not ran(other, "mxfp8", BLACKWELL).native


@pytest.mark.parametrize("capability", [HOST, "", "9.0", "8.9", "x.y"])
def test_a_scaled_product_is_native_only_where_there_are_units_for_it(capability):
    """Triton takes scaled products on any GPU and widens the operands inside its kernel."""
    text = as_types("f4e2m1fn", "f4e2m1fn").replace("__cublas$lt$matmul", "__op$block_scaled_dot")
    assert ran(text, "nvfp4", "12.0").native
    found = ran(text, "nvfp4", capability)
    assert (found.executed, found.native) == ("bf16", False)


def test_a_scaled_dot_in_a_fusion_is_one_product():
    text = re.sub(r"  %[lr]w = .*\n|  %[xy] = .*\n", "", CUDNN)
    scales = "".join(
        f"  %{n} = f8e8m0fnu[64,2]{{1,0}} parameter({i})\n" for i, n in ((2, "m"), (3, "n"))
    )
    text = text.replace("  ROOT %d =", scales + "  ROOT %d =")
    text = text.replace("dot(%x, %y)", "scaled-dot(%l, %r, %m, %n)").replace("KIND", "__triton")
    found = ran(text, "mxfp8", BLACKWELL)
    assert (found.executed, found.native) == ("mxfp8", True)
    assert census(text).flops == 2 * 64**3


@pytest.mark.parametrize(
    ("kind", "name"), [("f8e4m3fn", "mxfp8"), ("f4e2m1fn", "nvfp4"), ("bf16", "unknown")]
)
@pytest.mark.parametrize("target", ["__op$block_scaled_dot", "__cudnn$blockScaledDot"])
def test_a_block_scaled_call_is_named_by_its_operands(kind, name, target):
    text = as_types(kind, kind).replace("__cublas$lt$matmul", target)
    assert ran(text, "bf16", BLACKWELL).executed == name


def test_every_format_has_an_arithmetic_of_its_own_or_shares_it_with_another_output():
    types = {(row.a, row.b, row.scale, row.arithmetic) for row in FORMATS.values()}
    assert len(types) == 10
    assert all(jnp.dtype(row.output) for row in FORMATS.values())
