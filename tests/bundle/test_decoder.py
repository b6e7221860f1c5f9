"""The quick decoder against jsonschema and `from_json`: never more than they, never otherwise."""

import copy
import dataclasses
import json
from typing import Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kit.bundle.decoder import NotSureError, compile_decoder
from kit.bundle.documents import SCHEMA_OF
from kit.bundle.schema import decoder, documents, validator
from kit.counters import BYTES, DRAM_READ, Counter, DeviceCounters
from kit.evidence import CaseRecord, KernelTrace, RunOutcome
from kit.records import from_json, to_json

ODD = (
    None, True, False, 0, -1, 1, 1.0, 0.5, 1e300, 2**53 - 1, "", "x", "A" * 5000, "ü", "cpu\n",
    "abc\n", [], {}, [None], [{}], {"": 0}, {"a": "b"}, {"a b": "c"},
)  # fmt: skip

KINDS = {name: kind for kind, name in SCHEMA_OF.items()}
REFUSED = object()
COUNTER = Counter(DRAM_READ, BYTES, "ok", "", 1, 1, 2, ("nvjet_tst",), (0, 1), (4096, 4096))


@pytest.fixture(scope="module")
def honest(sample):
    return {
        "plan": to_json(sample.plan),
        "system": to_json(sample.system),
        "environment": to_json(sample.environment),
        "journal": to_json(sample.journal),
        "results": to_json(sample.results),
        "run": to_json(sample.run),
        "counters": to_json(
            DeviceCounters("a", "cpu", "ncu", "2025.3", "ok", "", "single", 2, (COUNTER,))
        ),
        "case": to_json(CaseRecord("a", (RunOutcome("cpu", 1, "crashed", "lost the device"),))),
        "trace": to_json(KernelTrace("ok", "", 2, 4, ("gemm", "Memset 0"), "gemm", 1980.0)),
    }


def decoded(decode, value):
    try:
        return decode(value)
    except NotSureError:
        return REFUSED


@pytest.mark.parametrize("name", SCHEMA_OF.values())
def test_honest_documents_become_their_records(name, honest):
    expected = from_json(KINDS[name], honest[name])
    assert decoder(name, KINDS[name])(honest[name]) == expected
    assert decoder(name, Any)(honest[name]) is honest[name]


def places(value, path=()):
    yield path
    items = value.items() if isinstance(value, dict) else ()
    items = enumerate(value) if isinstance(value, list) else items
    for key, inner in items:
        yield from places(inner, (*path, key))


def altered(document, path, replacement, how):
    document = copy.deepcopy(document)
    if not path:
        return replacement
    *parents, last = path
    node = document
    for key in parents:
        node = node[key]
    if how == "delete":
        del node[last]
    elif how == "repeat" and isinstance(node, list):
        node *= 7000
    elif how == "add" and isinstance(node, dict):
        node[str(last) + "_"] = replacement
    else:
        node[last] = replacement
    return document


@pytest.mark.parametrize("name", SCHEMA_OF.values())
@given(data=st.data())
def test_never_sure_where_jsonschema_says_no(name, data, honest):
    path = data.draw(st.sampled_from(list(places(honest[name]))))
    how = data.draw(st.sampled_from(["replace", "replace", "delete", "repeat", "add"]))
    document = altered(honest[name], path, data.draw(st.sampled_from(ODD)), how)
    sound = next(validator(name).iter_errors(document), None) is None
    record = decoded(decoder(name, KINDS[name]), document)
    plain = decoded(decoder(name, Any), document)
    assert (plain is REFUSED) == (record is REFUSED)
    if record is not REFUSED:
        assert sound, (path, how)
        assert plain is document
        expected = from_json(KINDS[name], document)
        assert record == expected
        assert repr(record) == repr(expected)
    elif sound:
        # the only values that jsonschema allows beyond it: whole floats for integers
        assert any(isinstance(v, float) and v.is_integer() for v in ODD), (path, how)


