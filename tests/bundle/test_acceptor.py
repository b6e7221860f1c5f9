"""The quick predicate against jsonschema: it may refuse more, it may never accept more."""

import copy
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kit.bundle.acceptor import compile_acceptor
from kit.bundle.documents import SCHEMA_OF
from kit.bundle.schema import acceptor, documents, validator
from kit.counters import BYTES, DRAM_READ, Counter, DeviceCounters
from kit.evidence import CaseRecord, KernelTrace, RunOutcome
from kit.records import to_json

ODD = (
    None, True, False, 0, -1, 1, 1.0, 0.5, 1e300, 2**53 - 1, "", "x", "A" * 5000, "ü", "cpu\n",
    "abc\n", [], {}, [None], [{}], {"": 0}, {"a": "b"}, {"a b": "c"},
)  # fmt: skip

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


@pytest.mark.parametrize("name", SCHEMA_OF.values())
def test_says_yes_to_honest_documents(name, honest):
    assert acceptor(name)(honest[name])


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
def test_never_says_yes_where_jsonschema_says_no(name, data, honest):
    path = data.draw(st.sampled_from(list(places(honest[name]))))
    how = data.draw(st.sampled_from(["replace", "replace", "delete", "repeat", "add"]))
    document = altered(honest[name], path, data.draw(st.sampled_from(ODD)), how)
    sound = next(validator(name).iter_errors(document), None) is None
    if acceptor(name)(document):
        assert sound, (path, how)
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
    accept = compile_acceptor(schema)
    for value in ("x", 2, [1, 1], {"a": "x"}, {}, None):
        assert not accept(value)


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
        assert "_refuse" not in compile_acceptor(schema, definitions).__qualname__, schema

    for document in documents().values():
        walk(document, document)
