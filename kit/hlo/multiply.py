"""What a product of two followed arrays is: its axes, if it multiplies along the whole of K."""

import math

from kit.hlo.caches import cached
from kit.hlo.products import SCALED, Axes, Multiplication, multiplication
from kit.hlo.steps import Step, lost
from kit.hlo.values import (
    Dimension,
    Lost,
    Number,
    Operand,
    Product,
    Several,
    Value,
    blocks_match,
    repeated,
    sizes,
)

Dimensions = tuple[Dimension, ...]
_SCALED_CALL = 4
"""Operands of a product with scales: A, B and the scales of each."""


def product(step: Step) -> Value:
    """The value of a dot or of a call of a library's GEMM."""
    found = multiplication(step.line)
    if found is None:
        return lost(step.line)
    if found.departure:
        return Lost(f"{step.line.name[:80]}: {found.departure}")
    value = _multiplied(step, found)
    is_tuple = step.line.shape.startswith("(")
    if is_tuple and isinstance(value, Product):
        # Behind D a library call returns its workspace.
        return Several((value, Lost("a workspace")))
    return value


def _multiplied(step: Step, found: Multiplication) -> Value:
    operands = _operands(step, found)
    if operands is None:
        return Lost(f"{step.line.name[:80]} reads something beside A and B")
    left, right = operands
    axes = found.axes if found.axes or found.kind not in SCALED else _k_last(left)
    if axes is None:
        return Lost(f"{step.line.name[:80]} does not tell along which axes it multiplies")
    kept = _paired(left.axes, right.axes, axes)
    if kept is not None and found.strides not in (None, _strides(left.axes, right.axes, axes)):
        return Lost(f"{step.line.name[:80]} steps through the batch by {found.strides}")
    if kept is None:
        return Lost(f"{step.line.name[:80]} multiplies along other axes than K")
    return Product(step.line.name, left, right, kept)


def _operands(step: Step, found: Multiplication) -> tuple[Operand, Operand] | None:
    left, right, *more = (*step.values, None, None)[: max(2, len(step.values))]
    if not (isinstance(left, Operand) and isinstance(right, Operand)):
        return None
    if found.kind in SCALED:
        pairs = list(zip((left, right), more, strict=False))
        both = [_with_scales(values, scales) for values, scales in pairs]
        if len(more) != len(both) or len(both) != _SCALED_CALL - 2:
            return None
        first, second = both
        return (first, second) if first and second else None
    # An fp8 call multiplies the product with two numbers, which must be one.
    return (left, right) if all(value == Number(1) for value in more) else None


def _with_scales(values: Operand, scales: Value | None) -> Operand | None:
    """The operand of a product that reads scales, if they are its own and lie as it does."""
    if not isinstance(scales, Operand) or values.scales or len(scales.axes) != len(values.axes):
        return None
    wide = tuple(
        repeated(scale, axis) for scale, axis in zip(scales.axes, values.axes, strict=True)
    )
    belong = scales.argument.surface == f"{values.argument.surface}_scale"
    return (
        values._replace(scales=scales.argument)
        if belong and blocks_match(values.axes, wide)
        else None
    )


def _k_last(operand: Operand) -> Axes:
    last = len(operand.axes) - 1
    batch = tuple(range(last - 1))
    return Axes((last,), (last,), batch, batch)


@cached(256)
def _strides(left: Dimensions, right: Dimensions, axes: Axes) -> tuple[int, int]:
    """Elements of one matrix of each operand: how far apart those of a batch lie."""
    one, other = (
        math.prod(size for axis, size in enumerate(sizes(operand)) if axis not in batch)
        for operand, batch in ((left, axes.left_batch), (right, axes.right_batch))
    )
    return one, other


@cached(256)
def _paired(left: Dimensions, right: Dimensions, axes: Axes) -> Dimensions | None:
    """The product's axes: the batch's, what is left of A, what is left of B."""
    for operand, own in (
        (left, (*axes.left, *axes.left_batch)),
        (right, (*axes.right, *axes.right_batch)),
    ):
        if len(set(own)) < len(own) or any(axis >= len(operand) for axis in own):
            return None
    pairs = [
        (left[a], right[b], kinds)
        for lefts, rights, kinds in (
            (axes.left, axes.right, ("k",)),
            (axes.left_batch, axes.right_batch, ("batch", "k")),
        )
        for a, b in zip(lefts, rights, strict=True)
    ]
    for one, other, kinds in pairs:
        if one != other or any(factor.axis not in kinds for factor in one):
            return None
    free = [
        axis
        for operand, used in (
            (left, {*axes.left, *axes.left_batch}),
            (right, {*axes.right, *axes.right_batch}),
        )
        for number, axis in enumerate(operand)
        if number not in used
    ]
    return (*(left[axis] for axis in axes.left_batch), *free)
