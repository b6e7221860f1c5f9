"""How many operations a program's products do, and in which types, from its text."""

import pytest

from bundles import honest_gpu
from hlo_texts import library_gemms, looped_gemms, plain_dots
from kit.hlo.census import census
from kit.plan import Case
from kit.workload import Workload

CASES = honest_gpu().plan.cases


@pytest.mark.parametrize(("batch", "layout"), [(1, "nn"), (1, "tt"), (7, "nt"), (7, "tn")], ids=str)
def test_operations_are_those_of_all_matrices_of_the_batch(batch, layout):
    work = Workload("w", 96, 64, 128, batch, layout)
    case = Case("w-bf16", work, "bf16")
    for gemms in (1, 3):
        assert census(library_gemms(case, gemms)).flops == gemms * 2 * 96 * 64 * 128 * batch
        assert census(plain_dots(case, gemms)).flops == gemms * work.flops
    assert census(looped_gemms(case, 2, 16)).flops == 32 * work.flops


def test_operations_that_the_text_does_not_tell_are_not_guessed():
    text = library_gemms(CASES[0], 2)
    found = census(text.replace("contracting", "other"))
    assert (found.gemm_count, found.flops) == (2, None)


TRITON = """HloModule jit_gemms

%block (q: bf16[64,64]) -> f32[64,64] {
  %q = bf16[64,64]{1,0} parameter(0)
  ROOT %wide = f32[64,64]{1,0} convert(%q)
}

%gemm_fusion (x: bf16[64,64], y: bf16[64,64]) -> bf16[64,64] {
  %x = bf16[64,64]{1,0} parameter(0)
  %left = f32[64,64]{1,0} fusion(%x), kind=kCustom, calls=%block
  %y = bf16[64,64]{1,0} parameter(1)
  ROOT %dot = bf16[64,64]{1,0} dot(%left, %y), lhs_contracting_dims={1}, rhs_contracting_dims={0}
}

ENTRY %main (a: bf16[64,64], b: bf16[64,64]) -> bf16[64,64] {
  %a = bf16[64,64]{1,0} parameter(0)
  %b = bf16[64,64]{1,0} parameter(1)
  ROOT %d = bf16[64,64]{1,0} fusion(%a, %b), kind=kCustom, calls=%gemm_fusion
}
"""


def test_a_triton_fusion_counts_the_operations_and_types_of_its_own_dot():
    """What it converts its operands to, not what it is handed."""
    found = census(TRITON)
    assert found.products == {("fusion", "f32", "bf16")}
    assert found.flops == 2 * 64**3
    assert found.extra == {"convert": 1}


def test_a_dot_that_lies_deeper_is_no_product():
    hidden = TRITON.replace("convert(%q)", "dot(%q, %q), lhs_contracting_dims={1}").replace(
        "dot(%left, %y)", "add(%left, %y)"
    )
    found = census(hidden)
    assert (found.gemm_count, found.flops) == (0, 0)
    assert found.extra["dot"] == 1


def test_absurd_sizes_cost_nothing():
    shape = "bf16[" + ",".join(["9999999999"] * 100_000) + "]"
    text = library_gemms(CASES[0], 1).replace("%a.0 = bf16[8192,16384]", f"%a.0 = {shape}")
    assert census(text).flops is None
