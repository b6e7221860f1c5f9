"""The schemas as shipped: sound, described, capped, and equal to the dataclasses field by field."""

import dataclasses
import json
import re
import types
from re import _parser
from typing import Literal, Union, get_args, get_origin, get_type_hints

import pytest
from jsonschema import Draft202012Validator

from kit.bundle.documents import SCHEMA_OF
from kit.checker.rule import Finding
from kit.checker.verdict import JUDGEMENTS, CaseFigures, Headline, RuleResult, Waiver
from kit.checker.verification import Verification
from kit.resources import SCHEMAS
from kit.signature import Signature

NAMES = sorted(path.name.removesuffix(".schema.json") for path in SCHEMAS.iterdir())
OUTPUTS = {"estimate", "verdict", "verification"}
"""What commands print; the others are documents of a bundle."""

DOCUMENTS = {name: json.loads((SCHEMAS / f"{name}.schema.json").read_bytes()) for name in NAMES}


def subschemas(schema):
    """Every schema inside `schema`, itself first."""
    yield schema
    for key in ("properties", "$defs"):
        for inner in schema.get(key, {}).values():
            yield from subschemas(inner)
    for key in ("items", "additionalProperties", "propertyNames"):
        if isinstance(schema.get(key), dict):
            yield from subschemas(schema[key])


def test_the_folder_holds_schemas_and_nothing_else():
    assert all(path.name.endswith(".schema.json") for path in SCHEMAS.iterdir())
    assert set(NAMES) == {*SCHEMA_OF.values(), *OUTPUTS}


@pytest.mark.parametrize("name", NAMES)
def test_sound_and_named(name):
    schema = DOCUMENTS[name]
    Draft202012Validator.check_schema(schema)
    assert schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    assert schema["$id"] == f"urn:gemm-kit:schema:{name}:1"
    assert schema["type"] == "object"


@pytest.mark.parametrize("name", NAMES)
def test_everything_is_described_closed_and_capped(name):
    for schema in subschemas(DOCUMENTS[name]):
        where = json.dumps(schema)[:200]
        if schema.keys() == {"pattern"}:  # a map's keys
            continue
        assert schema["description"], where
        kinds = schema.get("type", "enum" if "enum" in schema else "$ref")
        for kind in [kinds] if isinstance(kinds, str) else kinds:
            match kind:
                case "object" if "properties" in schema:
                    assert schema["additionalProperties"] is False, where
                    assert schema["required"] == list(schema["properties"]), where
                case "object":
                    assert schema["maxProperties"] <= 1000, where
                    assert schema["propertyNames"].keys() == {"pattern"}, where
                case "array":
                    assert schema["maxItems"] <= 10**6, where
                    assert "items" in schema, where
                case "string":
                    assert schema["maxLength"] <= 4096, where
                case _:
                    assert kind in {"integer", "number", "boolean", "null", "enum", "$ref"}, where


@pytest.mark.parametrize("name", NAMES)
def test_local_references_only(name):
    for schema in subschemas(DOCUMENTS[name]):
        if "$ref" in schema:
            assert schema["$ref"].removeprefix("#/$defs/") in DOCUMENTS[name]["$defs"]


def patterns():
    for name in NAMES:
        for schema in subschemas(DOCUMENTS[name]):
            if "pattern" in schema:
                yield schema["pattern"]


@pytest.mark.parametrize("pattern", sorted(set(patterns())))
def test_patterns_are_anchored_and_linear(pattern):
    assert pattern.startswith("^")
    assert pattern.endswith("$")
    assert r"\d" not in pattern
    assert r"\w" not in pattern

    def depth(parsed):
        """How deep variable repeats are nested: two make a match take quadratic time or worse."""
        deepest = 0
        for code, value in parsed:
            inner = 0
            if code is _parser.MAX_REPEAT:
                low, high, body = value
                inner = depth(body) + (low != high and high > 1)
            elif code is _parser.SUBPATTERN:
                inner = depth(value[-1])
            elif code is _parser.BRANCH:
                inner = max(map(depth, value[1]))
            deepest = max(deepest, inner)
        return deepest

    assert depth(_parser.parse(pattern)) <= 1


def assert_equal(hint, schema, root, where):
    """Hold a type hint against a schema: names, kinds, nullability and members of enumerations."""
    if "$ref" in schema:
        schema = root["$defs"][schema["$ref"].removeprefix("#/$defs/")]
    kinds = schema.get("type", [])
    kinds = {kinds} if isinstance(kinds, str) else set(kinds)
    members = schema.get("enum", [])
    nullable = False
    if get_origin(hint) in (Union, types.UnionType):
        nullable = True
        (hint,) = (member for member in get_args(hint) if member is not type(None))
    assert nullable == ("null" in kinds or None in members), where
    kinds.discard("null")
    origin = get_origin(hint)
    if origin is Literal:
        assert set(get_args(hint)) == set(members) - {None}, where
        return
    assert not members, where
    if dataclasses.is_dataclass(hint):
        assert kinds == {"object"}, where
        hints = get_type_hints(hint)
        names = [field.name for field in dataclasses.fields(hint)]
        assert list(schema["properties"]) == names, where
        for name in names:
            assert_equal(hints[name], schema["properties"][name], root, f"{where}.{name}")
    elif origin is tuple:
        assert kinds == {"array"}, where
        assert_equal(get_args(hint)[0], schema["items"], root, f"{where}[]")
    elif origin is dict:
        assert kinds == {"object"}, where
        assert get_args(hint)[0] is str, where
        assert_equal(get_args(hint)[1], schema["additionalProperties"], root, f"{where}{{}}")
    else:
        names = {str: "string", int: "integer", float: "number", bool: "boolean"}
        assert kinds == {names[hint]}, where


@pytest.mark.parametrize("kind", SCHEMA_OF, ids=lambda kind: kind.__name__)
def test_a_document_is_its_dataclass(kind):
    schema = DOCUMENTS[SCHEMA_OF[kind]]
    assert_equal(kind, schema, schema, kind.__name__)


def test_the_verdict_is_the_checkers():
    root = DOCUMENTS["verdict"]
    entry = root["properties"]["bundles"]["items"]["properties"]
    for kind, schema in (
        (RuleResult, entry["rules"]["items"]),
        (Finding, entry["rules"]["items"]["properties"]["findings"]["items"]),
        (Headline | None, entry["headline"]),
        (CaseFigures, entry["headline"]["properties"]["cases"]["items"]),
        (Waiver, entry["waivers"]["items"]),
        (Signature | None, entry["signature"]),
    ):
        assert_equal(kind, schema, root, str(kind))
    for place in (root["properties"]["verdict"], entry["verdict"]):
        assert set(place["enum"]) == set(JUDGEMENTS)
    assert set(root["properties"]["counts"]["properties"]) == set(JUDGEMENTS)


def test_the_verification_is_the_checkers():
    root = DOCUMENTS["verification"]
    assert_equal(Verification, root, root, "Verification")


def test_names_of_folders_are_the_grammar_of_the_plan():
    from kit.plan import NAME

    found = DOCUMENTS["case"]["properties"]["id"]["pattern"]
    assert found == f"^{NAME.pattern}$"
    assert re.search(found, "a" * 64)
