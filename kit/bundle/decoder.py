"""The record that a JSON value surely is, by its schema and its dataclass, in one quick pass.

`jsonschema` takes about 0.7 ms for one run record, which would be most of the time of a round of a
thousand bundles, and `kit.records.from_json` a tenth of that. A decoder compiled from the same
schema and the same type does what both do in a twentieth. Whenever it is not sure, they decide and
word the fault: a decoder may refuse what they allow, never the reverse. Tests hold them against
each other on altered documents.
"""

import dataclasses
import math
import re
import types
from collections.abc import Callable, Mapping
from typing import Any, Literal, NoReturn, Union, get_args, get_origin, get_type_hints

Decoder = Callable[[Any], Any]
Schema = Mapping[str, Any]

_ANNOTATIONS = frozenset(("$schema", "$id", "$defs", "title", "description"))
_NUMERIC = frozenset(("minimum", "maximum", "exclusiveMinimum"))
_RECORD = frozenset(("properties", "required", "additionalProperties"))
_TABLE = frozenset(("additionalProperties", "propertyNames", "maxProperties"))
_KEYWORDS: dict[str, frozenset[str]] = {
    "enum": frozenset(("enum",)),
    "boolean": frozenset(),
    "integer": _NUMERIC,
    "number": _NUMERIC,
    "string": frozenset(("minLength", "maxLength", "pattern")),
    "array": frozenset(("minItems", "maxItems", "items")),
    "object": _RECORD | _TABLE,
}


class NotSureError(Exception):
    """The value may not have its schema's form."""


def compile_decoder(schema: Schema, kind: Any, definitions: Schema | None = None) -> Decoder:
    """Return a function that makes of a JSON value which `schema` allows the value of type `kind`.

    It raises `NotSureError` for every other value, for some that the schema allows, and for all if
    the schema has a keyword that this module does not know, or another form than the type. `Any`
    stands for plain JSON data, which is returned as it is.
    """
    definitions = schema.get("$defs", {}) if definitions is None else definitions
    keywords = schema.keys() - _ANNOTATIONS
    if keywords == {"$ref"}:
        target = definitions[schema["$ref"].removeprefix("#/$defs/")]
        return compile_decoder(target, kind, definitions)
    names = schema.get("type", ["enum"] if keywords == {"enum"} else [])
    names = {names} if isinstance(names, str) else set(names)
    nullable = "null" in names or None in schema.get("enum", ())
    if get_origin(kind) in (Union, types.UnionType):
        kinds = [member for member in get_args(kind) if member is not types.NoneType]
        if not nullable or len(kinds) != 1:
            return _refuse
        kind = kinds[0]
    elif nullable and kind is not Any:
        return _refuse
    names.discard("null")
    if len(names) != 1 or not names < _KEYWORDS.keys():
        return _refuse
    name = names.pop()
    if keywords - _KEYWORDS[name] - {"type"}:
        return _refuse
    decode = _COMPILERS[name](schema, kind, definitions)
    return (lambda value: None if value is None else decode(value)) if nullable else decode


def _refuse(_: object) -> NoReturn:
    raise NotSureError


def _choice(schema: Schema, kind: Any, _: Schema) -> Decoder:
    members = frozenset(value for value in schema["enum"] if value is not None)
    if not all(type(value) is str for value in members):
        return _refuse

    def decode(value: Any) -> str:
        if type(value) is str and value in members:
            return value
        raise NotSureError

    as_typed = get_origin(kind) is Literal and members == set(get_args(kind))
    return decode if as_typed or kind is Any else _refuse


def _boolean(_: Schema, kind: Any, __: Schema) -> Decoder:
    def decode(value: Any) -> bool:
        if type(value) is bool:
            return value
        raise NotSureError

    return decode if kind in (bool, Any) else _refuse


def _integer(schema: Schema, kind: Any, _: Schema) -> Decoder:
    low, high = _limits(schema)

    def decode(value: Any) -> int:
        if type(value) is int and low <= value <= high:
            return value
        raise NotSureError

    return decode if kind in (int, Any) else _refuse