@pytest.mark.parametrize(
    "schema",
    [
        {},
        {"type": "string", "format": "date"},
        {"type": "integer", "multipleOf": 2},
        {"type": "array", "items": {"type": "integer"}, "uniqueItems": True},
        {"type": "object"},
        {"type": "object", "properties": {"a": {"type": "string"}}},
        {
            "type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"],
            "additionalProperties": False, "maxProperties": 0,
        },
        {
            "type": "object", "additionalProperties": {"type": "string"}, "maxProperties": 9,
            "propertyNames": {"pattern": "^a$", "maxLength": 0},
        },
        {"type": "object", "additionalProperties": True, "maxProperties": 9,
         "propertyNames": {"pattern": "^a$"}},
        {"enum": [1, 2]},
        {"const": "x"},
        {"anyOf": [{"type": "string"}]},
        {"type": "string", "enum": ["x"]},
        {"$ref": "#/$defs/a", "type": "string", "$defs": {"a": {"type": "string"}}},
    ],
    ids=json.dumps,
)  # fmt: skip
def test_refuses_everything_where_it_does_not_know_a_keyword(schema):
    decode = compile_decoder(schema, Any)
    for value in ("x", 2, [1, 1], {"a": "x"}, {}, None):
        assert decoded(decode, value) is REFUSED


@dataclasses.dataclass(frozen=True)
class Pair:
    a: int
    b: float


PAIR = {
    "type": "object",
    "additionalProperties": False,
    "required": ["b", "a"],
    "properties": {"b": {"type": "number", "exclusiveMinimum": 0}, "a": {"type": "integer"}},
}
TABLE = {
    "type": "object", "maxProperties": 1, "propertyNames": {"pattern": "^[a-z]$"},
    "additionalProperties": PAIR,
}  # fmt: skip


@pytest.mark.parametrize(
    ("schema", "kind", "value", "expected"),
    [
        (PAIR, Pair, {"a": 1, "b": 2}, Pair(1, 2.0)),
        ({"type": "array", "items": PAIR}, tuple[Pair, ...], [{"a": 1, "b": 2}], (Pair(1, 2.0),)),
        (TABLE, dict[str, Pair], {"x": {"a": 1, "b": 0.5}}, {"x": Pair(1, 0.5)}),
        ({"type": ["integer", "null"]}, int | None, None, None),
        ({"enum": ["x", "y", None]}, Literal["x", "y"] | None, None, None),
        ({"enum": ["x", "y"]}, Literal["y", "x"], "y", "y"),
        ({"type": "boolean"}, bool, False, False),
    ],
)
def test_a_value_becomes_one_of_its_type(schema, kind, value, expected):
    assert repr(compile_decoder(schema, kind)(value)) == repr(expected)


@pytest.mark.parametrize("value", [0, -1, 0.0, True, "1", None, float("nan")])
def test_a_number_above_zero(value):
    assert decoded(compile_decoder(PAIR, Pair), {"a": 1, "b": value}) is REFUSED
    assert decoded(compile_decoder(PAIR, Pair), {"a": 1, "b": 5e-324}) == Pair(1, 5e-324)


@pytest.mark.parametrize(
    ("schema", "kind", "value"),
    [
        ({"type": "integer"}, float, 1),
        ({"type": "number"}, int, 1),
        ({"type": "string"}, Literal["x"], "x"),
        ({"enum": ["x", "y"]}, Literal["x"], "x"),
        ({"enum": ["x", None]}, Literal["x"], "x"),
        ({"type": ["integer", "null"]}, int, 1),
        ({"type": "integer"}, int | None, 1),
        ({"type": ["integer", "string"]}, int, 1),
        ({"type": "array", "items": {"type": "string"}}, list[str], ["x"]),
        ({"type": "array", "items": {"type": "string"}}, tuple[int, ...], ["x"]),
        (TABLE, dict[str, int], {"x": {"a": 1, "b": 0.5}}),
        (PAIR, dict[str, float], {"a": 1, "b": 2}),
        (PAIR | {"required": ["a"]}, Pair, {"a": 1, "b": 2}),
        (PAIR | {"properties": {"a": {"type": "integer"}}}, Pair, {"a": 1}),
    ],
)
def test_never_sure_where_schema_and_type_differ(schema, kind, value):
    assert decoded(compile_decoder(schema, kind), value) is REFUSED


def test_every_schema_of_the_kit_is_known():
    """Nothing in the kit's own schemas falls back to refusing everything."""

    def walk(schema, root):
        if schema.keys() == {"pattern"}:
            return
        if not isinstance(schema.get("additionalProperties", False), bool):
            walk(schema["additionalProperties"], root)
        for inner in (*schema.get("properties", {}).values(), *schema.get("$defs", {}).values()):
            walk(inner, root)
        if "items" in schema:
            walk(schema["items"], root)
        definitions = root.get("$defs", {})
        assert "_refuse" not in compile_decoder(schema, Any, definitions).__qualname__, schema

    for document in documents().values():
        walk(document, document)
