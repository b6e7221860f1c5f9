"""What an optimised HLO module does: its GEMMs, and every other piece of device work (clause M04).

Works on text alone, so that the runner's gate and the checker read the same evidence.
"""

import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

from kit.hlo_module import Instruction, Module, array, first_array, parse_module
from kit.hlo_products import DOTS, SCALED, Multiplication, multiplication

FREE = frozenset(
    ("parameter", "tuple", "get-tuple-element", "bitcast", "constant", "after-all", "partition-id")
)
"""Opcodes that give a device nothing to do."""
_CUDNN = re.compile(r'"kind":"__cudnn\$')
_METADATA = re.compile(r', metadata=\{(?:[^{}"]|"(?:[^"\\]|\\.)*")*\}')
_TABLES = ("FileNames", "FunctionNames", "FileLocations", "StackFrames")
_TRIPS = re.compile(r'"known_trip_count":\{"n":"(\d{1,9})"')
_SCALAR = re.compile(r"(?:s32|u32|s64|u64|pred)\[\](?:\{\})?")
_CACHED = 64


@dataclass(frozen=True, slots=True)
class Census:
    """What one call of the executable does.

    `gemms` counts products by what runs them (`__cublas$lt$matmul`, `fusion`, `dot`); `products`
    are what runs them with the element types of A and B they read. `precisions` are those that
    products ask for, such as `HIGHEST`; `algorithms` those that they fix, such as
    `DOT_TF32_TF32_F32`, with "" for a product that fixes none. `flops` counts their operations,
    2·M·N·K·batch each; None where the text does not tell the sizes. `extra` counts every other
    piece of device work by opcode, inside GEMM fusions too. `loop_control` counts the work on a
    loop's scalar counter, which a device loop cannot do without. A loop's body counts once for
    each trip.
    """

    gemms: dict[str, int]
    products: frozenset[tuple[str, str, str]]
    precisions: frozenset[str]
    algorithms: frozenset[str]
    flops: int | None
    extra: dict[str, int]
    loop_control: int = 0

    @property
    def gemm_count(self) -> int:
        """Products in one call."""
        return sum(self.gemms.values())

    @property
    def operand_types(self) -> frozenset[str]:
        """Every element type that a product reads."""
        return frozenset(kind for _, *types in self.products for kind in types if kind)


def normalise(text: str) -> str:
    """Strip source locations, which name local paths and change without the program changing."""
    kept: list[str] = []
    in_table = False
    for line in text.splitlines():
        if line in _TABLES:
            in_table = True
        elif in_table:
            in_table = bool(line)
        else:
            kept.append(_METADATA.sub("", line).rstrip())
    return re.sub(r"\n{3,}", "\n\n", "\n".join(kept).strip()) + "\n"


def module(text: str) -> Module:
    """`kit.hlo_module.parse_module`, once for all who read the same text, sound or not."""
    found = _parsed(text)
    if isinstance(found, str):
        raise ValueError(found)  # noqa: TRY004 - the text is wrong, not its type
    return found


@lru_cache(maxsize=_CACHED)
def _parsed(text: str) -> Module | str:
    try:
        return parse_module(text)
    except ValueError as error:
        return str(error)


def forget() -> None:
    """Let go of the texts that were read."""
    _parsed.cache_clear()
    census.cache_clear()


@lru_cache(maxsize=_CACHED)
def census(text: str) -> Census:
    """Count the GEMMs and all other work of one call.

    However often a computation is called it is read once, so that the time is that of the text's
    length.

    Raises:
        ValueError: the text is not an HLO module, or a loop's trips are not known from it.
    """
    found = module(text)
    tally = _Tally(_Bodies(found.computations))
    calls: Counter[str] = Counter()
    for name, times in ((found.entry, 1), *loops(found)):
        for called in tally.add_all(found.computations[name], times):
            calls[called] += times
    for name, times in calls.items():
        # XLA's expansion of a scaled product is a call. One inside it is counted as such.
        inside = found.computations.get(name)
        tally.add_calls(times if inside is None else len(tally.add_all(inside, times)) * times)
    products = tally.products
    return Census(
        dict(tally.gemms),
        frozenset((product.kind, *product.types) for product in products),
        frozenset(name for product in products for name in product.precisions),
        frozenset(product.algorithm for product in products),
        tally.flops,
        tally.extra(),
        tally.loop_control,
    )


def loops(found: Module) -> Iterator[tuple[str, int]]:
    """Name of the loop's body and how often it runs, if the entry has a loop.

    One is all that a device loop needs. A second one, or one inside it, would only be a way to make
    a reader go through the same text again and again.

    Raises:
        ValueError: there are more, or the text does not say how often the body runs.
    """
    whiles = [line for line in found.computations[found.entry] if line.opcode == "while"]
    if not whiles:
        return
    body = whiles[0].attributes.get("body", "").lstrip("%")
    trips = _TRIPS.search(whiles[0].attributes.get("backend_config", ""))
    if trips is None or body not in found.computations:
        raise ValueError("a loop has no known number of trips")
    if len(whiles) > 1 or any(line.opcode == "while" for line in found.computations[body]):
        raise ValueError("more than one loop")
    yield body, int(trips[1])


@dataclass(frozen=True, slots=True)
class _Product:
    kind: str
    types: tuple[str, str]
    precisions: tuple[str, ...]
    algorithm: str
    flops: int | None


