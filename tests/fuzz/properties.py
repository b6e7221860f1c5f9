"""What holds for every bundle, whatever was done to it, and how to find out."""

import time
from pathlib import Path
from unittest.mock import patch

from fuzz.mutations import PIECES, Choices, bases, mutated
from kit.bundle.container import Container
from kit.bundle.manifest import sha256
from kit.checker import judge as judging
from kit.checker.judge import judge

LONGEST_S = 10.0


def judged_sealed(folder: Path, data: bytes):
    """Mutate one bundle as the bytes say, as if it had been sealed so, and judge it.

    The container is handed over in memory: sealing would make every digest fit.
    """
    choices = Choices(data)
    name, _, files = choices.of(bases(folder))
    files = mutated(files, choices)
    container = Container(name, sha256(b"".join(files.values())), files, ())
    with patch.object(judging, "read_container", lambda _: container):
        return _within_time(Path(name))


def judged_unsealed(folder: Path, data: bytes):
    """Flip, insert or delete bytes in one file of a sealed folder, judge it, put them back.

    Returns the verdict, the file and whether it differed.
    """
    choices = Choices(data)
    _, path, files = choices.of(bases(folder))
    name = choices.of(sorted(files))
    old = files[name]
    place = choices.below(len(old) + 1)
    match choices.below(3):
        case 0:
            flipped = (
                bytes([old[place] ^ (1 + choices.below(255))]) if place < len(old) else b"\x00"
            )
            new = old[:place] + flipped + old[place + 1 :]
        case 1:
            new = old[:place] + (choices.of(PIECES) or b"\x00") + old[place:]
        case _:
            new = old[:place] + old[place + 1 :]
    try:
        (path / name).write_bytes(new)
        return _within_time(path), name, old != new
    finally:
        (path / name).write_bytes(old)


def _within_time(path):
    started = time.monotonic()
    verdict = judge(path)
    took = time.monotonic() - started
    assert took < LONGEST_S, f"judging took {took:.1f} s"
    errors = [f"{rule.code}: {rule.reason}" for rule in verdict.rules if rule.outcome == "error"]
    assert not errors, errors
    assert verdict.judgement != "internal_error", verdict.problem
    return verdict
