"""Forge one bundle, seal it, judge it: which rule caught it, if any did?"""

import os
from collections.abc import Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import cache
from multiprocessing import get_context
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Literal

from battery.bases import base
from battery.registry import REFUSED, UNDECIDED, Manipulation, battery
from bundles import rederived, reseal, write
from kit.checker.judge import Verdict, judge

Caught = Literal["named", "other", "accepted", "crashed", "unforged"]
# Sealing waits for the disk; in memory it costs nothing.
_MEMORY = "/dev/shm"


@dataclass(frozen=True, slots=True)
class Result:
    """What became of one manipulation; `found` are the codes that caught it, or what went wrong.

    `unforged`: the manipulation itself did not work, which is a fault of the battery.
    """

    id: str
    caught: Caught
    found: tuple[str, ...]
    digest: str | None


def workplace() -> TemporaryDirectory[str]:
    """A folder for forged bundles."""
    return TemporaryDirectory(dir=_MEMORY if os.access(_MEMORY, os.W_OK) else None)


@cache
def honest(name: str) -> Verdict:
    """The verdict on a base that was only written again: what nobody may take for a catch."""
    with workplace() as folder:
        verdict = judge(write(base(name), Path(folder) / "bundle"))
    failed = [(r.code, r.findings[:1]) for r in verdict.rules if r.outcome == "fail"]
    assert verdict.judgement == "compliant", (name, verdict.problem, failed)
    return verdict


def forge(entry: Manipulation, folder: Path) -> Path:
    """Write the manipulated bundle into the new folder `folder`, sealed as a cheater would."""
    bundle = base(entry.base)
    if entry.change == "files":
        path = write(bundle, folder)
        entry.forge(path, **entry.options)
        if entry.sealed:
            reseal(path)
        return path
    forged = entry.forge(bundle, **entry.options)
    return write(rederived(forged) if entry.claims else forged, folder)


def judged(entry: Manipulation) -> Result:
    """Forge and judge one manipulation."""
    before = honest(entry.base)
    with workplace() as folder:
        try:
            path = forge(entry, Path(folder) / "bundle")
        except Exception as error:  # noqa: BLE001 - one broken manipulation must not end the others
            return Result(entry.id, "unforged", (f"{type(error).__name__}: {error}",), None)
        try:
            verdict = judge(path, auditor=entry.auditor, name=entry.id)
        except Exception as error:  # noqa: BLE001 - what the battery is there to find
            return Result(entry.id, "crashed", (repr(error),), None)
    if entry.sealed and verdict.digest == before.digest:
        return Result(entry.id, "unforged", ("it changes nothing",), None)
    return Result(entry.id, *_caught(entry, verdict), verdict.digest)


def _caught(entry: Manipulation, verdict: Verdict) -> tuple[Caught, tuple[str, ...]]:
    errors = tuple(f"{r.code}: {r.reason}" for r in verdict.rules if r.outcome == "error")
    if errors or verdict.judgement == "internal_error":
        return "crashed", errors or (verdict.problem or "",)
    if verdict.judgement == "refused":
        named = entry.rule == REFUSED
        return "named" if named else "other", (f"{REFUSED}: {verdict.problem}",)
    if not verdict.rules:
        named = entry.rule == UNDECIDED == verdict.judgement
        return "named" if named else "other", (f"{verdict.judgement}: {verdict.problem}",)
    # Without evidence the closed division is undecided, which no more accepts than a failure does.
    decisive = ("fail",) if verdict.judgement == "not_compliant" else ("unproven",)
    codes = tuple(result.code for result in verdict.rules if result.outcome in decisive)
    if verdict.judgement == "compliant":
        return "accepted", codes
    return "named" if entry.rule in codes else "other", codes


def judge_battery(ids: Iterable[str], jobs: int) -> Iterator[Result]:
    """Results in the order of `ids`, from `jobs` processes."""
    with ProcessPoolExecutor(jobs, get_context("spawn")) as pool:
        yield from pool.map(_by_id, ids, chunksize=8)


def _by_id(name: str) -> Result:
    return judged(battery()[name])
