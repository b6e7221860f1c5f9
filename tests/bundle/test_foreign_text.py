import pytest
from hypothesis import given
from hypothesis import strategies as st

from kit.bundle.foreign_text import shown


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("plain", "'plain'"),
        ("\x1b[31mred\n", r"'\x1b[31mred\n'"),
        ("\u202ecod.exe", r"'\u202ecod.exe'"),
        (b"caf\xe9\xff", r"'caf\udce9\udcff'"),
        ("Büro", r"'B\xfcro'"),
        ("a" * 61, f"'{'a' * 60}'..."),
    ],
)
def test_shown(text, expected):
    assert shown(text) == expected


@given(st.text() | st.binary())
def test_shown_is_one_bounded_line_of_ascii(text):
    result = shown(text, 20)
    assert result.isascii()
    assert result.isprintable()
    assert len(result) <= 20 * len(r"\U0010ffff") + 5
