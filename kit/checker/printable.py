r"""How foreign text reaches a person: on one line, bounded, with nothing in it that acts.

Control characters drive a terminal, bidirectional marks reorder what is read, lone surrogates
cannot be encoded, noncharacters have no place in XML, line separators forge lines. All of them are
shown as `\x1b` or `\u202e`. Two hash signs open an order to several CI systems (`##vso[...]`,
`##teamcity[...]`, `##[...]`) wherever they stand in a log, so the second one is shown as `\x23`.
"""

import json
import unicodedata
from json.encoder import encode_basestring_ascii

_ACTS = frozenset(("Cc", "Cf", "Cn", "Cs", "Co", "Zl", "Zp"))


def printable(text: str, limit: int = 200) -> str:
    r"""Return `text` with every character that acts written as `\xNN`, `\uNNNN` or `\UNNNNNNNN`.

    At most `limit` characters of `text` are kept; three dots stand for the rest.
    """
    shown = text[:limit]
    if not (shown.isascii() and shown.isprintable()):
        shown = "".join(map(_visible, shown))
    shown = shown.replace("##", "#\\x23")
    return shown if len(text) <= limit else f"{shown}..."


def printable_json(document: object) -> str:
    r"""Return a document in ASCII, in which nothing acts: an order's second hash is `\u0023`."""
    return _laid_out(document, "\n").replace("##", "#\\u0023")  # a hash stands in strings only


def _laid_out(value: object, margin: str) -> str:
    """What `json.dumps` gives with an indent of one, which it lays out much more slowly."""
    if isinstance(value, str):
        return encode_basestring_ascii(value)
    if value is None:
        return "null"
    inner = f"{margin} "
    if isinstance(value, dict):
        pairs = [
            f"{encode_basestring_ascii(key)}: {_laid_out(item, inner)}"
            for key, item in value.items()
        ]
        return f"{{{inner}{f',{inner}'.join(pairs)}{margin}}}" if pairs else "{}"
    if isinstance(value, list | tuple):
        items = [_laid_out(item, inner) for item in value]
        return f"[{inner}{f',{inner}'.join(items)}{margin}]" if items else "[]"
    return repr(value) if type(value) is int else json.dumps(value, allow_nan=False)


def _visible(character: str) -> str:
    if character == " " or unicodedata.category(character) not in _ACTS | {"Zs"}:
        return character
    point = ord(character)
    if point < 0x100:
        return f"\\x{point:02x}"
    return f"\\u{point:04x}" if point < 0x10000 else f"\\U{point:08x}"
