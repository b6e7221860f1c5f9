"""Verdicts of earlier checks, in a file of the auditor's own: judging is saved, reading never.

A verdict is found again by the SHA-256 of every byte that was judged (read and compared with the
manifests anew each time), of the kit's own code and the libraries it computes with, of the
auditor's options and of the waivers for that bundle. The edition is part of the bundle. Whatever
differs is judged anew; a bundle that is not what was sealed, or at which the kit failed, is never
remembered. The process that collects the verdicts writes, those that judge only read. A row that
does not follow from the rules' outcomes in it is judged anew and replaced; whoever can write the
file can still forge a whole row, so it is the auditor's own.
"""

import hashlib
import json
import os
import sqlite3
import sys
from collections.abc import Collection, Iterator
from contextlib import contextmanager, suppress
from importlib.metadata import version
from pathlib import Path
from typing import Any

from kit.checker.catalogue import bundle_rule_codes
from kit.checker.printable import printable
from kit.checker.verdict import Verdict, Waiver, decide
from kit.checker.worker import IndexKey, Request
from kit.errors import UsageError
from kit.records import from_json, to_json
from kit.resources import SCHEMAS

_APPLICATION_ID = 0x474B4958
_LAYOUT = 1
_COMPUTES_WITH = ("jsonschema", "ml-dtypes", "numpy")
_NO_OPTION = ("path", "name", "waivers", "index")
_WAIT_S = 10.0
_NO_ROOM = frozenset((sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR))
_TABLE = """
CREATE TABLE IF NOT EXISTS verdicts (
    content TEXT NOT NULL,  -- SHA-256 of all that was judged
    scope TEXT NOT NULL,    -- SHA-256 of the kit and of the auditor's options
    waivers TEXT NOT NULL,  -- SHA-256 of the waivers for this bundle
    digest TEXT NOT NULL,
    edition TEXT,
    judgement TEXT NOT NULL,
    verdict TEXT NOT NULL,  -- JSON
    PRIMARY KEY (content, scope, waivers)
) WITHOUT ROWID
"""
_FIND = "SELECT verdict FROM verdicts WHERE content = ? AND scope = ? AND waivers = ?"
_STORE = "INSERT OR REPLACE INTO verdicts VALUES (?, ?, ?, ?, ?, ?, ?)"