@dataclass(slots=True)
class _Tally:
    """What has been counted; fusions by name, so that each body is added up once in the end."""

    bodies: "_Bodies"
    gemms: Counter[str] = field(default_factory=Counter)
    products: set[_Product] = field(default_factory=set)
    flops: int | None = 0
    loop_control: int = 0
    _own: Counter[str] = field(default_factory=Counter)
    _called: Counter[str] = field(default_factory=Counter)

    def add_all(self, body: Sequence[Instruction], times: int) -> list[str]:
        """Count a computation that runs line by line; returns what its `call` lines name."""
        shapes = _shapes(body)
        calls = []
        for instruction in body:
            if instruction.opcode == "call":
                calls.append(instruction.called() or "")
            elif instruction.opcode not in FREE and instruction.opcode != "while":
                self._add(instruction, shapes, times)
        return calls

    def add_calls(self, times: int) -> None:
        """Count calls that are not entered."""
        self._own["call"] += times

    def _add(self, instruction: Instruction, shapes: Mapping[str, str], times: int) -> None:
        if instruction.opcode == "fusion":
            self._add_fusion(instruction, shapes, times)
            return
        found = multiplication(instruction)
        if found is not None:
            self._add_product(_product(found.kind, found, instruction, shapes), times)
        elif _is_scalar(instruction, shapes):
            self.loop_control += times
        else:
            self._own[instruction.opcode] += times

    def _add_fusion(
        self, instruction: Instruction, shapes: Mapping[str, str], times: int
    ) -> None:
        called, bodies = instruction.called() or "", self.bodies
        dots = sum(bodies.count(called, opcode) for opcode in DOTS)
        if dots == 1 and bodies.count(called, "multiply") and _CUDNN.search(instruction.text):
            # The body says what the scales mean; cuDNN runs one kernel for all of it.
            whole = Multiplication("__cudnn$", None, (), "")
            self._add_product(_product("__cudnn$", whole, instruction, shapes), times)
            return
        product = bodies.dot(called) if dots == 1 else None
        if product is not None:
            self._add_product(product, times)
            self._own[bodies.opcode_of_dot(called)] -= times
        elif _is_scalar(instruction, shapes):
            self.loop_control += times
            return
        elif not bodies.works(called):
            self._own["fusion"] += times
        self._called[called] += times

    def _add_product(self, product: _Product, times: int) -> None:
        self.gemms[product.kind] += times
        self.products.add(product)
        if self.flops is not None:
            self.flops = None if product.flops is None else self.flops + times * product.flops

    def extra(self) -> dict[str, int]:
        """All other work by opcode."""
        work, inner = Counter(self._own), Counter[str]()
        for name, times in self._called.items():
            body = self.bodies.body(name)
            work.update({opcode: times * count for opcode, count in body.own.items()})
            inner.update({called: times * count for called, count in body.fusions.items()})
        for name, times in inner.items():
            flat = self.bodies.body(name).flat
            work.update({opcode: times * count for opcode, count in flat.items()})
        return {opcode: count for opcode, count in work.items() if count}


@dataclass(frozen=True, slots=True)
class _Body:
    """A called computation: opcodes that are no free ones, and how often it calls which fusions.

    `own` leaves out those fusions, `flat` counts them as such.
    """

    own: Counter[str]
    fusions: Counter[str]
    flat: Counter[str]


class _Bodies:
    """Called computations, each read once however often it is called.

    Triton's GEMM fusions hold one fusion for each operand, with what is done to it on the way in.
    Fusions inside those are counted as such: XLA makes none.
    """

    def __init__(self, found: Mapping[str, tuple[Instruction, ...]]) -> None:
        self._found = found
        self._bodies: dict[str, _Body] = {}
        self._counts: dict[tuple[str, str], int] = {}
        self._works: dict[str, bool] = {}
        self._dots: dict[str, _Product | None] = {}

    def body(self, name: str) -> _Body:
        if name not in self._bodies:
            lines = [line for line in self._found.get(name, ()) if line.opcode not in FREE]
            flat = Counter(line.opcode for line in lines)
            names = [line.called() or "" for line in lines if line.opcode == "fusion"]
            own = Counter({opcode: n for opcode, n in flat.items() if opcode != "fusion"})
            self._bodies[name] = _Body(own, Counter(names), flat)
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

    def dot(self, name: str) -> _Product | None:
        """The dot of a computation that holds one, itself and not in a fusion inside it."""
        if name not in self._dots:
            lines = self._found.get(name, ())
            product = None
            for line in lines:
                found = multiplication(line) if line.opcode in DOTS else None
                if found is not None:
                    kind = line.opcode if line.opcode in SCALED else "fusion"
                    product = _product(kind, found, line, _shapes(lines))
                    break
            self._dots[name] = product
        return self._dots[name]

    def opcode_of_dot(self, name: str) -> str:
        """Which of the two opcodes that dot has."""
        return next(opcode for opcode in DOTS if self.body(name).own[opcode])


def _is_scalar(instruction: Instruction, shapes: Mapping[str, str]) -> bool:
    """Whether it makes one number out of numbers, as the work on a loop's counter does."""
    return all(
        _SCALAR.fullmatch(shape)
        for shape in (instruction.shape, *(shapes[name] for name in instruction.operands))
    )


def _shapes(body: Sequence[Instruction]) -> dict[str, str]:
    return {instruction.name: instruction.shape for instruction in body}


def _product(
    kind: str, found: Multiplication, instruction: Instruction, shapes: Mapping[str, str]
) -> _Product:
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
    return _Product(kind, types, found.precisions, found.algorithm, flops)
