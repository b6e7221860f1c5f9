"""Verdicts of earlier checks, in a file of the auditor's own: judging is saved, reading never.

A verdict is found again by the SHA-256 of every byte that was judged (read and compared with the
manifests anew each time), of the kit's own code and the libraries it computes with, of the
auditor's options and of the waivers for that bundle. The edition is part of the bundle. Whatever
differs is judged anew; a bundle that is not what was sealed, or at which the kit failed, is never
remembered. The process that collects the verdicts writes, those that judge only read.
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

from kit.checker.printable import printable
from kit.checker.verdict import Verdict, Waiver
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
        if database.execute(_FIND, place).fetchone() is not None:
            self.known += 1
            return
        facts = (verdict.digest, verdict.edition, verdict.judgement, text)
        database.execute(_STORE, (*place, *facts))

    def close(self) -> None:
        """Leave one file that holds everything."""
        if self._database is not None:
            self._database.close()


@contextmanager
def opened(path: Path | None, request: Request) -> Iterator[Index | None]:
    """The index at `path` for requests like this one, created if need be; None without a path.

    Raises:
        UsageError: it cannot be written, or is something else than an index of this kit.
    """
    if path is None:
        yield None
        return
    try:
        index = Index(IndexKey(str(path.absolute()), _scope(request)), request.waivers)
    except sqlite3.Error as error:
        raise UsageError(f"--index {printable(str(path))}: {error}") from None
    try:
        yield index
    except sqlite3.Error as error:
        raise UsageError(f"--index {printable(str(path))}: {error}") from None
    finally:
        index.close()


def recall(key: IndexKey, waivers: Collection[Waiver], digest: str, content: str) -> Verdict | None:
    """The remembered verdict on this content; None where there is none that can be read."""
    place = (content, key.scope, _digest_of(waivers, digest))
    with suppress(sqlite3.Error, ValueError):
        database = sqlite3.connect(f"{Path(key.path).as_uri()}?mode=ro", _WAIT_S, uri=True)
        try:
            row = database.execute(_FIND, place).fetchone()
        finally:
            database.close()
        if row is not None:
            verdict = from_json(Verdict, json.loads(row[0]))
            return verdict if (verdict.digest, verdict.content) == (digest, content) else None
    return None


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
    (tables,) = database.execute("SELECT count(*) FROM sqlite_master").fetchone()
    if tables and found != [_APPLICATION_ID, _LAYOUT]:
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
