"""Which product of which arguments each output of a program is, followed through its text.

The program is walked from its arguments to its result with values of `kit.hlo_values` in place of
arrays. Fusions and calls are entered, a device loop once: what it carries on unchanged is what it
began with, and the rest must not depend on an earlier trip.
"""

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from kit.hlo import loops
from kit.hlo_module import Array, Instruction, Module, array, elements
from kit.hlo_products import SCALED, Axes, Multiplication, multiplication
from kit.hlo_values import (
    Argument,
    Below,
    Counter,
    Dimension,
    Factor,
    Lost,
    Number,
    Operand,
    Product,
    Several,
    Value,
    blocks_match,
    regrouped,
    reinterpreted,
    repeated,
    sizes,
)

MOST_STEPS = 250_000
"""Instructions followed, called ones once for each call: 3,900 Triton products take half."""
_DEEPEST = 8
_NUMBER = re.compile(r"-?\d{1,15}(?:\.\d{1,15})?")
_SCALED_CALL = 4
"""Operands of a product with scales: A, B and the scales of each."""


def outputs(module: Module, arguments: Sequence[Argument]) -> tuple[Value, ...]:
    """The values of the entry's outputs; of a single one where it returns no tuple.

    `arguments` say what the entry's parameters are, by number.

    Raises:
        ValueError: the program calls too much to be followed.
    """
    values = [Operand(argument, argument.axes) for argument in arguments]
    found, _ = _Follower(module).run(module.entry, values, None, 0)
    return found.values if isinstance(found, Several) else (found,)


@dataclass(slots=True)
class _Step:
    """One instruction, the values of its operands, its type and theirs, and how deep it is."""

    line: Instruction
    values: list[Value]
    shapes: list[str]
    depth: int


class _Follower:
    def __init__(self, module: Module) -> None:
        self._module = module
        self._left = MOST_STEPS
        self._trips = dict(loops(module))
        self._handlers: dict[str, Callable[[_Step], Value]] = {
            "tuple": _tuple,
            "opt-barrier": lambda step: step.values[0],
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
            "reduce": self._reduce,
            "dot": _product,
            "scaled-dot": _product,
            "custom-call": _product,
            "fusion": self._call,
            "call": self._call,
            "while": self._while,
        }

    def run(
        self, name: str, arguments: Sequence[Value], shapes: Sequence[str] | None, depth: int
    ) -> tuple[Value, str]:
        """The result of a computation and its type; `shapes` are the types of what it is given."""
        lines = self._module.computations.get(name)
        if lines is None or depth > _DEEPEST:
            return Lost(f"a call of {name[:80]}, which is not there or calls too deep"), ""
        self._left -= len(lines)
        if self._left < 0:
            raise ValueError(f"more than {MOST_STEPS} instructions are called")
        known: dict[str, tuple[Value, str]] = {}
        result: tuple[Value, str] = (Lost("a computation without a result"), "")
        for line in lines:
            if line.opcode == "parameter":
                value = _given(line, arguments, shapes)
            else:
                value = self._value(line, [known[name] for name in line.operands], depth)
            known[line.name] = (value, line.shape)
            if line.is_root:
                result = (value, line.shape)
        return result

    def _value(self, line: Instruction, pairs: list[tuple[Value, str]], depth: int) -> Value:
        if line.opcode != "tuple":
            for value, _ in pairs:
                if isinstance(value, Lost):
                    return value
        handler = self._handlers.get(line.opcode)
        if handler is None or not (pairs or line.opcode in ("constant", "tuple")):
            return _lost(line)
        step = _Step(line, [value for value, _ in pairs], [shape for _, shape in pairs], depth)
        return _checked(line, handler(step))

    def _call(self, step: _Step) -> Value:
        name = step.line.called() or ""
        value, shape = self.run(name, step.values, step.shapes, step.depth + 1)
        return value if _same_type(shape, step.line.shape) else _mistyped(step.line)

    def _while(self, step: _Step) -> Value:
        state = step.values[0]
        body = step.line.attributes.get("body", "").lstrip("%")
        condition = step.line.attributes.get("condition", "").lstrip("%")
        if not isinstance(state, Several):
            return _lost(step.line)
        kept = _carried(self._module.computations.get(body, ()))
        inside = Several(
            tuple(
                value
                if number in kept
                else Counter(number, 0)
                if value == Number(0)
                else Lost("what an earlier trip of the loop left")
                for number, value in enumerate(state.values)
            )
        )
        after, shape = self.run(body, [inside], step.shapes, step.depth + 1)
        goes_on, _ = self.run(condition, [inside], step.shapes, step.depth + 1)
        if not (_same_type(shape, step.shapes[0]) and _same_type(shape, step.line.shape)):
            return _mistyped(step.line)
        if not isinstance(after, Several) or len(after.values) != len(state.values):
            return after if isinstance(after, Lost) else _lost(step.line)
        counted = (
            isinstance(goes_on, Below)
            and after.values[goes_on.element] == Counter(goes_on.element, 1)
            and goes_on.limit == self._trips.get(body)
        )
        if not counted:
            return Lost("a loop whose trips do not follow from its condition")
        return Several(
            tuple(
                Lost("a loop's counter") if isinstance(value, Counter | Below) else value
                for value in after.values
            )
        )

    def _reduce(self, step: _Step) -> Value:
        value, *start = step.values
        adder = self._module.computations.get(step.line.called() or "", ())
        adds = [line.opcode for line in adder] == ["parameter", "parameter", "add"]
        along = _numbers(step.line, "dimensions")
        if not isinstance(value, Product) or start != [Number(0)] or not adds or along is None:
            return _lost(step.line)
        distinct = adder[2].is_root and len(set(adder[2].operands)) == len(adder[2].operands)
        gone = [factor.axis for axis in along for factor in value.axes[axis]]
        if not distinct or set(gone) != {"k"}:
            return Lost(f"{step.line.name[:80]} adds up along other axes than K", "reduce")
        kept = tuple(axis for number, axis in enumerate(value.axes) if number not in along)
        return replace(value, axes=kept)


