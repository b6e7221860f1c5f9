"""Bytes become mutated bundles: one reading of them for hypothesis, for atheris, for the corpus.

`Choices` draws numbers from the bytes; `mutated` spends them on one to three mutations that know
what they change: values and keys of JSON, rows and cells of tables, lines and words of programs,
plain bytes of anything.
"""

import copy
import json
import re
from functools import cache

from bundles import fixed_frequency, honest_cpu, write
from kit.bundle import layout

NUMBERS = (
    0,
    1,
    -1,
    2,
    3,
    7,
    255,
    256,
    10**6,
    2**31 - 1,
    2**31,
    2**53,
    10**15,
    10**18,
    2**63,
    10**40,
)
FLOATS = (0.0, -0.0, 0.5, 1e-300, 1e300, -1.0, 2.0**53)
TEXTS = (
    "",
    " ",
    "a",
    "0",
    "null",
    "../x",
    "/",
    "\x00",
    "\x1b[31m",
    "\u202e",
    "é",
    "٣",
    "x" * 300,
    "=1+1",
    "<b>",
    "2026-11-29T09:00:00Z",
    "gpu-0123456789ab",
    "0123456789abcdef",
)
CELLS = (
    b"",
    b"0",
    b"1",
    b"-1",
    b"01",
    b"1.5",
    b"1e9",
    b"x",
    b" 1",
    b"999999999999999",
    b"1000000000000000",
    b"9223372036854775807",
    b"99999999999999999999",
)
WORDS = (
    "copy",
    "transpose",
    "dot",
    "fusion",
    "while",
    "call",
    "conditional",
    "tuple",
    "parameter",
    "get-tuple-element",
    "bitcast",
    "constant",
    "custom-call",
    "ROOT",
    "ENTRY",
    "{",
    "}",
    "(",
    ")",
    "%a.0",
    "%b.0",
    "[]",
    "[0,0]",
    "[999999999,999999999]",
    "index=0",
    "body=%body",
    "calls=%body",
    "to_apply=%body",
    '"n":"999999999"',
    "bf16",
    "f32",
    "s32[]",
)
PIECES = (
    b"",
    b"\x00",
    b"\xff",
    b"\n",
    b"\r\n",
    b'"',
    b"\\",
    b"{",
    b"}",
    b"[",
    b"]",
    b",",
    b"0",
    b"9" * 40,
    b"-",
    b".",
    b"e",
    b"NaN",
    b"\xef\xbb\xbf",
    b"\xe2\x80\xae",
)
_WORD = re.compile(r"[\w.$\-]+|\S")


class Choices:
    """Numbers out of bytes; once they are used up, every choice is the first one."""

    def __init__(self, data: bytes) -> None:
        self._data, self._at = data, 0

    def below(self, count: int) -> int:
        """A number from 0 to `count` - 1."""
        size = (max(1, count - 1).bit_length() + 7) // 8
        drawn = self._data[self._at : self._at + size]
        self._at += size
        return int.from_bytes(drawn, "little") % count if count > 0 else 0

    def of(self, options):
        """One of several."""
        return options[self.below(len(options))]


@cache
def bases(folder):
    """The sealed bundles that are mutated: name, path and the contents of every file."""
    found = []
    for name, build in (("cpu", honest_cpu), ("gpu", lambda: fixed_frequency("closed"))):
        path = write(build(), folder / name)
        files = {
            file.relative_to(path).as_posix(): file.read_bytes()
            for file in sorted(path.rglob("*"))
            if file.is_file()
        }
        found.append((name, path, files))
    return tuple(found)


def mutated(files, choices):
    """A copy of the files with one to three mutations of the payload."""
    files = dict(files)
    for _ in range(1 + choices.below(3)):
        path = choices.of([name for name in files if name.startswith("data/")])
        data = files.pop(path)
        change = _by_kind(path) if choices.below(8) else _bytes
        data = change(data, choices)
        if path.endswith(".hlo.txt") and choices.below(4):
            path = _renamed(files, path, data)
        files[path] = data
    return files


