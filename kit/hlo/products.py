"""Which instructions of an HLO module multiply matrices, along which axes, and how."""

import json
import re
from dataclasses import dataclass
from typing import Any, NamedTuple

from kit.hlo.caches import cached
from kit.hlo.module import Instruction, attributes

SCALED = frozenset(("scaled-dot", "__cudnn$blockScaledDot", "__op$block_scaled_dot", "__cudnn$"))
"""Kinds of product that read scales; the last is a cuDNN fusion of operands and their scales."""
DOTS = ("dot", "scaled-dot")
DEFAULT = "DEFAULT"
"""The precision of a product that asks for none."""
_TARGET = re.compile(
    r'"(__cublas\$lt\$matmul[^"]*|__cublas\$gemm|__onednn\$matmul|__cudnn\$blockScaledDot'
    r'|__op\$block_scaled_dot)"'
)
_NUMBERS = re.compile(r"\{((?:\d(?:,\d)*)?)\}")
_LONGEST_CONFIG = 16_384
_NEUTRAL = {"alpha_real": (1.0,), "alpha_imag": (0.0, None), "beta": (0.0,)}
"""What cuBLAS multiplies the product and the old D with. XLA leaves out no number but this zero."""
_MOST_AXES = 8
_LONGEST_STRIDE = 20


class Axes(NamedTuple):
    """Axes of the left and the right operand that are contracted, in pairs, and a batch's."""

    left: tuple[int, ...]
    right: tuple[int, ...]
    left_batch: tuple[int, ...]
    right_batch: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Multiplication:
    """What one instruction multiplies.

    `axes` is None where the text does not tell them. `precisions` are those asked for, in capitals;
    `algorithm` the one that is fixed, without XLA's `ALG_`, and "" for none. `departure` says what
    it does to the product beside giving it, such as `alpha_real is 0`.
    """

    kind: str
    axes: Axes | None
    precisions: tuple[str, ...]
    algorithm: str
    departure: str = ""
    strides: tuple[int, int] | None = None
    """Elements from one matrix of a batch to the next, of both operands, where they are given."""


def multiplication(instruction: Instruction) -> Multiplication | None:
    """What `instruction` multiplies itself; None where it is no product. Fusions are none."""
    if instruction.opcode in DOTS:
        return _dot(instruction.opcode, instruction.text)
    return _call(instruction.text) if instruction.opcode == "custom-call" else None


@cached(256)
def _call(text: str) -> Multiplication | None:
    found = attributes(text)
    target = _TARGET.fullmatch(found.get("custom_call_target", ""))
    if target is None:
        return None
    if target[1] in SCALED:
        return Multiplication(target[1], None, (DEFAULT,), "")
    return _library_call(target[1], found.get("backend_config", ""))


@cached(256)
def _dot(opcode: str, text: str) -> Multiplication:
    found = attributes(text)
    axes = [
        _numbers(found.get(f"{side}_{what}_dims", "{}" if what == "batch" else ""))
        for what in ("contracting", "batch")
        for side in ("lhs", "rhs")
    ]
    precisions = re.findall(r"\w+", found.get("operand_precision", DEFAULT))
    return Multiplication(
        opcode,
        _axes(axes),
        tuple(name.upper() for name in precisions),
        found.get("algorithm", "").upper(),
    )


def _numbers(text: str) -> tuple[int, ...] | None:
    match = _NUMBERS.fullmatch(text)
    return None if match is None else tuple(map(int, match[1].split(","))) if match[1] else ()


def _axes(axes: list[tuple[int, ...] | None]) -> Axes | None:
    left, right, left_batch, right_batch = axes
    if left is None or right is None or left_batch is None or right_batch is None:
        return None
    paired = left and len(left) == len(right) and len(left_batch) == len(right_batch)
    return Axes(left, right, left_batch, right_batch) if paired else None


def _library_call(kind: str, text: str) -> Multiplication:
    config = _gemm_config(text)
    dimensions = config.get("dot_dimension_numbers", {})
    axes = [
        _listed(dimensions.get(f"{side}_{what}_dimensions") if isinstance(dimensions, dict) else "")
        for what in ("contracting", "batch")
        for side in ("lhs", "rhs")
    ]
    asked = config.get("precision_config", {})
    asked = asked if isinstance(asked, dict) else {}
    precisions = asked.get("operand_precision", [DEFAULT])
    precisions = precisions if isinstance(precisions, list) and precisions else [DEFAULT]
    algorithm = str(asked.get("algorithm", "")).upper().removeprefix("ALG_")
    return Multiplication(
        kind,
        _axes(axes),
        tuple(str(name).upper() for name in precisions),
        "" if algorithm == "UNSET" else algorithm,
        _departure(config),
        _strides(config),
    )


def _gemm_config(text: str) -> dict[str, Any]:
    try:
        found = json.loads(text) if len(text) <= _LONGEST_CONFIG else {}
    except (ValueError, RecursionError):
        found = {}
    config = found.get("gemm_backend_config") if isinstance(found, dict) else None
    return config if isinstance(config, dict) else {}


def _listed(value: object) -> tuple[int, ...] | None:
    if not isinstance(value, list) or len(value) > _MOST_AXES:
        return None
    words = [str(entry) for entry in value]
    return tuple(map(int, words)) if all(re.fullmatch(r"\d", word) for word in words) else None


def _strides(config: dict[str, Any]) -> tuple[int, int] | None:
    words = [str(config.get(name, "")) for name in ("lhs_stride", "rhs_stride")]
    if not all(word.isdecimal() and len(word) < _LONGEST_STRIDE for word in words):
        return None
    return int(words[0]), int(words[1])


def _departure(config: dict[str, Any]) -> str:
    for name, allowed in _NEUTRAL.items():
        found = config.get(name)
        if found not in allowed or isinstance(found, bool):
            return f"{name} is {found if isinstance(found, int | float) else 'not given'}"
    if config.get("epilogue") != "DEFAULT":
        return f"the epilogue is {str(config.get('epilogue', 'not given'))[:40]}"
    return ""
