"""A quick yes for documents that surely have their schema's form.

`jsonschema` takes about 0.7 ms for one run record, which would be most of the time of a round of a
thousand bundles. A predicate compiled from the same schema says yes in a twentieth of that.
Whenever it does not, `jsonschema` decides and words the fault: a predicate may refuse what the
schema allows, never the reverse. Tests hold the two against each other on altered documents.
"""

import re
from collections.abc import Callable, Mapping
from typing import Any

Predicate = Callable[[Any], bool]
Schema = Mapping[str, Any]

_ANNOTATIONS = frozenset(("$schema", "$id", "$defs", "title", "description"))
_KEYWORDS = {
    "null": set[str](),
    "boolean": set[str](),
    "integer": {"minimum", "maximum", "exclusiveMinimum"},
    "number": {"minimum", "maximum", "exclusiveMinimum"},
    "string": {"minLength", "maxLength", "pattern"},
    "array": {"minItems", "maxItems", "items"},
    "object": {"properties", "required", "additionalProperties", "propertyNames", "maxProperties"},
}
_CLASSES: dict[str, tuple[type, ...]] = {
    "null": (type(None),),
    "boolean": (bool,),
    "integer": (int,),
    "number": (int, float),
    "string": (str,),
    "array": (list,),
    "object": (dict,),
}
_INFINITE = float("inf")


def compile_acceptor(schema: Schema, definitions: Schema | None = None) -> Predicate:
    """Return a predicate that is true only for JSON values that `schema` allows.

    A keyword that this module does not know makes the predicate refuse everything.
    """
    definitions = schema.get("$defs", {}) if definitions is None else definitions
    keywords = schema.keys() - _ANNOTATIONS
    if keywords == {"$ref"}:
        return compile_acceptor(definitions[schema["$ref"].removeprefix("#/$defs/")], definitions)
    if keywords == {"enum"}:
        return _one_of(schema["enum"])
    names = schema.get("type", [])
    names = [names] if isinstance(names, str) else names
    known = set[str]().union(*(_KEYWORDS[name] for name in names)) | {"type"}
    if not names or keywords - known:
        return _refuse
    checks = {kind: _CHECKS[name](schema, definitions) for name in names for kind in _CLASSES[name]}

    def accept(value: object) -> bool:
        check = checks.get(type(value))
        return check is not None and check(value)

    return accept


def _refuse(_: object) -> bool:
    return False


def _one_of(values: list[object]) -> Predicate:
    if not all(value is None or isinstance(value, str) for value in values):
        return _refuse
    members = frozenset(values)
    return lambda value: (value is None or type(value) is str) and value in members


def _any(_: Schema, __: Schema) -> Predicate:
    return lambda _: True


def _number(schema: Schema, _: Schema) -> Predicate:
    low, high = schema.get("minimum", -_INFINITE), schema.get("maximum", _INFINITE)
    above = schema.get("exclusiveMinimum", -_INFINITE)
    return lambda value: low <= value <= high and value > above


def _text(schema: Schema, _: Schema) -> Predicate:
    low, high = schema.get("minLength", 0), schema.get("maxLength", _INFINITE)
    search = re.compile(schema.get("pattern", "")).search
    return lambda value: low <= len(value) <= high and search(value) is not None


def _list(schema: Schema, definitions: Schema) -> Predicate:
    low, high = schema.get("minItems", 0), schema.get("maxItems", _INFINITE)
    item = compile_acceptor(schema.get("items", {}), definitions)
    return lambda value: low <= len(value) <= high and all(map(item, value))


def _object(schema: Schema, definitions: Schema) -> Predicate:
    keywords = schema.keys() & _KEYWORDS["object"]
    if keywords == {"properties", "required", "additionalProperties"}:
        return _record(schema, definitions)
    if keywords != {"additionalProperties", "propertyNames", "maxProperties"}:
        return _refuse
    if schema["propertyNames"].keys() != {"pattern"}:
        return _refuse
    if not isinstance(schema["additionalProperties"], dict):
        return _refuse
    high = schema["maxProperties"]
    key = re.compile(schema["propertyNames"]["pattern"]).search
    entry = compile_acceptor(schema["additionalProperties"], definitions)
    return lambda value: (
        len(value) <= high and all(map(key, value)) and all(map(entry, value.values()))
    )


def _record(schema: Schema, definitions: Schema) -> Predicate:
    closed = schema["additionalProperties"] is False
    if not closed or set(schema["required"]) != set(schema["properties"]):
        return _refuse
    fields = [
        (name, compile_acceptor(entry, definitions)) for name, entry in schema["properties"].items()
    ]
    count = len(fields)

    def accept(value: dict[str, object]) -> bool:
        if len(value) != count:
            return False
        return all(name in value and check(value[name]) for name, check in fields)

    return accept


_CHECKS: dict[str, Callable[[Schema, Schema], Predicate]] = {
    "null": _any,
    "boolean": _any,
    "integer": _number,
    "number": _number,
    "string": _text,
    "array": _list,
    "object": _object,
}
