"""Which product of which arguments each output of a program is, followed through its text.

The program is walked from its arguments to its result with values of `kit.hlo.values` in place of
arrays. Fusions and calls are entered, a device loop once: what it carries on unchanged is what it
began with, and the rest must not depend on an earlier trip.
"""

from collections.abc import Callable, Sequence

from kit.hlo.census import loops
from kit.hlo.module import Instruction, Module
from kit.hlo.multiply import product
from kit.hlo.steps import HANDLERS, Step, checked, lost, mistyped, numbers, same_type
from kit.hlo.values import (
    Argument,
    Below,
    Counter,
    Lost,
    Number,
    Operand,
    Product,
    Several,
    Value,
)

MOST_CALLS = 2
"""Times that a program's length may be followed, called computations once for each call.

XLA gives every fusion a computation of its own, so that programs of an H200 take their length once.
"""
_CHARACTERS = 1024
"""Of an instruction's types and attributes, a reader goes through so many as fast as through it."""
_DEEPEST = 8


def outputs(module: Module, arguments: Sequence[Argument]) -> tuple[Value, ...]:
    """The values of the entry's outputs; of a single one where it returns no tuple.

    `arguments` say what the entry's parameters are, by number.

    Raises:
        ValueError: the program calls too much to be followed.
    """
    values = [Operand(argument, argument.axes) for argument in arguments]
    found, _ = _Follower(module).run(module.entry, values, None, 0)
    return found.values if isinstance(found, Several) else (found,)


class _Follower:
    def __init__(self, module: Module) -> None:
        self._module = module
        self._costs = {name: _cost(lines) for name, lines in module.computations.items()}
        self._left = MOST_CALLS * sum(self._costs.values())
        self._trips = dict(loops(module))
        self._handlers: dict[str, Callable[[Step], Value]] = HANDLERS | {
            "dot": product,
            "scaled-dot": product,
            "custom-call": product,
            "reduce": self._reduce,
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
        self._left -= self._costs[name]
        if self._left < 0:
            raise ValueError(f"its calls make it more than {MOST_CALLS} times as long as its text")
        values: dict[str, Value] = {}
        types: dict[str, str] = {}
        result: tuple[Value, str] = (Lost("a computation without a result"), "")
        for line in lines:
            if line.opcode == "parameter":
                value = _given(line, arguments, shapes)
            else:
                read = [values[name] for name in line.operands]
                step = Step(line, read, [types[name] for name in line.operands], depth)
                value = self._value(step)
            values[line.name], types[line.name] = value, line.shape
            if line.is_root:
                result = (value, line.shape)
        return result

    def _value(self, step: Step) -> Value:
        line = step.line
        if line.opcode != "tuple":
            for value in step.values:
                if isinstance(value, Lost):
                    return value
        handler = self._handlers.get(line.opcode)
        if handler is None or not (step.values or line.opcode in ("constant", "tuple")):
            return lost(line)
        return checked(line, handler(step))

    def _call(self, step: Step) -> Value:
        name = step.line.called() or ""
        value, shape = self.run(name, step.values, step.shapes, step.depth + 1)
        return value if same_type(shape, step.line.shape) else mistyped(step.line)

    def _while(self, step: Step) -> Value:
        state = step.values[0]
        body = step.line.attributes.get("body", "").lstrip("%")
        condition = step.line.attributes.get("condition", "").lstrip("%")
        if not isinstance(state, Several):
            return lost(step.line)
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
        if not (same_type(shape, step.shapes[0]) and same_type(shape, step.line.shape)):
            return mistyped(step.line)
        if not isinstance(after, Several) or len(after.values) != len(state.values):
            return after if isinstance(after, Lost) else lost(step.line)
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

    def _reduce(self, step: Step) -> Value:
        value, *start = step.values
        adder = self._module.computations.get(step.line.called() or "", ())
        adds = [line.opcode for line in adder] == ["parameter", "parameter", "add"]
        along = numbers(step.line, "dimensions")
        if not isinstance(value, Product) or start != [Number(0)] or not adds or along is None:
            return lost(step.line)
        distinct = adder[2].is_root and len(set(adder[2].operands)) == len(adder[2].operands)
        gone = [factor.axis for axis in along for factor in value.axes[axis]]
        if not distinct or set(gone) != {"k"}:
            return Lost(f"{step.line.name[:80]} adds up along other axes than K", "reduce")
        kept = tuple(axis for number, axis in enumerate(value.axes) if number not in along)
        return value._replace(axes=kept)


def _cost(lines: Sequence[Instruction]) -> int:
    """The steps that a computation takes: its instructions, what they read and their texts.

    An operand's type is looked at where it is used, so its text counts there too.
    """
    texts: dict[str, int] = {}
    steps, characters = len(lines), 0
    for line in lines:
        texts[line.name] = length = len(line.shape)
        steps += len(line.operands)
        if line.opcode != "get-tuple-element":
            characters += length + len(line.text)
            characters += sum([texts[name] for name in set(line.operands)])
    return steps + characters // _CHARACTERS


def _given(line: Instruction, arguments: Sequence[Value], shapes: Sequence[str] | None) -> Value:
    """What a computation is given for one of its parameters."""
    number = int(line.literal) if line.literal.isdecimal() and len(line.literal) < 10 else -1
    if not 0 <= number < len(arguments):
        return Lost(f"parameter {line.literal[:10]}, which nothing is given for")
    if shapes is not None and not same_type(shapes[number], line.shape):
        return mistyped(line)
    return checked(line, arguments[number])


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
        if is_element and line.element == str(number):
            source = lines[line.operands[0]]
            if source.opcode == "parameter" and source.literal == "0":
                kept.add(number)
    return frozenset(kept)