def _lost(line: Instruction) -> Lost:
    return Lost(f"{line.name[:80]}, a {line.opcode}", line.opcode)


def _same_type(one: str, other: str) -> bool:
    """Whether two types are one, with their layouts; a tuple's numbering of elements aside."""
    return one == other or elements(one) == elements(other)


def _mistyped(line: Instruction) -> Lost:
    return Lost(f"{line.name[:80]}, a {line.opcode} of another type than what it takes up")


def _given(line: Instruction, arguments: Sequence[Value], shapes: Sequence[str] | None) -> Value:
    """What a computation is given for one of its parameters."""
    number = int(line.literal) if line.literal.isdecimal() and len(line.literal) < 10 else -1
    if not 0 <= number < len(arguments):
        return Lost(f"parameter {line.literal[:10]}, which nothing is given for")
    if shapes is not None and not _same_type(shapes[number], line.shape):
        return _mistyped(line)
    return _checked(line, arguments[number])


def _checked(line: Instruction, value: Value) -> Value:
    """The value, if it has the type that the instruction's text gives it."""
    if isinstance(value, Operand | Product):
        found = array(line.shape)
        if found is None or found.sizes != sizes(value.axes):
            has = "x".join(map(str, sizes(value.axes)))
            return Lost(f"{line.name[:80]} is {line.shape[:80]}, but holds {has} elements")
    return value


def _numbers(line: Instruction, name: str) -> tuple[int, ...] | None:
    """A list of axes such as `{0,2}`, each below the operand's or result's number of them."""
    words = line.attributes.get(name, "").strip("{}").split(",")
    if not all(word.isdecimal() and len(word) == 1 for word in words):
        return None
    return tuple(map(int, words))


def _element(step: _Step) -> Value:
    value, index = step.values[0], step.line.attributes.get("index", "")
    if not isinstance(value, Several) or not index.isdecimal() or len(index) > 9:
        return _lost(step.line)
    types = elements(step.shapes[0])
    if int(index) >= min(len(value.values), len(types)):
        return _lost(step.line)
    same = _same_type(types[int(index)], step.line.shape)
    return value.values[int(index)] if same else _mistyped(step.line)


def _tuple(step: _Step) -> Value:
    is_one = elements(step.line.shape) == tuple(step.shapes)
    return Several(tuple(step.values)) if is_one else _mistyped(step.line)


def _constant(step: _Step) -> Value:
    literal = step.line.literal
    return Number(float(literal)) if _NUMBER.fullmatch(literal) else _lost(step.line)


def _same(step: _Step) -> Value:
    return step.values[0]


def _types(step: _Step) -> tuple[Array, Array] | None:
    """Types of the first operand and of the result, both arrays."""
    before, after = array(step.shapes[0]), array(step.line.shape)
    return (before, after) if before and after else None


def _bitcast(step: _Step) -> Value:
    value, types = step.values[0], _types(step)
    if isinstance(value, Number | Counter):
        return value if types and types[0].kind == types[1].kind else _lost(step.line)
    if not isinstance(value, Operand | Product) or types is None:
        return _lost(step.line)
    before, after = types
    if step.line.opcode == "bitcast":
        axes = reinterpreted(value.axes, before, after) if before.kind == after.kind else None
    else:
        axes = regrouped(value.axes, after.sizes)
    return _lost(step.line) if axes is None else replace(value, axes=axes)


def _transpose(step: _Step) -> Value:
    value, order = step.values[0], _numbers(step.line, "dimensions")
    if not isinstance(value, Operand | Product) or order is None:
        return _lost(step.line)
    if sorted(order) != list(range(len(value.axes))):
        return _lost(step.line)
    return replace(value, axes=tuple(value.axes[axis] for axis in order))