class Index:
    """An index that is open for writing; `fault` says why nothing more can be written."""

    def __init__(self, key: IndexKey, waivers: Collection[Waiver]) -> None:
        self.key = key
        self.known = 0
        self._waivers = waivers
        self.fault = ""
        self._database: sqlite3.Connection | None = None
        with self._noting_faults():
            self._database = _connect(Path(key.path))

    def add(self, verdict: Verdict) -> None:
        """Remember a verdict, unless it was found here or is not to be remembered.

        A full disk costs no verdict: it becomes the `fault`.
        """
        if self._database is not None and not self.fault:
            with self._noting_faults():
                self._add(self._database, verdict)

    @contextmanager
    def _noting_faults(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF not in _NO_ROOM:
                raise
            self.fault = str(error)

    def _add(self, database: sqlite3.Connection, verdict: Verdict) -> None:
        if verdict.content is None or verdict.judgement == "internal_error":
            return
        place = (verdict.content, self.key.scope, _digest_of(self._waivers, verdict.digest))
        text = json.dumps(to_json(verdict))
        row = database.execute(_FIND, place).fetchone()
        if _believed(row, self._waivers, verdict.digest, verdict.content) is not None:
            self.known += 1
            return
        facts = (verdict.digest, verdict.edition, verdict.judgement, text)
        database.execute(_STORE, (*place, *facts))

    def close(self) -> None:
        """Leave one file that holds everything."""
        if self._database is not None:
            self._database.close()


@contextmanager
def opened(path: Path, request: Request) -> Iterator[Index]:
    """The index at `path` for requests like this one, created if need be.

    Raises:
        UsageError: it cannot be written, or is something else than an index of this kit.
    """
    try:
        index = Index(IndexKey(str(path.absolute()), _scope(request)), request.waivers)
    except sqlite3.Error as error:
        raise UsageError(
            f"--index {printable(str(path))}: {error}", hint="name a new file, or an index of check"
        ) from None
    try:
        yield index
    except sqlite3.Error as error:
        raise UsageError(f"--index {printable(str(path))}: {error}") from None
    finally:
        index.close()


def recall(key: IndexKey, waivers: Collection[Waiver], digest: str, content: str) -> Verdict | None:
    """The remembered verdict on this content; None where there is none that can be believed."""
    place = (content, key.scope, _digest_of(waivers, digest))
    with suppress(sqlite3.Error):
        database = sqlite3.connect(f"{Path(key.path).as_uri()}?mode=ro", _WAIT_S, uri=True)
        try:
            row = database.execute(_FIND, place).fetchone()
        finally:
            database.close()
        return _believed(row, waivers, digest, content)
    return None


def _believed(
    row: Any, waivers: Collection[Waiver], digest: str | None, content: str
) -> Verdict | None:
    """The verdict in a row, if it is about this content and its judgement follows from its rules.

    None for a row that is missing or, however, no verdict.
    """
    if row is None:
        return None
    try:
        verdict = from_json(Verdict, json.loads(row[0]))
    except Exception:  # noqa: BLE001 - whatever stands there instead, it is no verdict
        return None
    is_this = (verdict.digest, verdict.content) == (digest, content)
    return verdict if is_this and _follows(verdict, waivers) else None


def _follows(verdict: Verdict, waivers: Collection[Waiver]) -> bool:
    if not verdict.rules:
        return verdict.judgement in ("refused", "undecided")
    codes = [result.code for result in verdict.rules]
    if codes != list(bundle_rule_codes()) or verdict.headline is None:
        return False
    for result in verdict.rules:
        severities = {finding.severity for finding in result.findings}
        if "fail" in severities and result.outcome != "fail":
            return False
    failed = {result.code for result in verdict.rules if result.outcome == "fail"}
    used = tuple(w for w in waivers if w.bundle == verdict.digest and w.code in failed)
    waived = {waiver.code for waiver in used}
    judgement = decide(verdict.rules, verdict.headline.division, waived)
    return (verdict.judgement, verdict.waivers) == (judgement, used)


def _connect(path: Path) -> sqlite3.Connection:
    """Each statement is a transaction of its own: a check that is cut short has lost nothing."""
    # A write-ahead log needs no wait for the disk at each of them.
    database = sqlite3.connect(path, _WAIT_S, isolation_level=None)
    try:
        _refuse_foreign(database)
        database.execute("PRAGMA journal_mode = WAL")
        database.execute("PRAGMA synchronous = NORMAL")
        database.execute(f"PRAGMA application_id = {_APPLICATION_ID}")
        database.execute(f"PRAGMA user_version = {_LAYOUT}")
        database.execute(_TABLE)
    except BaseException:
        database.close()
        raise
    return database


def _refuse_foreign(database: sqlite3.Connection) -> None:
    names = ("application_id", "user_version")
    found = [database.execute(f"PRAGMA {name}").fetchone()[0] for name in names]
    # A view in the table's place, or a trigger, could answer without end.
    parts = database.execute("SELECT type, name FROM sqlite_master").fetchall()
    mine = found == [_APPLICATION_ID, _LAYOUT] and parts == [("table", "verdicts")]
    if parts and not mine:
        raise sqlite3.DatabaseError("is not an index of this kit")


def _scope(request: Request) -> str:
    """SHA-256 of what a verdict depends on beside bundle and waivers: code, libraries, options."""
    package = Path(__file__).resolve().parents[1]
    files = [*package.rglob("*.py"), *package.glob("*.csv"), *SCHEMAS.glob("*.json")]
    code = {os.path.relpath(path, package): _sha256(path.read_bytes()) for path in files}
    options = {name: value for name, value in to_json(request).items() if name not in _NO_OPTION}
    libraries = {name: version(name) for name in _COMPUTES_WITH}
    return _sha256(json.dumps([code, sys.version, libraries, options], sort_keys=True).encode())


def _digest_of(waivers: Collection[Waiver], digest: str | None) -> str:
    mine = sorted(json.dumps(to_json(waiver)) for waiver in waivers if waiver.bundle == digest)
    return _sha256("\n".join(mine).encode())


def _sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