def _number(schema: Schema, kind: Any, _: Schema) -> Decoder:
    low, high = _limits(schema)

    def decode(value: Any) -> float:
        if type(value) in (float, int) and low <= value <= high:
            return value if kind is Any else float(value)
        raise NotSureError

    return decode if kind in (float, Any) else _refuse


def _limits(schema: Schema) -> tuple[float, float]:
    low, high = schema.get("minimum", -math.inf), schema.get("maximum", math.inf)
    if "exclusiveMinimum" in schema:
        low = max(low, math.nextafter(schema["exclusiveMinimum"], math.inf))
    return low, high


def _text(schema: Schema, kind: Any, _: Schema) -> Decoder:
    low, high = schema.get("minLength", 0), schema.get("maxLength", math.inf)
    search = re.compile(schema["pattern"]).search if "pattern" in schema else None

    def decode(value: Any) -> str:
        if type(value) is str and low <= len(value) <= high and (search is None or search(value)):
            return value
        raise NotSureError

    return decode if kind in (str, Any) else _refuse


def _list(schema: Schema, kind: Any, definitions: Schema) -> Decoder:
    low, high = schema.get("minItems", 0), schema.get("maxItems", math.inf)
    as_typed = get_origin(kind) is tuple
    inner = get_args(kind)[0] if as_typed else Any
    item = compile_decoder(schema.get("items", {}), inner, definitions)

    def decode(value: Any) -> Any:
        if type(value) is list and low <= len(value) <= high:
            items = [item(entry) for entry in value]
            return tuple(items) if as_typed else value
        raise NotSureError

    return decode if as_typed or kind is Any else _refuse


def _object(schema: Schema, kind: Any, definitions: Schema) -> Decoder:
    keywords = schema.keys() & _KEYWORDS["object"]
    if keywords == _RECORD and schema["additionalProperties"] is False:
        return _record(schema, kind, definitions)
    if keywords == _TABLE and isinstance(schema["additionalProperties"], dict):
        return _table(schema, kind, definitions)
    return _refuse


def _record(schema: Schema, kind: Any, definitions: Schema) -> Decoder:
    properties = schema["properties"]
    as_typed = dataclasses.is_dataclass(kind)
    hints = get_type_hints(kind) if as_typed else dict.fromkeys(properties, Any)
    names = [field.name for field in dataclasses.fields(kind)] if as_typed else list(properties)
    if not set(names) == set(properties) == set(schema["required"]):
        return _refuse
    fields = [(name, compile_decoder(properties[name], hints[name], definitions)) for name in names]
    count = len(fields)

    def decode(value: Any) -> Any:
        if type(value) is not dict or len(value) != count:
            raise NotSureError
        try:
            values = [decode_field(value[name]) for name, decode_field in fields]
        except KeyError:
            raise NotSureError from None
        return kind(*values) if as_typed else value

    return decode if as_typed or kind is Any else _refuse


def _table(schema: Schema, kind: Any, definitions: Schema) -> Decoder:
    if schema["propertyNames"].keys() != {"pattern"}:
        return _refuse
    high = schema["maxProperties"]
    is_key = re.compile(schema["propertyNames"]["pattern"]).search
    as_typed = get_origin(kind) is dict and get_args(kind)[0] is str
    inner = get_args(kind)[1] if as_typed else Any
    item = compile_decoder(schema["additionalProperties"], inner, definitions)

    def decode(value: Any) -> Any:
        if type(value) is dict and len(value) <= high and all(map(is_key, value)):
            return {key: item(entry) for key, entry in value.items()}
        raise NotSureError

    return decode if as_typed or kind is Any else _refuse


_COMPILERS: dict[str, Callable[[Schema, Any, Schema], Decoder]] = {
    "enum": _choice,
    "boolean": _boolean,
    "integer": _integer,
    "number": _number,
    "string": _text,
    "array": _list,
    "object": _object,
}
