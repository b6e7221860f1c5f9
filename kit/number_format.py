"""The number formats a GEMM can be measured in: one row each.

A row fixes operand and output types, the accumulator, how JAX is asked for it and which layout is
free of hidden transposes. `kit.sol` takes the first of `sol_rates` that a product has.
"""

from dataclasses import dataclass

from kit.errors import UsageError
from kit.workload import Layout


@dataclass(frozen=True, slots=True)
class NumberFormat:
    """One row.

    `operand` and `output` are `ml_dtypes`/NumPy names. `operand_epsilon` is the rounding the
    hardware applies to operands beyond their type (tf32 keeps 10 fraction bits), `accumulator_
    epsilon` the unit round-off of one accumulation, `output_epsilon` that of the final rounding.
    `algorithm` is a `jax.lax.DotAlgorithmPreset` asked for on GPUs, `precision` a
    `jax.lax.Precision`; "" leaves XLA's default.
    """

    name: str
    operand: str
    output: str
    accumulator: str
    bits: int
    output_bits: int
    operand_epsilon: float
    accumulator_epsilon: float
    output_epsilon: float
    sol_rates: tuple[str, ...]
    algorithm: str = ""
    precision: str = ""
    default_layout: Layout = "nn"
    dimension_multiple: int = 1
    needs_x64: bool = False

    @property
    def is_integer(self) -> bool:
        """Whether products and sums are exact integers."""
        return self.accumulator.startswith("int")


_ROWS = (
    NumberFormat("fp64", "float64", "float64", "float64", 64, 64, 0.0, 2**-53, 2**-53,
                 ("fp64_tc", "fp64"), needs_x64=True),
    NumberFormat("fp32", "float32", "float32", "float32", 32, 32, 0.0, 2**-24, 2**-24,
                 ("fp32_simt",), precision="HIGHEST"),
    # Unit round-off of 10 fraction bits. On an H200 outputs were off by 2.6e-4 of their size; with
    # twice as much allowed, products of bfloat16 operands would pass for tf32.
    NumberFormat("tf32", "float32", "float32", "float32", 32, 32, 2**-11, 2**-23, 2**-24, ("tf32",),
                 algorithm="TF32_TF32_F32"),
    NumberFormat("bf16", "bfloat16", "bfloat16", "float32", 16, 16, 0.0, 2**-23, 2**-8, ("bf16",)),
    NumberFormat("fp16", "float16", "float16", "float32", 16, 16, 0.0, 2**-23, 2**-11,
                 ("fp16_fp32acc",)),
    # Hopper's FP8 tensor cores align products to about 14 bits before adding (arXiv 2412.19437).
    NumberFormat("e4m3", "float8_e4m3fn", "bfloat16", "float32", 8, 16, 0.0, 2**-13, 2**-8,
                 ("fp8",), default_layout="nt", dimension_multiple=16),
    NumberFormat("int8", "int8", "int32", "int32", 8, 32, 0.0, 0.0, 0.0, ("int8",),
                 default_layout="nt", dimension_multiple=4),
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
