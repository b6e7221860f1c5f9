"""Documents to JSON and back, strictly: nothing is coerced, defaulted or ignored."""

import json
from dataclasses import dataclass
from typing import Literal

import pytest

from bundles import GUIDELINE, PLAIN, honest_cpu, honest_gpu
from kit.evidence import Environment, Journal, Results, Run, SystemDescription
from kit.plan import RunPlan
from kit.records import decode, encode, from_json, to_json


@dataclass(frozen=True, slots=True)
class Inner:
    kind: Literal["a", "b"]
    share: float


@dataclass(frozen=True, slots=True)
class Outer:
    name: str
    count: int
    flag: bool
    inner: Inner
    items: tuple[Inner, ...]
    table: dict[str, int]
    maybe: Inner | None


GOOD = {
    "name": "n",
    "count": 3,
    "flag": True,
    "inner": {"kind": "a", "share": 0.5},
    "items": [{"kind": "b", "share": 1.0}],
    "table": {"x": 1},
    "maybe": None,
}


def test_a_record_comes_back_as_it_was():
    record = from_json(Outer, GOOD)
    assert record.items == (Inner("b", 1.0),)
    assert to_json(record) == GOOD
    assert from_json(Outer, to_json(record)) == record
    there = GOOD | {"maybe": {"kind": "b", "share": 2.0}}
    assert from_json(Outer, there).maybe == Inner("b", 2.0)


@pytest.mark.parametrize("bundle", [honest_gpu(), honest_cpu()])
def test_every_document_of_a_bundle_survives_text(bundle):
    case = GUIDELINE if GUIDELINE in bundle.cases else PLAIN
    documents = [
        (RunPlan, bundle.plan),
        (SystemDescription, bundle.system),
        (Environment, bundle.environment),
        (Journal, bundle.journal),
        (Results, bundle.claims),
        (Run, bundle.cases[case].runs[1].document),
    ]
    for kind, document in documents:
        text = json.dumps(to_json(document), allow_nan=False)
        assert from_json(kind, json.loads(text)) == document


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"name": 1}, "name: must be text"),
        ({"name": None}, "name: must be text"),
        ({"count": 1.0}, "count: must be a whole number"),
        ({"count": True}, "count: must be a whole number"),
        ({"count": "3"}, "count: must be a whole number"),
        ({"flag": 1}, "flag: must be true or false"),
        ({"inner": []}, "inner: must be an object"),
        ({"inner": {"kind": "c", "share": 0.5}}, "inner.kind: must be one of a, b"),
        ({"inner": {"kind": ["a"], "share": 0.5}}, "inner.kind: must be one of a, b"),
        ({"inner": {"kind": "a", "share": "x"}}, "inner.share: must be a number"),
        ({"inner": {"kind": "a", "share": True}}, "inner.share: must be a number"),
        ({"inner": {"kind": "a"}}, "inner.share: missing"),
        ({"inner": {"kind": "a", "share": 0.5, "x": 1}}, "inner.x: unknown key"),
        ({"items": {"0": 1}}, "items: must be a list"),
        ({"items": [{"kind": "b", "share": 1.0}, 7]}, r"items\[1\]: must be an object"),
        ({"table": []}, "table: must be an object"),
        ({"table": {"x": None}}, "table.x: must be a whole number"),
        ({"maybe": 3}, "maybe: must be an object"),
        ({"extra": 1}, "extra: unknown key"),
    ],
)
def test_a_wrong_value_is_refused_with_its_place(change, message):
    with pytest.raises(ValueError, match=f"^{message}"):
        from_json(Outer, GOOD | change)


@pytest.mark.parametrize("key", GOOD)
def test_every_key_must_be_there(key):
    with pytest.raises(ValueError, match=f"^{key}: missing"):
        from_json(Outer, {name: value for name, value in GOOD.items() if name != key})


@pytest.mark.parametrize("value", [None, 3, "text", [GOOD]])
def test_a_document_is_an_object(value):
    with pytest.raises(ValueError, match=r"^document: must be an object"):
        from_json(Outer, value)


def test_a_whole_number_is_a_number_but_not_the_other_way_round():
    found = from_json(Inner, {"kind": "a", "share": 2}).share
    assert (found, type(found)) == (2.0, float)


def test_a_record_is_one_line_and_comes_back():
    record = from_json(Outer, GOOD | {"name": "two\nlines, µs"})
    line = encode(record)
    assert line.isascii()
    assert (line.count(b"\n"), line[-1:]) == (1, b"\n")
    assert decode(Outer, line) == decode(Outer, line[:-1]) == record


@pytest.mark.parametrize(
    ("line", "message"),
    [(b"", "Expecting value"), (b"{", "Expecting property"), (b'"\xe9"', "can't decode"),
     (b"{}", "kind: missing"), (b"[]", "document: must be an object")],
)  # fmt: skip
def test_a_line_that_is_no_such_record_is_refused(line, message):
    with pytest.raises(ValueError, match=message):
        decode(Inner, line)


@pytest.mark.parametrize("value", [b"bytes", {1, 2}, object(), 1j])
def test_what_json_has_no_word_for_has_no_place_in_a_document(value):
    with pytest.raises(TypeError, match="has no place in a document"):
        to_json({"x": [value]})
