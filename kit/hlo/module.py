"""The text of an HLO module as computations and their instructions, read strictly.

A line that is no instruction, a name that is not defined above its use, a second ENTRY or a brace
too many is an error: whoever leaves out what he does not understand can be shown anything. The
grammar is that of XLA's printer (xla/hlo/parser), of which optimised modules use a small part.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from kit.hlo.caches import cached

MOST_INSTRUCTIONS = 150_000
"""Lines of all computations: a device loop over 3,900 buffer sets has 31,000, or 120,000 if every
product is a Triton fusion of its own with a reduction behind it."""

_NAME = r"[A-Za-z_][\w.\-]*+"
_STRING = r'"(?:[^"\\]|\\.)*+"'


def _nested(depth: int) -> str:
    """Bracketed text with brackets in it, down to `depth` levels; whatever their kind."""
    inner = rf'(?:[^()\[\]{{}}"]++|{_STRING})*+'
    for _ in range(depth):
        inner = rf'(?:[^()\[\]{{}}"]++|{_STRING}|[(\[{{]{inner}[)\]}}])*+'
    return inner


_ARRAY = r'[a-z][a-z0-9]*+\[[^\[\]\s"]*+\](?:\{[^{}\s"]*+\})?+'
_SHAPE = rf"(?:{_ARRAY}|\({_nested(3)}\))"
_VALUE = rf"(?:[^,()\[\]{{}}\"]++|{_STRING}|[(\[{{]{_nested(7)}[)\]}}])++"
_INSTRUCTION = re.compile(
    rf" *+(?P<root>ROOT )?%?(?P<name>{_NAME}) = (?P<shape>{_SHAPE}) (?P<opcode>[a-z][a-z0-9\-]*+)"
    rf"\((?P<operands>{_nested(4)})\)"
)
"""An instruction without its attributes, which many share."""
_ATTRIBUTES = re.compile(rf"(?:, {_NAME}={_VALUE})*+")
_HEADER = re.compile(rf"(?P<entry>ENTRY )?%?(?P<name>{_NAME}) \({_nested(4)}\) -> {_SHAPE} \{{")
_MODULE = re.compile(rf"HloModule {_NAME}(?P<attributes>{_ATTRIBUTES.pattern})")
_ATTRIBUTE = re.compile(rf", ({_NAME})=({_VALUE})")
_OPERAND = re.compile(rf"(?:/\*[^*]*+\*/)?(?:{_SHAPE} )?%?({_NAME})")
_QUOTED = re.compile(_STRING)
_PRINTABLE = bytes(range(0x20, 0x7F))
_NO_BRACKETS = bytes(set(range(128)) - set(b'()[]{}"'))
_PARTS = re.compile(rf"(?:[^,()\[\]{{}}\"]++|[(\[{{]{_nested(3)}[)\]}}])++")
_LITERAL = frozenset(("parameter", "constant", "iota"))
"""Opcodes whose parentheses hold no operands."""
_CALLING = re.compile(
    r", (?:calls|to_apply|body|condition|called_computations|custom_call_target)="
)
_UNCALLING = frozenset(
    ("parameter", "tuple", "get-tuple-element", "bitcast", "constant", "after-all", "partition-id")
)
"""Opcodes that call nothing: one that says it does has another meaning than its name."""


@dataclass(frozen=True, slots=True)
class Array:
    """The type of an array: element type in XLA's name, sizes, and order in memory.

    `in_memory` are its axes from the outermost to the innermost.
    """

    kind: str
    sizes: tuple[int, ...]
    in_memory: tuple[int, ...]


_ARRAY_PARTS = re.compile(
    r"([a-z][a-z0-9]{0,15})\[((?:\d{1,10}(?:,\d{1,10}){0,7})?)\]"
    r"(?:\{((?:\d(?:,\d){0,7})?)(?::E\(4\))?\})?"
)


@cached(1024)
def array(shape: str) -> Array | None:
    """The array of a type's text; None for tuples, tokens and layouts in tiles."""
    match = _ARRAY_PARTS.fullmatch(shape)
    if match is None:
        return None
    sizes = tuple(map(int, match[2].split(","))) if match[2] else ()
    default = tuple(range(len(sizes)))
    order = tuple(map(int, reversed(match[3].split(",")))) if match[3] else default
    return Array(match[1], sizes, order) if sorted(order) == list(default) else None


_FIRST = re.compile(rf"\(({_ARRAY})")


@cached(1024)
def first_array(shape: str) -> Array | None:
    """The array of a type's text, or the first one of a tuple."""
    match = _FIRST.match(shape)
    return array(match[1] if match else shape)


@cached(1024)
def elements(shape: str) -> tuple[str, ...]:
    """The types of a tuple's elements, or the type itself where it is none."""
    if not shape.startswith("("):
        return (shape,)
    return tuple(text.strip() for text in _split(re.sub(r"/\*[^*]*+\*/", "", shape[1:-1])))


class Instruction(NamedTuple):
    """One line of a computation.

    `shape` is the text of the result's type, `operands` the names of what it reads, `literal` what
    stands in the parentheses of a parameter or constant, `text` its attributes as they are written.
    """

    name: str
    shape: str
    opcode: str
    operands: tuple[str, ...]
    literal: str
    is_root: bool
    text: str

    @property
    def attributes(self) -> Mapping[str, str]:
        """Attributes by name, each as text."""
        return attributes(self.text)

    @property
    def element(self) -> str:
        """Which element of a tuple it takes, as text; it is most often all that it says."""
        word = self.text.removeprefix(", index=")
        return word if word.isdecimal() else self.attributes.get("index", "")

    def called(self) -> str | None:
        """The computation that a fusion or call runs."""
        name = self.attributes.get("calls", self.attributes.get("to_apply"))
        return None if name is None else name.lstrip("%")


