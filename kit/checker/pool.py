"""Bundles are judged in processes of their own, so that none takes the others or the checker down.

Workers speak JSON lines over pipes: nothing is pickled, and the parent stays free of everything
that reads a bundle.
"""

import os
import time
from collections.abc import Collection, Iterable, Iterator
from contextlib import suppress
from selectors import EVENT_READ, DefaultSelector

from kit.checker import process
from kit.checker.process import Process
from kit.checker.tree import Candidate
from kit.checker.verdict import Judgement, Verdict, Waiver
from kit.checker.worker import IndexKey, Request
from kit.records import decode, encode
from kit.signature import Signers

LIMIT_S = 120.0
"""Time that one bundle may take: hundreds of times what an honest one needs.

Recomputing all operands takes longer. The worker then gives a sign of life now and then, an empty
line, and the time runs anew from each.
"""

_UNJUDGED = ("refused", "internal_error")
_GRACE_S = 0.5
"""A worker whose pipe has closed is dying; so long it may take to be told of what."""


def judge_all(  # noqa: PLR0913 - one for each of the auditor's options
    candidates: Iterable[Candidate],
    *,
    challenge: str | None = None,
    deep: bool = False,
    waivers: Collection[Waiver] = (),
    signers: Signers | None = None,
    jobs: int = 1,
    index: IndexKey | None = None,
    first: Process | None = None,
) -> Iterator[Verdict]:
    """Yield one verdict for each candidate, in their order, judging `jobs` at a time.

    A bundle that ends its worker is an internal error, one that takes longer than `LIMIT_S` is
    refused; with `deep` the recomputing of operands does not count. What is not UTF-8 in a
    candidate's name is escaped. Verdicts in the `index` are not worked out again. `first` is a
    worker that runs already.
    """
    given = tuple(waivers)
    waiting = enumerate(map(_told, candidates))
    workers = [_Worker(first if number == 0 else None) for number in range(jobs)]
    found: dict[int, Verdict] = {}
    wanted = 0
    try:
        while True:
            for worker in workers:
                while worker.task is None and (entry := next(waiting, None)) is not None:
                    task, (path, name, problem) = entry
                    if problem:
                        found[task] = _unjudged(name, "refused", problem)
                    else:
                        request = Request(path, name, challenge, deep, given, index, signers)
                        worker.ask(task, request)
            while wanted in found:
                yield found.pop(wanted)
                wanted += 1
            busy = [worker for worker in workers if worker.task is not None]
            if not busy:
                return
            found |= _answers(busy)
    finally:
        for worker in workers:
            worker.end()


def _told(candidate: Candidate) -> tuple[str, str, str]:
    """Path, name and problem of a candidate, the name as UTF-8 can say it."""
    name = candidate.name.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
    return str(candidate.path), name, candidate.problem


def _answers(busy: "list[_Worker]") -> dict[int, Verdict]:
    """Wait until a worker says something or is late; the verdicts by their tasks, if any."""
    soonest = min(worker.deadline for worker in busy)
    with DefaultSelector() as selector:
        for worker in busy:
            selector.register(worker, EVENT_READ)
        heard = selector.select(max(0.0, soonest - time.monotonic()))
    ready = {key.fileobj for key, _ in heard}
    now = time.monotonic()
    found = {}
    for worker in busy:
        task, verdict = worker.task, None
        if worker in ready:
            verdict = worker.read()
        elif worker.deadline <= now:
            verdict = worker.give_up()
        if verdict is not None and task is not None:
            found[task] = verdict
    return found


class _Worker:
    """One worker process, started when it is needed and anew after it has died.

    `task` is the number of the candidate that it judges, None while it waits for one; it has time
    until `deadline`, by the monotonic clock. No bundle answers for what others did before it: one
    that could not be judged, by a process that had judged others, is judged again by a new one, and
    so is one that a process died of which was not started for it.
    """

    def __init__(self, running: Process | None) -> None:
        self._process = running
        self._is_new = self._has_judged = False
        self._request: Request | None = None
        self._line = b""
        self.task: int | None = None
        self.deadline = 0.0

    def fileno(self) -> int:
        """The pipe that answers come from, for `select`."""
        pipe = None if self._process is None else self._process.stdout
        return -1 if pipe is None else pipe.fileno()

    def ask(self, task: int, request: Request) -> None:
        """Let the worker judge; whatever becomes of it, `read` or `give_up` gives a verdict."""
        self.task, self._request, self._line = task, request, b""
        self.deadline = time.monotonic() + LIMIT_S
        self._is_new = self._process is None
        self._has_judged &= not self._is_new
        running = self._process = self._process or process.start()
        if running.stdin is not None:
            with suppress(OSError):  # of one that has died, `read` finds the end
                running.stdin.write(encode(request))
                running.stdin.flush()

    def read(self) -> Verdict | None:
        """Take what the worker has said; None unless that is the whole of an answer."""
        part = os.read(self.fileno(), 2**16)
        if part.startswith(b"\n") and not self._line:
            self.deadline = time.monotonic() + LIMIT_S
        self._line = (self._line + part).lstrip(b"\n")
        if part and not self._line.endswith(b"\n"):
            return None
        task, others = self.task, self._has_judged
        try:
            verdict = decode(Verdict, self._line)
        except ValueError:
            others = not self._is_new
            problem = f"the process that judged it ended ({self.end(_GRACE_S)})"
            verdict = self._unjudged("internal_error", problem)
        else:
            self.task, self._has_judged = None, True
            if verdict.judgement not in _UNJUDGED:
                return verdict
            self.end()
        if not others or task is None or self._request is None:
            return verdict
        self.ask(task, self._request)
        return None

    def give_up(self) -> Verdict:
        """End a worker that is late."""
        self.end()
        return self._unjudged("refused", f"judging it took longer than {LIMIT_S:.0f} s")

    def _unjudged(self, judgement: Judgement, problem: str) -> Verdict:
        return _unjudged("" if self._request is None else self._request.name, judgement, problem)

    def end(self, grace_s: float = 0.0) -> str:
        """End the process after `grace_s`; says how it ended, by itself where it had."""
        running, self._process, self.task = self._process, None, None
        return "not started" if running is None else process.end(running, grace_s)


def _unjudged(name: str, judgement: Judgement, problem: str) -> Verdict:
    return Verdict(name, None, None, judgement, problem, None, (), ())