def _renamed(files, path, data):
    """A program's file is called by its digest, and runs name it: a forger keeps that."""
    try:
        name = layout.hlo_name(data.decode())
    except UnicodeDecodeError:
        return path
    folder, _, old = path.rpartition("/")
    for other, content in files.items():
        if other.startswith(folder) and other.endswith(".json"):
            files[other] = content.replace(old.encode(), name.encode())
    return f"{folder}/{name}"


def _by_kind(path):
    if path.endswith(".json"):
        return _json
    return _table if path.endswith(".csv") else _program


def _bytes(data, choices):
    start = choices.below(len(data) + 1)
    length = choices.of((0, 0, 1, 2, 8, 64, len(data)))
    return data[:start] + choices.of(PIECES) + data[start + length :]


def _json(data, choices):
    try:
        document = json.loads(data)
    except ValueError:
        return _bytes(data, choices)
    places = list(_places(document))
    if not places:
        return _bytes(data, choices)
    holder, key = choices.of(places)
    action = choices.below(6)
    if action == 0:
        del holder[key]
    elif action == 1 and isinstance(holder, list):
        holder.insert(key, copy.deepcopy(holder[key]))
    elif action == 1:
        holder[choices.of(TEXTS)] = holder[key]
    elif action == 2:
        other, name = choices.of(places)
        holder[key] = copy.deepcopy(other[name])
    else:
        holder[key] = _value(choices)
    return json.dumps(document, ensure_ascii=bool(choices.below(2))).encode("utf-8", "replace")


def _places(document):
    """Every container of a document with each of its keys or indices."""
    waiting = [document]
    while waiting:
        holder = waiting.pop()
        keys = range(len(holder)) if isinstance(holder, list) else list(holder)
        for key in keys:
            yield holder, key
            if isinstance(holder[key], dict | list):
                waiting.append(holder[key])


def _value(choices):
    kinds = (NUMBERS, FLOATS, TEXTS, (None, True, False), ([], {}, [[]], {"": {}}))
    return copy.deepcopy(choices.of(choices.of(kinds)))


def _table(data, choices):
    lines = data.split(b"\n")
    row = choices.below(len(lines))
    cells = lines[row].split(b",")
    action = choices.below(7)
    if action == 0:
        del lines[row]
    elif action == 1:
        lines.insert(row, lines[row])
    elif action == 2:
        other = choices.below(len(lines))
        lines[row], lines[other] = lines[other], lines[row]
    elif action == 3:
        column, value = choices.below(len(cells)), choices.of(CELLS)
        lines = [_with_cell(line, column, value) if i else line for i, line in enumerate(lines)]
    elif action == 4:
        column = choices.below(len(cells))
        lines = [_with_cell(line, column, None) for line in lines]
    elif action == 5:
        lines = [*lines[: 1 + choices.below(len(lines))], b""]
    else:
        lines[row] = _with_cell(lines[row], choices.below(len(cells)), choices.of(CELLS))
    return b"\n".join(lines)


def _with_cell(line, column, value):
    cells = line.split(b",")
    if not line or column >= len(cells):
        return line
    cells[column : column + 1] = [] if value is None else [value]
    return b",".join(cells)


def _program(data, choices):
    try:
        lines = data.decode().split("\n")
    except UnicodeDecodeError:
        return _bytes(data, choices)
    row, other = choices.below(len(lines)), choices.below(len(lines))
    action = choices.below(6)
    if action == 0:
        del lines[row]
    elif action == 1:
        lines.insert(other, lines[row])
    elif action == 2:
        lines[row], lines[other] = lines[other], lines[row]
    elif action == 3:
        lines[row:row] = lines[min(row, other) : max(row, other) + 1]
    else:
        words = list(_WORD.finditer(lines[row]))
        if words:
            word = choices.of(words)
            theirs = _WORD.findall(lines[other])
            new = choices.of(theirs) if theirs and action == 4 else choices.of(WORDS)
            lines[row] = lines[row][: word.start()] + new + lines[row][word.end() :]
    return "\n".join(lines).encode()
