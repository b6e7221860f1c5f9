"""Which arithmetic did a program's products run in, and is that the number format's own?"""

from dataclasses import dataclass
from typing import Literal

from kit.hlo.census import Census, census
from kit.hlo.products import SCALED
from kit.number_format import Arithmetic, NumberFormat

Executed = Arithmetic | Literal["int32", "several", "unknown"]
XLA_TYPES = {
    "float64": "f64", "float32": "f32", "bfloat16": "bf16", "float16": "f16",
    "float8_e4m3fn": "f8e4m3fn", "float8_e5m2": "f8e5m2", "float8_e8m0fnu": "f8e8m0fnu",
    "float4_e2m1fn": "f4e2m1fn", "int8": "s8", "int32": "s32",
}  # fmt: skip
"""XLA's names of NumPy and `ml_dtypes` element types."""
_FP8 = frozenset(("f8e4m3fn", "f8e5m2"))
_PLAIN: dict[str, Executed] = {
    "f64": "fp64", "f32": "fp32", "bf16": "bf16", "f16": "fp16", "s8": "int8",
    "s32": "int32",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Execution:
    """What ran. `reason` says why it is not native, and is empty if it is."""

    executed: Executed
    native: bool
    reason: str


def execution(text: str | None, row: NumberFormat, capability: str | None) -> Execution:
    """Judge a normalised optimised HLO module against a number format.

    Native is a program whose products read A and B in the format's own types, round them no
    further than the format says, and that does nothing beside them. `text` is None where the
    evidence has none; what cannot be read is `unknown` and not native. `capability` is the GPU's
    compute capability, such as `9.0`, and None where a host multiplies.
    """
    if text is None:
        return Execution("unknown", native=False, reason="there is no HLO")
    try:
        found = census(text)
    except ValueError as error:
        return Execution("unknown", native=False, reason=f"the HLO cannot be read: {error}")
    executed = _executed(found, capability)
    reason = _why_not(found, executed, row)
    return Execution(executed, native=not reason, reason=reason)


def reads_own_types(found: Census, row: NumberFormat) -> bool:
    """Whether every product reads the format's types of A and B, in either order."""
    wanted = sorted((XLA_TYPES[row.a], XLA_TYPES[row.b]))
    return bool(found.products) and all(sorted(types) == wanted for _, *types in found.products)


def types_read(found: Census) -> str:
    """The types that products read, for people: `bf16`, or `f8e4m3fn x f8e5m2`."""
    pairs = {(a,) if a == b else tuple(sorted((a, b))) for _, a, b in found.products}
    return ", ".join(" x ".join(pair) for pair in sorted(pairs) if all(pair)) or "nothing known"


def _executed(found: Census, capability: str | None) -> Executed:
    kinds = {_arithmetic(*product) for product in found.products}
    if len(kinds) != 1:
        return "several" if kinds else "unknown"
    (kind,) = kinds
    if kind == "fp32" and capability is not None:
        return _of_float32(found)
    if kind in ("mxfp8", "nvfp4") and not _multiplies_scaled(capability):
        # Triton widens the operands of a scaled product inside its kernel, unseen in the text.
        return "bf16"
    return kind


def _multiplies_scaled(capability: str | None) -> bool:
    """Whether a GPU has units for block-scaled operands: Blackwell, 10.0, is the first that has."""
    major = (capability or "").partition(".")[0]
    return len(major) > 1 and major.isdecimal()


def _of_float32(found: Census) -> Executed:
    """What a GPU makes of float32 operands.

    XLA lets tensor cores round them unless the highest precision or a float32 algorithm is asked
    for.
    """
    if any("TF32" in name for name in found.algorithms):
        return "tf32"
    if any("BF16" in name for name in found.algorithms):
        return "bf16"
    if all(name.endswith("F32_F32_F32") for name in found.algorithms):
        return "fp32"
    return "fp32" if found.precisions == {"HIGHEST"} else "tf32"


def _arithmetic(kind: str, a: str, b: str) -> Executed:
    if kind in SCALED:
        return "nvfp4" if a == b == "f4e2m1fn" else "mxfp8" if {a, b} <= _FP8 else "unknown"
    if {a, b} <= _FP8:
        return "fp8"
    return _PLAIN.get(a, "unknown") if a == b else "unknown"


def _why_not(found: Census, executed: Executed, row: NumberFormat) -> str:
    if executed != row.arithmetic:
        return f"{row.name} is emulated in {executed}, its products read {types_read(found)}"
    if not reads_own_types(found, row):
        return f"its products read {types_read(found)}"
    if found.extra:
        return f"beside its products it does {other_work(found)}"
    return ""


def other_work(found: Census) -> str:
    """What a program does beside its products, such as `2 convert, 1 transpose`."""
    return ", ".join(f"{count} {name}" for name, count in sorted(found.extra.items()))
