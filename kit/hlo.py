"""What an optimised HLO module does: its GEMMs, and every other piece of device work (clause M04).

Works on text alone, so that the runner's gate and the checker read the same evidence.
"""

import re
from collections import Counter
from dataclasses import dataclass

_FREE = frozenset(
    ("parameter", "tuple", "get-tuple-element", "bitcast", "constant", "after-all", "partition-id")
)
_GEMM_TARGET = re.compile(
    r'custom_call_target="(__cublas\$lt\$matmul[^"]*|__cublas\$gemm|__onednn\$matmul)"'
)
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
class Instruction:
    """One line of a computation: result name and type, opcode, and the rest of the line."""

    name: str
    shape: str
    opcode: str
    rest: str


@dataclass(frozen=True, slots=True)
class Census:
    """What one call of the executable does.

    `gemms` counts products by what runs them (`__cublas$lt$matmul`, `fusion`, `dot`);
    `operand_types` are the element types they read; `extra` counts every other piece of device
    work by opcode, inside GEMM fusions too. `loop_control` counts the work on a loop's scalar
    counter, which a device loop cannot do without. A loop's body counts once for each trip.
    """

    gemms: dict[str, int]
    operand_types: frozenset[str]
    extra: dict[str, int]
    loop_control: int = 0

    @property
    def gemm_count(self) -> int:
        """Products in one call."""
        return sum(self.gemms.values())


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


def computations(text: str) -> tuple[dict[str, list[Instruction]], str]:
    """All computations by name, and the entry's name.

    Raises:
        ValueError: the text has no entry computation.
    """
    found: dict[str, list[Instruction]] = {}
    entry = ""
    current: list[Instruction] | None = None
    for line in text.splitlines():
        if current is None:
            if line.endswith("{") and "->" in line and not line.startswith("HloModule"):
                words = line.split(None, 2)
                is_entry = words[0] == "ENTRY"
                name = words[1 if is_entry else 0].lstrip("%")
                entry = name if is_entry else entry
                current = found.setdefault(name, [])
        elif line.startswith("}"):
            current = None
        else:
            instruction = _instruction(line)
            if instruction is not None:
                current.append(instruction)
    if not entry:
        raise ValueError("no ENTRY computation")
    return found, entry


def _instruction(line: str) -> Instruction | None:
    left, separator, right = line.strip().removeprefix("ROOT ").partition(" = ")
    if not separator:
        return None
    shape, rest = _split_shape(right)
    opcode, separator, arguments = rest.partition("(")
    if not separator:
        return None
    return Instruction(left.lstrip("%"), shape, opcode.strip(), arguments)


def _split_shape(text: str) -> tuple[str, str]:
    if not text.startswith("("):
        shape, _, rest = text.partition(" ")
        return shape, rest
    depth = 0
    for place, character in enumerate(text):
        depth += (character == "(") - (character == ")")
        if depth == 0:
            return text[: place + 1], text[place + 1 :].strip()
    return text, ""


def census(text: str) -> Census:
    """Count the GEMMs and all other work of one call.

    Raises:
        ValueError: the text is not an HLO module, or a loop's trips are not known from it.
    """
    found, entry = computations(text)
    gemms: Counter[str] = Counter()
    extra: Counter[str] = Counter()
    types: set[str] = set()
    loop_control = 0
    bodies = _Bodies(found)
    for name, times in ((entry, 1), *_loops(found, entry)):
        shapes = {instruction.name: instruction.shape for instruction in found[name]}
        for instruction in found[name]:
            if instruction.opcode in _FREE or instruction.opcode == "while":
                continue
            kind, inner = _classify(instruction, bodies)
            if kind:
                gemms[kind] += times
                types.update(_operand_types(instruction, shapes))
            if inner and _SCALAR.fullmatch(instruction.shape):
                loop_control += times
                continue
            extra.update({opcode: count * times for opcode, count in inner.items()})
    return Census(dict(gemms), frozenset(types), dict(extra), loop_control)


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


class _Bodies:
    """Opcodes of called computations, each counted once however often it is called.

    Triton's GEMM fusions hold one fusion for each operand, with what is done to it on the way in.
    Fusions inside those are counted as such: XLA makes none.
    """

    def __init__(self, found: dict[str, list[Instruction]]) -> None:
        self._found = found
        self._counted: dict[str, Counter[str]] = {}
        self._operands: dict[str, Counter[str]] = {}

    def work(self, name: str) -> Counter[str]:
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


def _work_of(instructions: list[Instruction]) -> Counter[str]:
    return Counter(i.opcode for i in instructions if i.opcode not in _FREE)


def _operand_types(instruction: Instruction, shapes: dict[str, str]) -> set[str]:
    operands = _OPERAND.findall(instruction.rest.partition(")")[0])[:2]
    return {shapes[name].partition("[")[0] for name in operands if name in shapes}


def _classify(instruction: Instruction, bodies: _Bodies) -> tuple[str, Counter[str]]:
    """Kind of GEMM ("" if none) and the other work of one instruction."""
    if instruction.opcode == "dot":
        return "dot", Counter()
    if instruction.opcode == "custom-call":
        target = _GEMM_TARGET.search(instruction.rest)
        if target:
            return target.group(1), Counter()
        return "", Counter({"custom-call": 1})
    if instruction.opcode == "fusion":
        called = _CALLS.search(instruction.rest)
        opcodes = bodies.work(called.group(1)) if called else Counter()
        if opcodes["dot"] == 1:
            return "fusion", opcodes - Counter(("dot",))
        return "", opcodes or Counter({"fusion": 1})
    return "", Counter({instruction.opcode: 1})
