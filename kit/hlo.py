"""What an optimised HLO module does: its GEMMs, and every other piece of device work (clause M04).

Works on text alone, so that the runner's gate and the checker read the same evidence.
"""

import math
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

from kit.hlo_module import Instruction, computations

_FREE = frozenset(
    ("parameter", "tuple", "get-tuple-element", "bitcast", "constant", "after-all", "partition-id")
)
_GEMM_TARGET = re.compile(
    r'custom_call_target="(__cublas\$lt\$matmul[^"]*|__cublas\$gemm|__onednn\$matmul'
    r'|__cudnn\$blockScaledDot|__op\$block_scaled_dot)"'
)
SCALED = frozenset(("scaled-dot", "__cudnn$blockScaledDot", "__op$block_scaled_dot", "__cudnn$"))
"""Kinds of product that read scales; the last is a cuDNN fusion of operands and their scales."""
_DOTS = ("dot", "scaled-dot")
_CUDNN = re.compile(r'"kind":"__cudnn\$')
_ARRAY = re.compile(r"\(?([a-z][a-z0-9]{0,15})\[(\d{1,10}(?:,\d{1,10}){0,7})\]")
_CONTRACTING = re.compile(r'lhs_contracting_dim(?:ensions":\[|s=\{)"?(\d)"?[\]}]')
_CALLS = re.compile(r"calls=%?([\w.\-]+)")
_METADATA = re.compile(r', metadata=\{(?:[^{}"]|"(?:[^"\\]|\\.)*")*\}')
_TABLES = ("FileNames", "FunctionNames", "FileLocations", "StackFrames")
_BODY = re.compile(r"body=%?([\w.\-]+)")
_TRIPS = re.compile(r'"known_trip_count":\{"n":"(\d{1,9})"')
_SCALAR = re.compile(r"(?:s32|u32|s64|u64|pred)\[\](?:\{\})?")
_OPERAND = re.compile(r"%([\w.\-]+)")
_PRECISION = re.compile(r'operand_precision(?:=\{|":\[)([a-zA-Z0-9_",]{0,200})')
_WORD = re.compile(r"[a-zA-Z0-9_]+")
_ALGORITHM = re.compile(r'\balgorithm(?:=|":")((?:alg|dot)_[a-z0-9_]{1,80})', re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Census:
    """What one call of the executable does.

    `gemms` counts products by what runs them (`__cublas$lt$matmul`, `fusion`, `dot`); `products`
    are what runs them with the element types of A and B they read. `flops` counts their operations,
    2·M·N·K·batch each; None where the text does not tell the sizes. `extra` counts every other
    piece of device work by opcode, inside GEMM fusions too. `loop_control` counts the work on a
    loop's scalar counter, which a device loop cannot do without. A loop's body counts once for
    each trip.
    """

    gemms: dict[str, int]
    products: frozenset[tuple[str, str, str]]
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


def operand_precisions(text: str) -> frozenset[str]:
    """Every precision that products ask for, such as `HIGHEST`; empty where the text shows none.

    XLA leaves `operand_precision` out of a plain dot with its default.
    """
    words = [word for group in _PRECISION.findall(text) for word in _WORD.findall(group)]
    return frozenset(word.upper() for word in words)


def dot_algorithms(text: str) -> frozenset[str]:
    """Every algorithm that products fix, such as `ALG_DOT_TF32_TF32_F32`, without unset ones."""
    return frozenset(name.upper() for name in _ALGORITHM.findall(text)) - {"ALG_UNSET"}


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


@lru_cache(maxsize=4)
def census(text: str) -> Census:
    """Count the GEMMs and all other work of one call.

    Raises:
        ValueError: the text is not an HLO module, or a loop's trips are not known from it.
    """
    found, entry = computations(text)
    gemms: Counter[str] = Counter()
    extra: Counter[str] = Counter()
    products: set[tuple[str, str, str]] = set()
    flops: int | None = 0
    loop_control = 0
    bodies = _Bodies(found)
    for name, times in ((entry, 1), *_loops(found, entry)):
        shapes = _shapes(found[name])
        for instruction in found[name]:
            if instruction.opcode in _FREE or instruction.opcode == "while":
                continue
            product, inner = _classify(instruction, shapes, bodies)
            if product:
                gemms[product.kind] += times
                products.add((product.kind, *product.types))
                if flops is not None:
                    flops = None if product.flops is None else flops + times * product.flops
            if inner and _SCALAR.fullmatch(instruction.shape):
                loop_control += times
                continue
            extra.update({opcode: count * times for opcode, count in inner.items()})
    return Census(dict(gemms), frozenset(products), flops, dict(extra), loop_control)


def _loops(found: dict[str, list[Instruction]], entry: str) -> list[tuple[str, int]]:
    """Name of the loop's body and how often it runs, if there is a loop.

    One is all that a device loop needs. A second one, or one inside it, would only be a way to make
    a reader go through the same text again and again.
    """
    loops = [instruction for instruction in found[entry] if instruction.opcode == "while"]
    if not loops:
        return []
    body, trips = _BODY.search(loops[0].rest), _TRIPS.search(loops[0].rest)
    if body is None or trips is None or body.group(1) not in found:
        raise ValueError("a loop has no known number of trips")
    inner = found[body.group(1)]
    if len(loops) > 1 or any(instruction.opcode == "while" for instruction in inner):
        raise ValueError("more than one loop")
    return [(body.group(1), int(trips.group(1)))]


@dataclass(frozen=True, slots=True)
class _Product:
    kind: str
    types: tuple[str, str]
    flops: int | None


class _Bodies:
    """Called computations, each read once however often it is called.

    Triton's GEMM fusions hold one fusion for each operand, with what is done to it on the way in.
    Fusions inside those are counted as such: XLA makes none.
    """

    def __init__(self, found: dict[str, list[Instruction]]) -> None:
        self._found = found
        self._counted: dict[str, Counter[str]] = {}
        self._operands: dict[str, Counter[str]] = {}
        self._dots: dict[str, _Product | None] = {}

    def work(self, name: str) -> Counter[str]:
        """Opcodes that are no free ones."""
        if name not in self._counted:
            work: Counter[str] = Counter()
            for instruction in self._found.get(name, []):
                called = _CALLS.search(instruction.rest) if instruction.opcode == "fusion" else None
                work.update(self._own(called.group(1)) if called else _work_of([instruction]))
            self._counted[name] = work
        return self._counted[name]

    def _own(self, name: str) -> Counter[str]:
        if name not in self._operands:
            self._operands[name] = _work_of(self._found.get(name, []))
        return self._operands[name]

    def dot(self, name: str) -> _Product | None:
        """The dot of a computation that holds one, itself and not in a fusion inside it."""
        if name not in self._dots:
            body = self._found[name]
            dots = [instruction for instruction in body if instruction.opcode in _DOTS]
            kinds = [dot.opcode if dot.opcode in SCALED else "fusion" for dot in dots]
            self._dots[name] = _product(kinds[0], dots[0], _shapes(body)) if dots else None
        return self._dots[name]


def _work_of(instructions: list[Instruction]) -> Counter[str]:
    return Counter(i.opcode for i in instructions if i.opcode not in _FREE)


def _shapes(body: list[Instruction]) -> dict[str, str]:
    return {instruction.name: instruction.shape for instruction in body}


def _array(shape: str) -> tuple[str, tuple[int, ...]]:
    """Element type and sizes of an array, or of the first one in a tuple; ("", ()) for neither."""
    match = _ARRAY.match(shape)
    return (match[1], tuple(map(int, match[2].split(",")))) if match else ("", ())


def _product(kind: str, instruction: Instruction, shapes: Mapping[str, str]) -> _Product:
    names = _OPERAND.findall(instruction.rest.partition(")")[0])
    (a, sizes), (b, _) = (_array(shapes.get(name, "")) for name in (*names, "", "")[:2])
    output = _array(instruction.shape)[1]
    contracting = _CONTRACTING.search(instruction.rest)
    place = int(contracting[1]) if contracting else len(sizes) - 1
    # Scaled products contract along K, the last size; all others say along which.
    known = sizes and output and place < len(sizes) and (contracting or kind in SCALED)
    return _Product(kind, (a, b), 2 * math.prod(output) * sizes[place] if known else None)


def _classify(
    instruction: Instruction, shapes: Mapping[str, str], bodies: _Bodies
) -> tuple[_Product | None, Counter[str]]:
    """The GEMM that an instruction is, if it is one, and its other work."""
    if instruction.opcode in _DOTS:
        return _product(instruction.opcode, instruction, shapes), Counter()
    if instruction.opcode == "custom-call":
        target = _GEMM_TARGET.search(instruction.rest)
        if target:
            return _product(target.group(1), instruction, shapes), Counter()
        return None, Counter({"custom-call": 1})
    if instruction.opcode == "fusion":
        return _fused(instruction, shapes, bodies)
    return None, Counter({instruction.opcode: 1})


def _fused(
    instruction: Instruction, shapes: Mapping[str, str], bodies: _Bodies
) -> tuple[_Product | None, Counter[str]]:
    called = _CALLS.search(instruction.rest)
    opcodes = bodies.work(called.group(1)) if called else Counter()
    if called is None or opcodes["dot"] + opcodes["scaled-dot"] != 1:
        return None, opcodes or Counter({"fusion": 1})
    if opcodes["multiply"] and _CUDNN.search(instruction.rest):
        # The body says what the scales mean; cuDNN runs one kernel for all of it.
        return _product("__cudnn$", instruction, shapes), Counter()
    product = bodies.dot(called.group(1))
    return (product, opcodes - Counter(_DOTS)) if product else (None, opcodes)