def _broadcast(step: _Step) -> Value:
    value, types, kept = step.values[0], _types(step), _numbers(step.line, "dimensions")
    if not isinstance(value, Operand) or types is None or kept is None:
        return _lost(step.line)
    if len(kept) != len(value.axes) or len(set(kept)) < len(kept):
        return _lost(step.line)
    places = dict(zip(kept, value.axes, strict=True))
    axes: list[Dimension] = []
    for axis, size in enumerate(types[1].sizes):
        repeats = (Factor("repeated", size, 1),) if size > 1 else ()
        axes.append(places.get(axis, repeats))
    return replace(value, axes=tuple(axes))


def _multiply(step: _Step) -> Value:
    for values, scales in (step.values, step.values[::-1]) if len(step.values) == 2 else ():
        if not (isinstance(values, Operand) and isinstance(scales, Operand)):
            continue
        belong = scales.argument.surface == f"{values.argument.surface}_scale"
        if belong and values.scales is None and blocks_match(values.axes, scales.axes):
            return replace(values, scales=scales.argument)
    return _lost(step.line)


def _add(step: _Step) -> Value:
    for first, second in (step.values, step.values[::-1]) if len(step.values) == 2 else ():
        if isinstance(first, Counter) and isinstance(second, Number):
            return replace(first, added=first.added + int(second.value))
    return _lost(step.line)


def _compare(step: _Step) -> Value:
    if len(step.values) == 2 and step.line.attributes.get("direction") == "LT":
        first, second = step.values
        if isinstance(first, Counter) and not first.added and isinstance(second, Number):
            return Below(first.element, int(second.value))
    return _lost(step.line)


def _carried(body: Sequence[Instruction]) -> frozenset[int]:
    """Numbers of the loop's elements that a trip hands on as it got them."""
    lines = {line.name: line for line in body}
    root = next((line for line in body if line.is_root), None)
    if root is None or root.opcode != "tuple":
        return frozenset()
    kept = set()
    for number, name in enumerate(root.operands):
        line = lines[name]
        is_element = line.opcode == "get-tuple-element" and len(line.operands) == 1
        if is_element and line.attributes.get("index") == str(number):
            source = lines[line.operands[0]]
            if source.opcode == "parameter" and source.literal == "0":
                kept.add(number)
    return frozenset(kept)


def _product(step: _Step) -> Value:
    found = multiplication(step.line)
    if found is None:
        return _lost(step.line)
    if found.departure:
        return Lost(f"{step.line.name[:80]}: {found.departure}")
    value = _multiplied(step, found)
    is_tuple = step.line.shape.startswith("(")
    if is_tuple and isinstance(value, Product):
        # Behind D a library call returns its workspace.
        return Several((value, Lost("a workspace")))
    return value


def _multiplied(step: _Step, found: Multiplication) -> Value:
    operands = _operands(step, found)
    if operands is None:
        return Lost(f"{step.line.name[:80]} reads something beside A and B")
    left, right = operands
    axes = found.axes if found.axes or found.kind not in SCALED else _k_last(left)
    if axes is None:
        return Lost(f"{step.line.name[:80]} does not tell along which axes it multiplies")
    kept = _paired(left, right, axes)
    if kept is not None and found.strides not in (None, _strides(left, right, axes)):
        return Lost(f"{step.line.name[:80]} steps through the batch by {found.strides}")
    if kept is None:
        return Lost(f"{step.line.name[:80]} multiplies along other axes than K")
    return Product(step.line.name, left, right, kept)


def _operands(step: _Step, found: Multiplication) -> tuple[Operand, Operand] | None:
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
        replace(values, scales=scales.argument)
        if belong and blocks_match(values.axes, wide)
        else None
    )


def _k_last(operand: Operand) -> Axes:
    last = len(operand.axes) - 1
    batch = tuple(range(last - 1))
    return Axes((last,), (last,), batch, batch)


def _strides(left: Operand, right: Operand, axes: Axes) -> tuple[int, int]:
    """Elements of one matrix of each operand: how far apart those of a batch lie."""
    one, other = (
        math.prod(size for axis, size in enumerate(sizes(operand.axes)) if axis not in batch)
        for operand, batch in ((left, axes.left_batch), (right, axes.right_batch))
    )
    return one, other


def _paired(left: Operand, right: Operand, axes: Axes) -> tuple[Dimension, ...] | None:
    """The product's axes: the batch's, what is left of A, what is left of B."""
    for operand, own in (
        (left, (*axes.left, *axes.left_batch)),
        (right, (*axes.right, *axes.right_batch)),
    ):
        if len(set(own)) < len(own) or any(axis >= len(operand.axes) for axis in own):
            return None
    pairs = [
        (left.axes[a], right.axes[b], kinds)
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
        for number, axis in enumerate(operand.axes)
        if number not in used
    ]
    return (*(left.axes[axis] for axis in axes.left_batch), *free)
