r"""How foreign text reaches a person: on one line, bounded, with nothing in it that acts.

Control characters drive a terminal, bidirectional marks reorder what is read, lone surrogates
cannot be encoded, noncharacters have no place in XML, line separators forge lines. All of them are
shown as `\x1b` or `\u202e`. Two hash signs open an order to several CI systems (`##vso[...]`,
`##teamcity[...]`, `##[...]`) wherever they stand in a log, so the second one is shown as `\x23`.
"""

import json
import unicodedata

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
    text = json.dumps(document, indent=1, allow_nan=False)
    return text.replace("##", "#\\u0023")  # a hash stands in strings only


def _visible(character: str) -> str:
    if character == " " or unicodedata.category(character) not in _ACTS | {"Zs"}:
        return character
    point = ord(character)
    if point < 0x100:
        return f"\\x{point:02x}"
    return f"\\u{point:04x}" if point < 0x10000 else f"\\U{point:08x}"
