"""The number formats a GEMM can be measured in: one row each.

A row fixes the types of A, B and D, the scales if there are any, the accumulator, how JAX is asked
for it and which layout is free of hidden transposes.
"""

import math
from dataclasses import dataclass
from typing import Literal

from kit.errors import UsageError
from kit.workload import Layout

Arithmetic = Literal["fp64", "fp32", "tf32", "bf16", "fp16", "fp8", "int8", "mxfp8", "nvfp4"]
"""What multiplies: one kind of unit in one mode, with a rate of its own (`kit.sol`)."""

BITS = {
    "float64": 64, "float32": 32, "bfloat16": 16, "float16": 16, "float8_e4m3fn": 8,
    "float8_e5m2": 8, "float8_e8m0fnu": 8, "float4_e2m1fn": 4, "int8": 8, "int32": 32,
}  # fmt: skip
"""True bits of an element. JAX 0.10 counts a whole byte for a 4-bit element, JAX 0.11 does not."""


@dataclass(frozen=True, slots=True)
class NumberFormat:
    """One row.

    `a`, `b` and `output` are `ml_dtypes`/NumPy names. `operand_epsilon` is the rounding the
    hardware applies to operands beyond their type (tf32 keeps 10 fraction bits), `accumulator_
    epsilon` the unit round-off of one accumulation, `output_epsilon` that of the final rounding.
    `truncated_every` counts the products that a tensor core adds before it cuts the sum's last
    digits off; 0 where sums are rounded to nearest. `block` elements along K share one element of
    type `scale`; 0 and "" without scales. `algorithm` is a `jax.lax.DotAlgorithmPreset` asked for
    on GPUs, `precision` a `jax.lax.Precision`; "" leaves XLA's default.
    """

    name: str
    a: str
    b: str
    output: str
    arithmetic: Arithmetic
    accumulator_epsilon: float
    output_epsilon: float
    operand_epsilon: float = 0.0
    truncated_every: int = 0
    scale: str = ""
    block: int = 0
    algorithm: str = ""
    precision: str = ""
    default_layout: Layout = "nn"
    dimension_multiple: int = 1

    @property
    def is_integer(self) -> bool:
        """Whether products and sums are exact integers."""
        return self.arithmetic == "int8"

    @property
    def needs_x64(self) -> bool:
        """Whether JAX has to be told to keep 64-bit types."""
        return self.arithmetic == "fp64"

    @property
    def k_multiple(self) -> int:
        """K must be a multiple of it: whole blocks of scales, and what the hardware asks for."""
        return math.lcm(self.dimension_multiple, self.block or 1)


_F64, _F32, _BF16, _F16 = "float64", "float32", "bfloat16", "float16"
_E4M3, _E5M2, _E8M0, _E2M1 = "float8_e4m3fn", "float8_e5m2", "float8_e8m0fnu", "float4_e2m1fn"
# Round-off of an output in each type, and of a tensor core's sums: float32 whose last digit is
# cut off, and for fp8 on Hopper about 14 bits (arXiv 2412.19437). Relative errors of whole outputs
# on an H200 at K=4096: bf16 to float32 4.0e-6, e4m3 to float32 1.2e-3, tf32 2.6e-4.
_TO_F32, _TO_BF16, _TO_F16, _CUT, _FP8_CUT = 2**-24, 2**-8, 2**-11, 2**-23, 2**-14

_ROWS = (
    NumberFormat("fp64", _F64, _F64, _F64, "fp64", 2**-53, 2**-53),
    NumberFormat("fp32", _F32, _F32, _F32, "fp32", 2**-24, _TO_F32, precision="HIGHEST"),
    # Unit round-off of 10 fraction bits. With twice as much allowed, products of bfloat16 operands
    # would pass for tf32.
    NumberFormat("tf32", _F32, _F32, _F32, "tf32", _CUT, _TO_F32, operand_epsilon=2**-11,
                 truncated_every=8, algorithm="TF32_TF32_F32"),
    NumberFormat("bf16", _BF16, _BF16, _BF16, "bf16", _CUT, _TO_BF16, truncated_every=16),
    NumberFormat("bf16_f32", _BF16, _BF16, _F32, "bf16", _CUT, _TO_F32, truncated_every=16),
    NumberFormat("fp16", _F16, _F16, _F16, "fp16", _CUT, _TO_F16, truncated_every=16),
    NumberFormat("fp16_f32", _F16, _F16, _F32, "fp16", _CUT, _TO_F32, truncated_every=16),
    *(
        NumberFormat(name, a, b, output, "fp8", _FP8_CUT, epsilon, truncated_every=32,
                     default_layout="nt", dimension_multiple=16)
        for name, a, b, output, epsilon in (
            ("e4m3", _E4M3, _E4M3, _BF16, _TO_BF16),
            ("e4m3_f32", _E4M3, _E4M3, _F32, _TO_F32),
            ("e5m2_e4m3", _E5M2, _E4M3, _BF16, _TO_BF16),
            ("e5m2_e4m3_f32", _E5M2, _E4M3, _F32, _TO_F32),
        )
    ),
    NumberFormat("int8", "int8", "int8", "int32", "int8", 0.0, 0.0, default_layout="nt",
                 dimension_multiple=4),
    # What Blackwell's block-scaled units lose is not published; they are allowed what fp8 loses.
    NumberFormat("mxfp8", _E4M3, _E4M3, _BF16, "mxfp8", _FP8_CUT, _TO_BF16, truncated_every=32,
                 scale=_E8M0, block=32, default_layout="nt", dimension_multiple=16),
    NumberFormat("nvfp4", _E2M1, _E2M1, _BF16, "nvfp4", _FP8_CUT, _TO_BF16, truncated_every=32,
                 scale=_E4M3, block=16, default_layout="nt", dimension_multiple=16),
)  # fmt: skip

FORMATS = {row.name: row for row in _ROWS}


def number_format(name: str) -> NumberFormat:
    """Return the row called `name`.

    Raises:
        UsageError: there is none.
    """
    try:
        return FORMATS[name]
    except KeyError:
        raise UsageError(
            f"number_format {name!r} is unknown", hint=f"known: {', '.join(FORMATS)}"
        ) from None
