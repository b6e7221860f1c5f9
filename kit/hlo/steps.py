"""What one instruction of an HLO module makes of values that are followed through it.

Each function takes a step and returns its value; what an instruction is not known to keep is lost.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass

from kit.hlo.caches import cached
from kit.hlo.module import Array, Instruction, array, elements
from kit.hlo.values import (
    HELD,
    Below,
    Counter,
    Dimension,
    Factor,
    Lost,
    Number,
    Operand,
    Several,
    Value,
    blocks_match,
    regrouped,
    reinterpreted,
    sizes,
)

_NUMBER = re.compile(r"-?\d{1,15}(?:\.\d{1,15})?")


@dataclass(slots=True)
class Step:
    """One instruction, the values of its operands, its type and theirs, and how deep it is."""

    line: Instruction
    values: list[Value]
    shapes: list[str]
    depth: int


def lost(line: Instruction) -> Lost:
    """Nothing is known of what this instruction makes."""
    return Lost(f"{line.name[:80]}, a {line.opcode}", line.opcode)


def same_type(one: str, other: str) -> bool:
    """Whether two types are one, with their layouts; a tuple's numbering of elements aside."""
    return one == other or elements(one) == elements(other)


def mistyped(line: Instruction) -> Lost:
    """The text gives it another type than it can have."""
    return Lost(f"{line.name[:80]}, a {line.opcode} of another type than what it takes up")


def checked(line: Instruction, value: Value) -> Value:
    """The value, if it has the type that the instruction's text gives it."""
    if isinstance(value, HELD) and not _holds(line.shape, value.axes):
        has = "x".join(map(str, sizes(value.axes)))
        return Lost(f"{line.name[:80]} is {line.shape[:80]}, but holds {has} elements")
    return value


@cached(1024)
def _holds(shape: str, axes: tuple[Dimension, ...]) -> bool:
    found = array(shape)
    return found is not None and found.sizes == sizes(axes)


def numbers(line: Instruction, name: str) -> tuple[int, ...] | None:
    """A list of axes such as `{0,2}`, each below the operand's or result's number of them."""
    words = line.attributes.get(name, "").strip("{}").split(",")
    if not all(word.isdecimal() and len(word) == 1 for word in words):
        return None
    return tuple(map(int, words))


def _element(step: Step) -> Value:
    value, line = step.values[0], step.line
    word = line.element
    if not isinstance(value, Several) or not word.isdecimal() or len(word) > 9:
        return lost(line)
    types, index = elements(step.shapes[0]), int(word)
    if index >= min(len(value.values), len(types)):
        return lost(line)
    return value.values[index] if same_type(types[index], line.shape) else mistyped(line)


def _tuple(step: Step) -> Value:
    is_one = elements(step.line.shape) == tuple(step.shapes)
    return Several(tuple(step.values)) if is_one else mistyped(step.line)


def _constant(step: Step) -> Value:
    literal = step.line.literal
    return Number(float(literal)) if _NUMBER.fullmatch(literal) else lost(step.line)


def _same(step: Step) -> Value:
    return step.values[0]


def _types(step: Step) -> tuple[Array, Array] | None:
    """Types of the first operand and of the result, both arrays."""
    before, after = array(step.shapes[0]), array(step.line.shape)
    return (before, after) if before and after else None


def _bitcast(step: Step) -> Value:
    value, types = step.values[0], _types(step)
    if isinstance(value, Number | Counter):
        return value if types and types[0].kind == types[1].kind else lost(step.line)
    if not isinstance(value, HELD) or types is None:
        return lost(step.line)
    before, after = types
    if step.line.opcode == "bitcast":
        axes = reinterpreted(value.axes, before, after) if before.kind == after.kind else None
    else:
        axes = regrouped(value.axes, after.sizes)
    return lost(step.line) if axes is None else value._replace(axes=axes)


def _transpose(step: Step) -> Value:
    value, order = step.values[0], numbers(step.line, "dimensions")
    if not isinstance(value, HELD) or order is None:
        return lost(step.line)
    if sorted(order) != list(range(len(value.axes))):
        return lost(step.line)
    return value._replace(axes=tuple(value.axes[axis] for axis in order))


def _broadcast(step: Step) -> Value:
    value, types, kept = step.values[0], _types(step), numbers(step.line, "dimensions")
    if not isinstance(value, Operand) or types is None or kept is None:
        return lost(step.line)
    if len(kept) != len(value.axes) or len(set(kept)) < len(kept):
        return lost(step.line)
    places = dict(zip(kept, value.axes, strict=True))
    axes: list[Dimension] = []
    for axis, size in enumerate(types[1].sizes):
        repeats = (Factor("repeated", size, 1),) if size > 1 else ()
        axes.append(places.get(axis, repeats))
    return value._replace(axes=tuple(axes))


def _multiply(step: Step) -> Value:
    for values, scales in (step.values, step.values[::-1]) if len(step.values) == 2 else ():
        if not (isinstance(values, Operand) and isinstance(scales, Operand)):
            continue
        belong = scales.argument.surface == f"{values.argument.surface}_scale"
        if belong and values.scales is None and blocks_match(values.axes, scales.axes):
            return values._replace(scales=scales.argument)
    return lost(step.line)


def _add(step: Step) -> Value:
    for first, second in (step.values, step.values[::-1]) if len(step.values) == 2 else ():
        if isinstance(first, Counter) and isinstance(second, Number):
            return Counter(first.element, first.added + int(second.value))
    return lost(step.line)


def _compare(step: Step) -> Value:
    if len(step.values) == 2 and step.line.attributes.get("direction") == "LT":
        first, second = step.values
        if isinstance(first, Counter) and not first.added and isinstance(second, Number):
            return Below(first.element, int(second.value))
    return lost(step.line)


HANDLERS: dict[str, Callable[[Step], Value]] = {
    "tuple": _tuple,
    "opt-barrier": _same,
    "get-tuple-element": _element,
    "constant": _constant,
    "bitcast": _bitcast,
    "reshape": _bitcast,
    "copy": _same,
    "convert": _same,
    "transpose": _transpose,
    "broadcast": _broadcast,
    "multiply": _multiply,
    "add": _add,
    "compare": _compare,
}
"""By opcode; those that call or multiply are elsewhere."""
