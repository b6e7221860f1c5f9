"""The auditor's waivers: which failed rules of which bundles are accepted, and why.

A waiver names a bundle by its digest, so it covers no other bytes. The one rule that cannot be
waived is GK001: what it finds is that the digest no longer says what the bytes are.
"""

import re
from pathlib import Path
from typing import Any

from kit.bundle.strict_json import loads, read_bounded
from kit.checker.catalogue import rule_codes
from kit.checker.limits import MAXIMUM_TEXT
from kit.checker.printable import printable
from kit.checker.verdict import Waiver
from kit.errors import BundleError, UsageError
from kit.nearest import did_you_mean
from kit.records import from_json

_NEVER_WAIVED = "GK001"


def read_waivers(path: Path) -> tuple[Waiver, ...]:
    """Read `{"waivers": [{"code": "GK602", "bundle": "<digest>", "reason": "..."}]}`.

    Raises:
        UsageError: the file cannot be read or says something else.
    """
    try:
        document: Any = loads(read_bounded(path), f"--waivers {path}")
    except OSError as error:
        raise UsageError(f"--waivers {path}: cannot be read: {error.strerror}") from None
    except BundleError as error:
        raise UsageError(error.problem, hint=error.hint) from None
    try:
        return _waivers(document)
    except ValueError as error:
        raise UsageError(f"--waivers {path}: {error}") from None


def _waivers(document: Any) -> tuple[Waiver, ...]:
    if not isinstance(document, dict) or set(document) != {"waivers"}:
        raise ValueError("must be an object with the one key waivers")
    waivers = from_json(tuple[Waiver, ...], document["waivers"], "waivers")
    for number, waiver in enumerate(waivers):
        _check(waiver, f"waivers[{number}]")
    return waivers


def _check(waiver: Waiver, place: str) -> None:
    if waiver.code not in rule_codes():
        nearest = did_you_mean(waiver.code, rule_codes())
        raise ValueError(f"{place}.code: there is no rule {printable(waiver.code)!r} ({nearest})")
    if waiver.code == _NEVER_WAIVED:
        raise ValueError(f"{place}.code: {_NEVER_WAIVED} cannot be waived")
    if not re.fullmatch(r"[0-9a-f]{64}", waiver.bundle):
        raise ValueError(f"{place}.bundle: must be the digest of a bundle, 64 hexadecimal digits")
    if not 1 <= len(waiver.reason.strip()) <= MAXIMUM_TEXT:
        raise ValueError(f"{place}.reason: must be 1 to {MAXIMUM_TEXT} characters")
