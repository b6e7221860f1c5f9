"""JSON as a bundle may hold it: one meaning for every reader, bounded before it is built.

RFC 8259 leaves duplicate keys, huge numbers and nesting to the reader, and Python's `json` adds
NaN. Whatever two readers could understand differently is refused here.
"""

import json
import math
import re
import unicodedata
from pathlib import Path
from typing import Any, NoReturn

from kit.bundle.foreign_text import shown
from kit.errors import BundleError

MAXIMUM_BYTES = 4 * 2**20
MAXIMUM_DEPTH = 32
MAXIMUM_NODES = 100_000
"""Twice what the claims of `kit.plan.MOST_RUNS` runs hold."""
MAXIMUM_TEXT = 4096
MAXIMUM_INTEGER = 2**53 - 1
_INTEGER_DIGITS = 16
_FLOAT_CHARACTERS = 32

# Possessive repeats keep an unterminated string linear in time and constant in memory.
_STRUCTURE = re.compile(rb'"(?:[^"\\]++|\\.)*+"?|[\[{]|[\]}]', re.DOTALL)
_NO_MARKS = bytes(set(range(256)) - set(b'"[]{}'))
# Control, format, surrogate and private-use characters, line and paragraph separators.
_REFUSED = frozenset(("Cc", "Cf", "Cs", "Co", "Zl", "Zp"))


class _NotStrictError(ValueError):
    """The text is JSON, but not strictly."""


def dumps(value: object) -> bytes:
    """Return `value` as the one canonical text: sorted keys, indent 1, ASCII, final newline.

    Raises:
        ValueError: a number is not finite.
    """
    text = json.dumps(value, sort_keys=True, indent=1, ensure_ascii=True, allow_nan=False)
    return text.encode("ascii") + b"\n"


def read_bounded(path: Path) -> bytes:
    """At most one byte more than a document may have: it may be a device, and have no end.

    Raises:
        OSError: it cannot be read.
    """
    with path.open("rb") as file:
        return file.read(MAXIMUM_BYTES + 1)


def loads(data: bytes, place: str) -> object:
    """Parse one JSON document; `place` names it in errors.

    Raises:
        BundleError: anything that is not strict JSON within the limits of this module.
    """
    try:
        text = _decode(data)
        _check_depth(data)
        value = _DECODER.decode(text)
        if not _is_plain(data):
            _check_nodes(value)
    except json.JSONDecodeError as error:
        problem = f"line {error.lineno}, column {error.colno}: {error.msg}"
        raise BundleError(f"{place}: not JSON: {problem}") from None
    except _NotStrictError as error:
        raise BundleError(f"{place}: {error}") from None
    except (RecursionError, OverflowError):
        raise BundleError(f"{place}: too large to parse") from None
    return value


def _decode(data: bytes) -> str:
    if len(data) > MAXIMUM_BYTES:
        raise _NotStrictError(f"{len(data)} bytes; a document may have {MAXIMUM_BYTES}")
    if data.startswith(b"\xef\xbb\xbf"):
        raise _NotStrictError("begins with a byte order mark")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise _NotStrictError(f"not UTF-8 at byte {error.start}") from None


def _check_depth(data: bytes) -> None:
    marks = data
    if b"\\" not in data:
        # What neither opens nor ends anything goes, and then the texts that held nothing else.
        marks = data.translate(None, _NO_MARKS).replace(b'""', b"")
        # Each time this takes away one or two levels. A mark within a text keeps its quotes.
        left = marks
        for _ in range(MAXIMUM_DEPTH // 2):
            left = left.replace(b"[]", b"").replace(b"{}", b"")
        if not left:
            return
    depth = 0
    for match in _STRUCTURE.finditer(marks):
        mark = match[0]
        if mark in b"[{":
            depth += 1
            if depth > MAXIMUM_DEPTH:
                raise _NotStrictError(f"nested deeper than {MAXIMUM_DEPTH} levels")
        elif mark in b"]}":
            depth -= 1


def _is_plain(data: bytes) -> bool:
    """Whether `_check_nodes` could find no fault in the value of this text.

    Every value takes a byte or more. A text in ASCII without escapes, in which the decoder found no
    control character, is printable and composed, and it lies between two quotes.
    """
    return (
        len(data) <= MAXIMUM_NODES
        and data.isascii()
        and b"\\" not in data
        and b"\x7f" not in data
        and _holds_short_texts(data)
    )


def _holds_short_texts(data: bytes) -> bool:
    """Whether a quote stands in each block of half the length that a text may have."""
    step = MAXIMUM_TEXT // 2
    return all(data.find(b'"', at, at + step) >= 0 for at in range(0, len(data) - step, step))


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(pairs)
    if len(result) < len(pairs):
        seen: set[str] = set()
        for key, _ in pairs:
            if key in seen:
                raise _NotStrictError(f"the key {shown(key)} stands twice in one object")
            seen.add(key)
    return result


def _integer(text: str) -> int:
    if text == "-0":
        raise _NotStrictError("-0 is not a whole number")
    if len(text.removeprefix("-")) > _INTEGER_DIGITS or abs(int(text)) > MAXIMUM_INTEGER:
        raise _NotStrictError(f"the whole number {shown(text)} is beyond 2^53 - 1")
    return int(text)


def _float(text: str) -> float:
    if len(text) > _FLOAT_CHARACTERS:
        raise _NotStrictError(
            f"the number {shown(text)} has more than {_FLOAT_CHARACTERS} characters"
        )
    value = float(text)
    if not math.isfinite(value):
        raise _NotStrictError(f"the number {shown(text)} is not finite")
    return value


def _constant(text: str) -> NoReturn:
    raise _NotStrictError(f"{text} is not a number")


_DECODER = json.JSONDecoder(
    object_pairs_hook=_object, parse_int=_integer, parse_float=_float, parse_constant=_constant
)


def _check_nodes(value: object) -> None:
    pending = [value]
    nodes = 1
    while pending:
        node = pending.pop()
        if isinstance(node, str):
            _check_text(node)
        elif isinstance(node, dict):
            for key in node:
                _check_text(key)
            nodes += 2 * len(node)
            pending.extend(node.values())
        elif isinstance(node, list):
            nodes += len(node)
            pending.extend(node)
        if nodes > MAXIMUM_NODES:
            raise _NotStrictError(f"holds more than {MAXIMUM_NODES} values")


def _check_text(text: str) -> None:
    if len(text) > MAXIMUM_TEXT:
        raise _NotStrictError(f"a text of {len(text)} characters; {MAXIMUM_TEXT} are allowed")
    if text.isascii() and text.isprintable():
        return
    for character in text:
        if unicodedata.category(character) in _REFUSED:
            raise _NotStrictError(
                f"the text {shown(text)} holds the character U+{ord(character):04X}"
            )
    if not unicodedata.is_normalized("NFC", text):
        raise _NotStrictError(f"the text {shown(text)} is not in Unicode's composed form (NFC)")
