"""Frozen dataclasses to JSON values and back, strictly, by their type hints.

One bundle document is one dataclass (`kit.plan`, `kit.evidence`). The runner writes it with
`to_json`, the checker reads it back with `from_json`; nothing is coerced, defaulted or ignored.
"""

import dataclasses
import json
import types
from collections.abc import Callable
from functools import cache
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

Record = TypeVar("Record")
_SCALARS = frozenset((str, int, float, bool, type(None)))


def to_json(value: object) -> Any:
    """Return `value` as plain JSON data: dict, list, str, int, float, bool or None."""
    if type(value) in _SCALARS:
        return value
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {name: to_json(getattr(value, name)) for name in _names(type(value))}
    if isinstance(value, tuple | list):
        return [to_json(item) for item in value]
    if isinstance(value, dict):
        return {str(key): to_json(item) for key, item in value.items()}
    if isinstance(value, str | int | float):
        return value
    msg = f"{type(value).__name__} has no place in a document"
    raise TypeError(msg)


def encode(record: object) -> bytes:
    """The record as one line, in which processes of the kit tell each other things."""
    return json.dumps(to_json(record)).encode() + b"\n"


def decode(cls: type[Record], line: bytes) -> Record:
    """Build `cls` from a line of `encode`.

    Raises:
        ValueError: the line is no JSON, or not of this record.
    """
    return from_json(cls, json.loads(line))


@cache
def _names(kind: type) -> tuple[str, ...]:
    return tuple(field.name for field in dataclasses.fields(kind))


def from_json(cls: type[Record], value: object, place: str = "") -> Record:
    """Build `cls` from JSON data.

    Raises:
        ValueError: a key is missing or unknown or a value has another type; the message starts
            with the place, such as `phases.idle_s`.
    """
    kind: Any = cls
    try:
        result: Record = _converter(kind)(value)
    except _MisfitError as fault:
        where = place
        for step in reversed(fault.steps):
            where = f"{where}{step}" if where or step[0] == "[" else step[1:]
        raise ValueError(f"{where or 'document'}: {fault}") from None
    return result


class _MisfitError(Exception):
    """What is wrong with a value; `steps` lead to it, `.key` or `[index]`, the innermost first."""

    def __init__(self, problem: str, *steps: str) -> None:
        super().__init__(problem)
        self.steps = list(steps)


Converter = Callable[[Any], Any]


@cache
def _converter(kind: Any) -> Converter:
    """A function that makes values of one type; it reads the type's hints once."""
    if dataclasses.is_dataclass(kind):
        return _record(kind)
    origin, arguments = get_origin(kind), get_args(kind)
    if origin in (Union, types.UnionType):
        return _optional(arguments)
    if origin is Literal:
        return _choice(arguments)
    if origin is tuple:
        return _list(_converter(arguments[0]))
    if origin is dict:
        return _table(_converter(arguments[1]))
    return _scalar(kind)


def _record(kind: Any) -> Converter:
    hints = get_type_hints(kind)
    fields = {field.name: _converter(hints[field.name]) for field in dataclasses.fields(kind)}

    def convert(value: Any) -> Any:
        if not isinstance(value, dict):
            raise _MisfitError("must be an object")
        if value.keys() != fields.keys():
            raise _wrong_keys(value, fields)
        key, values = "", []
        try:
            for key, item in fields.items():
                values.append(item(value[key]))
        except _MisfitError as fault:
            fault.steps.append(f".{key}")
            raise
        return kind(*values)

    return convert


def _wrong_keys(value: dict[Any, Any], fields: dict[str, Converter]) -> _MisfitError:
    for key in value:
        if key not in fields:
            return _MisfitError("unknown key", f".{key}")
    missing = next(key for key in fields if key not in value)
    return _MisfitError("missing", f".{missing}")


def _optional(members: tuple[Any, ...]) -> Converter:
    kept = [member for member in members if member is not type(None)]
    if len(kept) != 1:
        msg = f"only `X | None` unions are records, not {members}"
        raise TypeError(msg)
    item = _converter(kept[0])
    return lambda value: None if value is None else item(value)


def _choice(allowed: tuple[Any, ...]) -> Converter:
    def convert(value: Any) -> Any:
        if isinstance(value, str) and value in allowed:
            return value
        raise _MisfitError(f"must be one of {', '.join(map(str, allowed))}")

    return convert


def _list(item: Converter) -> Converter:
    def convert(value: Any) -> Any:
        if not isinstance(value, list | tuple):
            raise _MisfitError("must be a list")
        values: list[Any] = []
        try:
            for entry in value:
                values.append(item(entry))  # noqa: PERF401 - its length tells which one failed
        except _MisfitError as fault:
            fault.steps.append(f"[{len(values)}]")
            raise
        return tuple(values)

    return convert


def _table(item: Converter) -> Converter:
    def convert(value: Any) -> Any:
        if not isinstance(value, dict):
            raise _MisfitError("must be an object")
        key, values = "", {}
        try:
            for key, entry in value.items():
                values[str(key)] = item(entry)
        except _MisfitError as fault:
            fault.steps.append(f".{key}")
            raise
        return values

    return convert


def _scalar(kind: Any) -> Converter:
    names = {str: "text", int: "a whole number", float: "a number", bool: "true or false"}

    def convert(value: Any) -> Any:
        if type(value) is kind:
            return value
        if kind is float and type(value) is int:
            return float(value)
        raise _MisfitError(f"must be {names.get(kind, kind)}")

    return convert
