"""Called computations of an HLO module and the products in them, counted for `kit.hlo.census`."""

import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from kit.hlo.module import Instruction, array, first_array
from kit.hlo.products import DOTS, SCALED, Multiplication, multiplication

FREE = frozenset(
    ("parameter", "tuple", "get-tuple-element", "bitcast", "constant", "after-all", "partition-id")
)
"""Opcodes that give a device nothing to do."""
_SCALAR = re.compile(r"(?:s32|u32|s64|u64|pred)\[\](?:\{\})?")


@dataclass(frozen=True, slots=True)
class CountedProduct:
    """A product with the element types of A and B; `flops` is None where the text hides them."""

    kind: str
    types: tuple[str, str]
    precisions: tuple[str, ...]
    algorithm: str
    flops: int | None


@dataclass(frozen=True, slots=True)
class Body:
    """A called computation: opcodes that are no free ones, and how often it calls which fusions.

    `own` leaves out those fusions, `flat` counts them as such.
    """

    own: Counter[str]
    fusions: Counter[str]
    flat: Counter[str]


@dataclass(frozen=True, slots=True)
class Work:
    """A computation's lines that are no free ones, and the types of all by name.

    Lines that differ in names alone stand there once, with how many they are.
    """

    lines: tuple[tuple[Instruction, int], ...]
    shapes: Mapping[str, str]


class Bodies:
    """Called computations, each read once however often it is called.

    Triton's GEMM fusions hold one fusion for each operand, with what is done to it on the way in.
    Fusions inside those are counted as such: XLA makes none.
    """

    def __init__(self, found: Mapping[str, tuple[Instruction, ...]]) -> None:
        self._found = found
        self._work: dict[str, Work] = {}
        self._bodies: dict[str, Body] = {}
        self._counts: dict[tuple[str, str], int] = {}
        self._works: dict[str, bool] = {}
        self._dots: dict[str, CountedProduct | None] = {}

    def work(self, name: str) -> "Work":
        """A computation's work line by line; none of one that is not there."""
        if name not in self._work:
            lines = self._found.get(name, ())
            shapes = shapes_of(lines)
            alike: dict[tuple[str, ...], list[Instruction]] = {}
            for line in lines:
                if line.opcode not in FREE:
                    types = [shapes[operand] for operand in line.operands]
                    key = (line.opcode, line.shape, line.text, *types)
                    alike.setdefault(key, []).append(line)
            counts = tuple((group[0], len(group)) for group in alike.values())
            self._work[name] = Work(counts, shapes)
        return self._work[name]

    def body(self, name: str) -> Body:
        """A computation's work; none of one that is not there."""
        if name not in self._bodies:
            lines = [line for line in self._found.get(name, ()) if line.opcode not in FREE]
            flat = Counter(line.opcode for line in lines)
            names = [line.called() or "" for line in lines if line.opcode == "fusion"]
            own = Counter({opcode: n for opcode, n in flat.items() if opcode != "fusion"})
            self._bodies[name] = Body(own, Counter(names), flat)
        return self._bodies[name]

    def count(self, name: str, opcode: str) -> int:
        """Instructions of an opcode in a computation and in the fusions inside it."""
        if (name, opcode) not in self._counts:
            body = self.body(name)
            inner = sum(n * self.body(called).flat[opcode] for called, n in body.fusions.items())
            self._counts[name, opcode] = body.own[opcode] + inner
        return self._counts[name, opcode]

    def works(self, name: str) -> bool:
        """Whether there is any work in a computation or in the fusions inside it."""
        if name not in self._works:
            body = self.body(name)
            self._works[name] = bool(body.own) or any(self.body(n).flat for n in body.fusions)
        return self._works[name]

    def dot(self, name: str) -> CountedProduct | None:
        """The dot of a computation that holds one, itself and not in a fusion inside it."""
        if name not in self._dots:
            lines = self._found.get(name, ())
            product = None
            for line in lines:
                found = multiplication(line) if line.opcode in DOTS else None
                if found is not None:
                    kind = line.opcode if line.opcode in SCALED else "fusion"
                    product = counted(kind, found, line, shapes_of(lines))
                    break
            self._dots[name] = product
        return self._dots[name]

    def opcode_of_dot(self, name: str) -> str:
        """Which of the two opcodes that dot has."""
        return next(opcode for opcode in DOTS if self.body(name).own[opcode])


def is_scalar(instruction: Instruction, shapes: Mapping[str, str]) -> bool:
    """Whether it makes one number out of numbers, as the work on a loop's counter does."""
    return all(
        _SCALAR.fullmatch(shape)
        for shape in (instruction.shape, *(shapes[name] for name in instruction.operands))
    )


def shapes_of(body: Sequence[Instruction]) -> dict[str, str]:
    """Types by the instructions' names."""
    return {instruction.name: instruction.shape for instruction in body}


def counted(
    kind: str, found: Multiplication, instruction: Instruction, shapes: Mapping[str, str]
) -> CountedProduct:
    """The product that `instruction` is, as what runs it, among instructions of these types."""
    left, right = (array(shapes.get(name, "")) for name in (*instruction.operands, "", "")[:2])
    output = first_array(instruction.shape)
    flops = None
    if left and output:
        along = found.axes.left if found.axes else ()
        if kind in SCALED and not along:
            # Scaled products contract along K, the last axis; all others say along which.
            along = (len(left.sizes) - 1,)
        if along and max(along) < len(left.sizes) and min(along) >= 0:
            flops = 2 * math.prod(output.sizes) * math.prod(left.sizes[axis] for axis in along)
    types = (left.kind if left else "", right.kind if right else "")
    return CountedProduct(kind, types, found.precisions, found.algorithm, flops)
