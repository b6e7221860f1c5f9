"""The process that judges: one request a line on stdin, one verdict a line on stdout, both JSON.

Empty lines on stdout say that it is still recomputing what `--deep` asks for. It holds no
privileges and its memory is bounded, so that what a hostile bundle can make it do ends with it.
`kit.checker.pool` starts it.
"""

import gc
import os
import sys
import time
import warnings
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import BinaryIO

from kit.checker.verdict import Verdict, Waiver
from kit.records import decode, encode
from kit.signature import Signers

MEMORY_BYTES = 3 * 2**30
"""Address space of one worker: six times the largest bundle that the reader accepts."""
_SIGN_EVERY_S = 1.0
_MUCH_GARBAGE = 100_000
"""Three times the objects of an honest bundle; one that makes more has garbage looked for."""


@dataclass(frozen=True, slots=True)
class IndexKey:
    """Where an index lies, and which of its verdicts count: those of this code and auditor."""

    path: str
    scope: str


@dataclass(frozen=True, slots=True)
class Request:
    """One bundle for `kit.checker.judge.judge`.

    `challenge`, `deep` and `signers` make its auditor. Verdicts of earlier checks are looked up in
    the `index`.
    """

    path: str
    name: str
    challenge: str | None
    deep: bool
    waivers: tuple[Waiver, ...]
    index: IndexKey | None
    signers: Signers | None = None


def serve() -> None:
    """Answer requests until stdin ends."""
    gc.disable()  # nothing that is imported is garbage
    from kit.bundle.reader import Auditor  # noqa: PLC0415 - the parent needs only `Request`
    from kit.checker.judge import judge  # noqa: PLC0415
    from kit.hlo.text import forget  # noqa: PLC0415

    warnings.simplefilter("ignore")
    _bound_memory()
    answers, sys.stdout = sys.stdout.buffer, sys.stderr
    last_s = time.monotonic()
    gc.set_threshold(_MUCH_GARBAGE)
    gc.enable()

    def sign() -> None:
        """Say that a long recomputation goes on."""
        nonlocal last_s
        if time.monotonic() - last_s >= _SIGN_EVERY_S:
            last_s = time.monotonic()
            _say(b"\n", answers)

    for line in sys.stdin.buffer:
        request = decode(Request, line)
        verdict = judge(
            Path(request.path),
            auditor=Auditor(request.challenge, request.deep, sign, request.signers),
            waivers=request.waivers,
            name=request.name,
            known=partial(_known, request),
        )
        forget()
        _say(encode(verdict), answers)
        # Garbage is looked for here, and then only in what the next bundle leaves.
        gc.collect()
        gc.freeze()


def _say(line: bytes, answers: BinaryIO) -> None:
    """Answer, or end without a word where nobody listens any more."""
    try:
        answers.write(line)
        answers.flush()
    except BrokenPipeError:
        os._exit(0)


def _known(request: Request, digest: str, content: str) -> Verdict | None:
    if request.index is None:
        return None
    from kit.checker.index import recall  # noqa: PLC0415 - SQLite is seldom asked for

    return recall(request.index, request.waivers, digest, content)


def _bound_memory() -> None:
    import resource  # noqa: PLC0415 - POSIX only, like the reader

    with suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
