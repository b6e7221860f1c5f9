import json
import math
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kit.bundle import strict_json
from kit.errors import BundleError

INTEGERS = st.integers(-(2**53 - 1), 2**53 - 1)
TEXTS = st.text(st.characters(codec="ascii", categories=("L", "N", "P", "S", "Zs")), max_size=20)
VALUES = st.recursive(
    st.none() | st.booleans() | INTEGERS | st.floats(allow_nan=False, allow_infinity=False) | TEXTS,
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(TEXTS, inner, max_size=5),
    max_leaves=20,
)


@given(VALUES)
def test_what_is_written_reads_back(value):
    data = strict_json.dumps(value)
    assert strict_json.loads(data, "x.json") == value
    assert strict_json.dumps(strict_json.loads(data, "x.json")) == data


def test_written_form():
    data = strict_json.dumps({"b": [1, 2.5], "a": "ü", "c": None})
    assert data == b'{\n "a": "\\u00fc",\n "b": [\n  1,\n  2.5\n ],\n "c": null\n}\n'


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_no_number_that_is_not_finite_is_written(value):
    with pytest.raises(ValueError, match="not JSON compliant"):
        strict_json.dumps([value])


REFUSED = {
    "empty": (b"", "not JSON: line 1, column 1: Expecting value"),
    "depth bomb": (b"[" * 100_000, "nested deeper than 32 levels"),
    "mixed depth bomb": (b'{"a":[' * 17 + b"]}" * 17, "nested deeper than 32 levels"),
    "unterminated depth": (b"[" * 33 + b'"', "nested deeper than 32 levels"),
    "duplicate key": (b'{"tflops":1,"tflops":9}', "the key 'tflops' stands twice in one object"),
    "duplicate key by escape": (b'{"a":1,"\\u0061":9}', "the key 'a' stands twice"),
    "duplicate key deep": (b'[[{"a":1,"b":{"c":1,"c":2}}]]', "the key 'c' stands twice"),
    "NaN": (b"[NaN]", "NaN is not a number"),
    "Infinity": (b"[Infinity]", "Infinity is not a number"),
    "-Infinity": (b"[-Infinity]", "-Infinity is not a number"),
    "1e999": (b"[1e999]", "the number '1e999' is not finite"),
    "4000 digits": (b"9" * 4000, "is beyond 2^53 - 1"),
    "5000 digits": (b"9" * 5000, "is beyond 2^53 - 1"),
    "2^53": (b"9007199254740992", "the whole number '9007199254740992' is beyond 2^53 - 1"),
    "-2^53": (b"-9007199254740992", "is beyond 2^53 - 1"),
    "-0": (b"[-0]", "-0 is not a whole number"),
    "long float": (b"0." + b"1" * 40, "has more than 32 characters"),
    "leading zero": (b"[01]", "not JSON"),
    "plus": (b"[+1]", "not JSON"),
    "hexadecimal": (b"[0x10]", "not JSON"),
    "byte order mark": (b"\xef\xbb\xbf{}", "begins with a byte order mark"),
    "UTF-16": ('{"a":1}'.encode("utf-16"), "not UTF-8 at byte 0"),
    "UTF-16 without mark": ('{"a":1}'.encode("utf-16-le"), "not JSON"),
    "invalid UTF-8": (b'{"a":"\xff"}', "not UTF-8 at byte 6"),
    "overlong": (b'"\xc0\xaf"', "not UTF-8 at byte 1"),
    "lone surrogate": (b'"\\ud800"', "holds the character U+D800"),
    "encoded surrogate": (b'"\xed\xa0\x80"', "not UTF-8"),
    "NUL": (b'"\\u0000"', "holds the character U+0000"),
    "raw control": (b'"\x01"', "not JSON"),
    "delete": (b'"\x7f"', "holds the character U+007F"),
    "line feed": (b'"a\\n"', "holds the character U+000A"),
    "escape sequence": (b'"\\u001b[31m"', r"the text '\x1b[31m' holds the character U+001B"),
    "right-to-left override": ('"\u202egnp"'.encode(), "holds the character U+202E"),
    "zero-width joiner": ('"a\u200db"'.encode(), "holds the character U+200D"),
    "private use": ('"\ue000"'.encode(), "holds the character U+E000"),
    "line separator": ('"\u2028"'.encode(), "holds the character U+2028"),
    "decomposed": ('"u\u0308"'.encode(), "not in Unicode's composed form"),
    "control in a key": (b'{"a\\u0007":1}', "holds the character U+0007"),
    "long text": (b'"' + b"a" * 4097 + b'"', "a text of 4097 characters; 4096 are allowed"),
    "long key": (b'{"' + b"a" * 4097 + b'":1}', "a text of 4097 characters"),
    "10 MB text": (b'"' + b"a" * 10_000_000 + b'"', "10000002 bytes; a document may have 4194304"),
    "many items": (b"[" + b"0," * 120_000 + b"0]", "holds more than 100000 values"),
    "many keys": (
        b"{" + b",".join(b'"%d":0' % i for i in range(60_000)) + b"}",
        "holds more than 100000 values",
    ),
    "trailing garbage": (b"{} x", "not JSON: line 1, column 4: Extra data"),
    "two documents": (b"{}\n{}", "not JSON: line 2, column 1: Extra data"),
    "comment": (b"{} // x", "Extra data"),
    "single quotes": (b"{'a':1}", "not JSON: line 1, column 2"),
    "trailing comma": (b"[1,]", "not JSON"),
    "trailing NUL": (b"{}\x00", "Extra data"),
    "form feed": (b"\x0c{}", "not JSON"),
    "unterminated": (b'{"a": "b', "Unterminated string"),
    "bad escape": (b'"\\q"', "not JSON"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused(name):
    data, problem = REFUSED[name]
    started = time.monotonic()
    with pytest.raises(BundleError) as caught:
        strict_json.loads(data, "data/plan.json")
    assert time.monotonic() - started < 1
    message = str(caught.value)
    assert message.startswith("data/plan.json: ")
    assert problem in message
    assert len(message) < 300
    assert message.isascii()
    assert message.isprintable()


@pytest.mark.parametrize(
    "data",
    [
        b"[" * 32 + b"]" * 32,
        b"9007199254740991",
        b"-9007199254740991",
        b"[-0.0, 1e308, 0]",
        b'"\\ud83d\\ude00"',
        '"Gerät № 1, 東京\u00a0"'.encode(),
        b'"' + b"a" * 4096 + b'"',
        b'{"__proto__": {"_target_": "${oc.env:HOME}"}}',
        b' \t\r\n{"a": "[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[\\"]{"}\n',
        b"[" + b"0," * 49_997 + b"0]",
    ],
)
def test_accepted_as_the_library_reads_it(data):
    assert strict_json.loads(data, "x") == json.loads(data)


@given(st.binary(max_size=200))
def test_only_bundle_errors_come_out_of_bytes(data):
    try:
        strict_json.loads(data, "x")
    except BundleError as error:
        assert str(error).startswith("x: ")  # noqa: PT017 - either outcome is right


@given(st.text(st.sampled_from('[]{}",:\\ 0123456789.eE+-truefalsn u'), max_size=60))
def test_whatever_is_accepted_is_json(text):
    try:
        value = strict_json.loads(text.encode(), "x")
    except BundleError:
        return
    assert value == json.loads(text)


def _deepest(text):
    """Levels of nesting, read character by character."""
    depth = deepest = 0
    within = escaped = False
    for character in text:
        if within:
            within = escaped or character != '"'
            escaped = character == "\\" and not escaped
        elif character == '"':
            within = True
        elif character in "[{":
            depth += 1
            deepest = max(deepest, depth)
        elif character in "]}":
            depth -= 1
    return deepest


@given(st.text(st.sampled_from('[[[{{{]}"",: a\\'), max_size=200))
def test_depth_is_that_of_a_reader_of_every_character(text):
    bounded = f"{'[' * 28}{text}"
    try:
        strict_json._check_depth(bounded.encode())
    except ValueError:
        assert _deepest(bounded) > 32
    else:
        assert _deepest(bounded) <= 32


@given(st.lists(st.integers(0, 5000), min_size=1, max_size=12))
def test_texts_taken_for_short_are_no_longer_than_allowed(lengths):
    data = json.dumps(["a" * length for length in lengths]).encode()
    assert not (strict_json._holds_short_texts(data) and max(lengths) > strict_json.MAXIMUM_TEXT)
    if max(lengths) < strict_json.MAXIMUM_TEXT // 2:
        assert strict_json._holds_short_texts(data)


@given(VALUES | st.text(max_size=30), st.booleans())
def test_what_is_taken_for_plain_holds_no_fault(value, ascii_only):
    data = json.dumps(value, ensure_ascii=ascii_only).encode("utf-8", "surrogatepass")
    if strict_json._is_plain(data):
        strict_json._check_nodes(json.loads(data))


@pytest.mark.parametrize("name", REFUSED)
def test_no_fault_of_a_value_is_taken_for_plain(name):
    data, problem = REFUSED[name]
    if any(
        words in problem for words in ("holds the character", "a text of", "composed", "values")
    ):
        assert not strict_json._is_plain(data)
