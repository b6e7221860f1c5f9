"""Frozen dataclasses to JSON values and back, strictly, by their type hints.

One bundle document is one dataclass (`kit.plan`, `kit.evidence`). The runner writes it with
`to_json`, the checker reads it back with `from_json`; nothing is coerced, defaulted or ignored.
"""

import dataclasses
import types
from functools import cache
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

Record = TypeVar("Record")


def to_json(value: object) -> Any:
    """Return `value` as plain JSON data: dict, list, str, int, float, bool or None."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {
            field.name: to_json(getattr(value, field.name)) for field in dataclasses.fields(value)
        }
    if isinstance(value, tuple | list):
        return [to_json(item) for item in value]
    if isinstance(value, dict):
        return {str(key): to_json(item) for key, item in value.items()}
    if value is None or isinstance(value, str | int | float | bool):
        return value
    msg = f"{type(value).__name__} has no place in a document"
    raise TypeError(msg)


def from_json(cls: type[Record], value: object, place: str = "") -> Record:
    """Build `cls` from JSON data.

    Raises:
        ValueError: a key is missing or unknown or a value has another type; the message starts
            with the place, such as `phases.idle_s`.
    """
    result: Record = _convert(cls, value, place)
    return result


@cache
def _fields(cls: Any) -> dict[str, Any]:
    hints = get_type_hints(cls)
    return {field.name: hints[field.name] for field in dataclasses.fields(cls)}


def _convert(kind: Any, value: Any, place: str) -> Any:
    if dataclasses.is_dataclass(kind):
        return _convert_record(kind, value, place)
    origin = get_origin(kind)
    if origin in (Union, types.UnionType):
        return _convert_union(get_args(kind), value, place)
    if origin is Literal:
        if isinstance(value, str) and value in get_args(kind):
            return value
        raise ValueError(f"{place}: must be one of {', '.join(map(str, get_args(kind)))}")
    if origin is tuple:
        if not isinstance(value, list | tuple):
            raise ValueError(f"{place}: must be a list")
        item = get_args(kind)[0]
        return tuple(_convert(item, entry, f"{place}[{i}]") for i, entry in enumerate(value))
    if origin is dict:
        if not isinstance(value, dict):
            raise ValueError(f"{place}: must be an object")
        item = get_args(kind)[1]
        return {str(key): _convert(item, entry, f"{place}.{key}") for key, entry in value.items()}
    return _convert_scalar(kind, value, place)


def _convert_record(kind: Any, value: Any, place: str) -> Any:
    if not isinstance(value, dict):
        raise ValueError(f"{place or 'document'}: must be an object")  # noqa: TRY004 - one kind for all
    fields = _fields(kind)
    for key in value:
        if key not in fields:
            raise ValueError(f"{_join(place, str(key))}: unknown key")
    for key in fields:
        if key not in value:
            raise ValueError(f"{_join(place, key)}: missing")
    return kind(
        **{key: _convert(hint, value[key], _join(place, key)) for key, hint in fields.items()}
    )


def _convert_union(members: tuple[Any, ...], value: Any, place: str) -> Any:
    if value is None and type(None) in members:
        return None
    kept = [member for member in members if member is not type(None)]
    if len(kept) != 1:
        raise TypeError(f"{place}: only `X | None` unions are records")
    return _convert(kept[0], value, place)


def _convert_scalar(kind: Any, value: Any, place: str) -> Any:
    if kind is float and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    if type(value) is not kind:
        names = {str: "text", int: "a whole number", float: "a number", bool: "true or false"}
        raise ValueError(f"{place}: must be {names.get(kind, kind)}")
    return value


def _join(place: str, key: str) -> str:
    return f"{place}.{key}" if place else key
