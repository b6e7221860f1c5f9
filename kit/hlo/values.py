"""What an instruction's result is, told in the axes of D[M,N] = A[M,K] · B[K,N].

Every axis of an argument is an axis of the product, so an array is known by the argument it holds
and by how the product's axes make up its own. Splitting, merging and permuting axes keeps that
knowledge; whatever mixes, drops or changes elements ends it.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

from kit.hlo.caches import cached
from kit.hlo.module import Array
from kit.surfaces import Surface

Axis = Literal["batch", "m", "n", "k", "repeated"]


class Factor(NamedTuple):
    """`size` steps of `step` elements along one axis of the product.

    `repeated`: as many copies of one scale as its block has elements.
    """

    axis: Axis
    size: int
    step: int


Dimension = tuple[Factor, ...]
"""One axis of an array: from the outermost factor to the innermost, none of size 1."""


class Argument(NamedTuple):
    """An argument of the program: which surface of which set, its axes, and XLA's element type."""

    surface: Surface
    set: int
    axes: tuple[Dimension, ...]
    kind: str


class Operand(NamedTuple):
    """An argument's elements, in whatever type by now; `scales` are what multiplied them."""

    argument: Argument
    axes: tuple[Dimension, ...]
    scales: Argument | None = None


class Product(NamedTuple):
    """The product of two operands. A `k` among its axes still has to be added up."""

    name: str
    left: Operand
    right: Operand
    axes: tuple[Dimension, ...]


@dataclass(frozen=True, slots=True)
class Number:
    """A constant."""

    value: float


@dataclass(frozen=True, slots=True)
class Counter:
    """A loop's element number `element` as it was when the trip began, plus `added`."""

    element: int
    added: int


@dataclass(frozen=True, slots=True)
class Below:
    """Whether the loop's element number `element` is below `limit`."""

    element: int
    limit: int


@dataclass(frozen=True, slots=True)
class Several:
    """A tuple."""

    values: tuple["Value", ...]


@dataclass(frozen=True, slots=True)
class Lost:
    """Nothing that is known. `why` says what ended it; `opcode` which work, where it was work."""

    why: str
    opcode: str = ""


Value = Operand | Product | Number | Counter | Below | Several | Lost
HELD = (Operand, Product)
"""Values that are arrays. They are made by ten thousands, and tuples are made the fastest."""


def sizes(axes: Sequence[Dimension]) -> tuple[int, ...]:
    """The sizes of an array with these axes."""
    return tuple(math.prod(factor.size for factor in axis) for axis in axes)


def flat(axes: Sequence[Dimension]) -> Dimension:
    """All factors in order, neighbours merged that run on from one another."""
    merged: list[Factor] = []
    for factor in (factor for axis in axes for factor in axis):
        last = merged[-1] if merged else None
        if last and last.axis == factor.axis and last.step == factor.step * factor.size:
            merged[-1] = last._replace(size=last.size * factor.size, step=factor.step)
        else:
            merged.append(factor)
    return tuple(merged)


def regrouped(axes: Sequence[Dimension], wanted: Sequence[int]) -> tuple[Dimension, ...] | None:
    """The same elements in the same order as an array of the sizes `wanted`.

    None where they do not divide so.
    """
    rest = list(reversed(flat(axes)))
    found: list[Dimension] = []
    for size in wanted:
        axis: list[Factor] = []
        left = size
        while left > 1:
            if not rest:
                return None
            factor = rest.pop()
            if left % factor.size == 0:
                axis.append(factor)
                left //= factor.size
                continue
            inner, over = divmod(factor.size, left)
            if over:
                return None
            axis.append(Factor(factor.axis, left, factor.step * inner))
            rest.append(Factor(factor.axis, inner, factor.step))
            left = 1
        found.append(tuple(axis))
    return None if rest else tuple(found)


@cached(1024)
def reinterpreted(
    axes: tuple[Dimension, ...], before: Array, after: Array
) -> tuple[Dimension, ...] | None:
    """Axes of the same memory read as another array; None where they do not divide."""
    inside = [axes[axis] for axis in before.in_memory]
    found = regrouped(inside, [after.sizes[axis] for axis in after.in_memory])
    if found is None:
        return None
    placed = dict(zip(after.in_memory, found, strict=True))
    return tuple(placed[axis] for axis in range(len(found)))


def repeated(scale: Dimension, values: Dimension) -> Dimension:
    """An axis of scales as long as that of the values, each scale once for each of its block."""
    times = math.prod(f.size for f in values) // max(1, math.prod(f.size for f in scale))
    return (*scale, Factor("repeated", times, 1)) if times > 1 else scale


def blocks_match(operand: Sequence[Dimension], scales: Sequence[Dimension]) -> bool:
    """Whether every element meets the scale of its own block along K."""
    for values, repeats in zip(operand, scales, strict=True):
        same = regrouped([values], [factor.size for factor in repeats])
        if same is None:
            return False
        for (value,), repeat in zip(same, repeats, strict=True):
            within = value.axis == "k" and value.step == 1 and repeat.axis == "repeated"
            if value != repeat and not within:
                return False
    return True