@cached(1024)
def attributes(text: str) -> Mapping[str, str]:
    """Attributes by name of the text that ends an instruction."""
    return dict(_ATTRIBUTE.findall(text)) if text else {}


@dataclass(frozen=True, slots=True)
class Module:
    """A module: attributes of its first line, computations by name, name of the entry."""

    attributes: Mapping[str, str]
    computations: Mapping[str, tuple[Instruction, ...]]
    entry: str


def parse_module(text: str) -> Module:
    """Read a module.

    Raises:
        ValueError: a line is no part of a module; says which.
    """
    # Of the many characters that some readers break lines at, only the line feed may be there.
    if not text.isascii() or text.encode("ascii").translate(None, _PRINTABLE + b"\n"):
        raise ValueError("it holds other characters than printable ASCII")
    first, *lines = text.split("\n")
    module = _MODULE.fullmatch(first)
    if module is None:
        raise ValueError(f"line 1 does not begin an HLO module: {first[:80]!r}")
    reader = _Reader()
    reader.read(lines)
    if reader.current is not None:
        raise ValueError("the last computation has no end")
    if not reader.entry:
        raise ValueError("no ENTRY computation")
    _require_pairs("".join((first, *reader.parts)))
    found = {name: tuple(body.values()) for name, body in reader.found.items()}
    return Module(dict(_ATTRIBUTE.findall(module["attributes"])), found, reader.entry)


class _Reader:
    """What was read so far; `current` is the computation being read.

    `parts` are the texts in which brackets may be, each once: the instructions of a program repeat
    a few types and attributes, so that what they are is asked once for all.
    """

    def __init__(self) -> None:
        self.found: dict[str, dict[str, Instruction]] = {}
        self.entry = ""
        self.current: dict[str, Instruction] | None = None
        self.parts: dict[str, str] = {}
        self._calling: dict[str, bool] = {}
        self._names: dict[str, str] = {}
        """Of this computation's instructions, by what stands where they are read."""
        self._roots = 0
        self._instructions = 0

    def read(self, lines: Sequence[str]) -> None:
        """All lines but the first one."""
        for number, line in enumerate(lines, 2):
            if self.current is None:
                if line:
                    self._begin(line, number)
            elif line == "}":
                if self._roots != 1:
                    raise ValueError(f"the computation that ends in line {number} has no one ROOT")
                self.current = None
            else:
                self._add(line, number, self.current)

    def _begin(self, line: str, number: int) -> None:
        match = _HEADER.fullmatch(line)
        if match is None:
            raise ValueError(f"line {number} begins no computation: {line[:80]!r}")
        name = match["name"]
        if name in self.found:
            raise ValueError(f"line {number}: a second computation {name[:80]}")
        if match["entry"]:
            if self.entry:
                raise ValueError(f"line {number}: a second ENTRY")
            self.entry = name
        self._part(line + "}")
        self.current = self.found[name] = {}
        self._names = {}
        self._roots = 0

    def _add(self, line: str, number: int, body: dict[str, Instruction]) -> None:
        match = _INSTRUCTION.match(line)
        rest = line[match.end() :] if match else ""
        calls = self._calling.get(rest)
        if match is None or (calls is None and not _ATTRIBUTES.fullmatch(rest)):
            raise ValueError(f"line {number} is no instruction: {line.strip()[:80]!r}")
        if calls is None:
            calls = self._calling[rest] = _CALLING.search(rest) is not None
        self._instructions += 1
        if self._instructions > MOST_INSTRUCTIONS:
            raise ValueError(f"more than {MOST_INSTRUCTIONS} instructions")
        root, name, shape, opcode, inside = match.groups()
        if name in body:
            raise ValueError(f"line {number}: a second instruction {name[:80]}")
        if calls and opcode in _UNCALLING:
            raise ValueError(f"line {number}: a {opcode} that calls a computation")
        is_literal = opcode in _LITERAL
        self._roots += root is not None
        body[name] = Instruction(
            name,
            self._part(shape),
            opcode,
            () if is_literal or not inside else self._operands(inside, number, body),
            self._part(inside) if is_literal else "",
            root is not None,
            self._part(rest),
        )
        self._names["%" + name] = name

    def _part(self, text: str) -> str:
        """The text, as one object however often it stands there."""
        return self.parts.setdefault(text, text)

    def _operands(self, inside: str, number: int, body: Mapping[str, object]) -> tuple[str, ...]:
        texts = _split(inside)
        try:
            return tuple([self._names[text] for text in texts])
        except KeyError:
            # Types and comments may stand before a name.
            operands = tuple([self._names.get(text) or _operand(text) for text in texts])
        if not body.keys() >= set(operands):
            raise ValueError(f"line {number}: reads what is not defined above: {inside[:80]!r}")
        self._part(inside)
        return operands


def _split(inside: str) -> list[str]:
    """What stands between commas that are in no brackets."""
    return inside.split(", ") if "[" not in inside else _PARTS.findall(inside)


def _operand(text: str) -> str:
    match = _OPERAND.fullmatch(text.strip())
    return match[1] if match else text


def _require_pairs(text: str) -> None:
    """Each bracket is closed by its own kind; how deep they are nested the grammar has bounded."""
    brackets, before = _QUOTED.sub("", text).encode("ascii").translate(None, _NO_BRACKETS), b""
    while brackets != before:
        before = brackets
        brackets = brackets.replace(b"()", b"").replace(b"[]", b"").replace(b"{}", b"")
    if brackets:
        raise ValueError("its brackets do not match")
