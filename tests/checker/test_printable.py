import json
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kit.checker.printable import printable, printable_json


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain", "plain"),
        ("Müller & Söhne, 東京", "Müller & Söhne, 東京"),
        ("[red]x[/red]", "[red]x[/red]"),
        ("\x1b[31mred", "\\x1b[31mred"),
        ("a\nb\r\tc", "a\\x0ab\\x0d\\x09c"),
        ("abc\u202ecba", "abc\\u202ecba"),
        ("a\u2028b\u2029c", "a\\u2028b\\u2029c"),
        ("a\x85b\x9bc", "a\\x85b\\x9bc"),
        ("\udcff\ud800", "\\udcff\\ud800"),
        ("\u200b\ufeff\u00ad", "\\u200b\\ufeff\\xad"),
        ("\ue000\U000e0001", "\\ue000\\U000e0001"),
        ("\uffff\ufdd0", "\\uffff\\ufdd0"),
        ("##vso[x] # # ###", "#\\x23vso[x] # # #\\x23#"),
        ("a\u00a0b\u3000c", "a\\xa0b\\u3000c"),
    ],
)
def test_what_acts_is_shown(text, shown):
    assert printable(text) == shown


def test_length_is_bounded():
    assert printable("x" * 200) == "x" * 200
    assert printable("x" * 201) == "x" * 200 + "..."
    assert printable("\x1b" * 9, limit=2) == "\\x1b\\x1b..."


@given(st.text(st.characters(codec=None, exclude_categories=[]), max_size=60))
def test_nothing_that_acts_remains(text):
    shown = printable(text)
    assert len(shown.splitlines()) <= 1
    assert {unicodedata.category(c) for c in shown}.isdisjoint(
        {"Cc", "Cf", "Cn", "Cs", "Co", "Zl", "Zp"}
    )
    shown.encode("utf-8")


DOCUMENTS = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)  # fmt: skip


@given(DOCUMENTS)
def test_a_document_is_laid_out_as_json_lays_it_out(document):
    text = json.dumps(document, indent=1)
    assert printable_json(document) == text.replace("##", "#\\u0023")


@pytest.mark.parametrize("value", [float("nan"), float("inf"), object(), {"x": [{1, 2}]}])
def test_what_json_cannot_say_is_no_document(value):
    with pytest.raises((TypeError, ValueError)):
        printable_json({"value": value})
