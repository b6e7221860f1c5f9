"""How text that a stranger wrote is shown: quoted, one line, ASCII, bounded."""


def shown(text: str | bytes, limit: int = 60) -> str:
    r"""Return `text` as a quoted literal of printable ASCII, cut after `limit` characters.

    Bytes are read as UTF-8; whatever is not printable ASCII appears as `\x`, `\u` or `\U`.
    """
    if isinstance(text, bytes):
        text = text[: 4 * limit + 4].decode("utf-8", "surrogateescape")
    cut = text if len(text) <= limit else text[:limit]
    return ascii(cut) + ("" if cut == text else "...")
