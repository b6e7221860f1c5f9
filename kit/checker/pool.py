"""Bundles are judged in processes of their own, so that none takes the others or the checker down.

Workers speak JSON lines over pipes: nothing is pickled, and the parent stays free of everything
that reads a bundle.
"""

import json
import os
import select
import subprocess
import sys
import threading
import time
from collections.abc import Collection, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

from kit.checker.tree import Candidate
from kit.checker.verdict import Judgement, Verdict, Waiver
from kit.checker.worker import IndexKey, Request
from kit.records import from_json, to_json
from kit.signature import Signers

LIMIT_S = 120.0
"""Time that one bundle may take: hundreds of times what an honest one needs.

Recomputing all operands takes longer. The worker then gives a sign of life now and then, an empty
line, and the time runs anew from each.
"""

_GRACE_S = 0.5
"""A worker whose pipe has closed is dying; so long it may take to be told of what."""

WORKER_ENVIRONMENT = {
    # One thread for linear algebra: there are as many workers as processors.
    "OPENBLAS_NUM_THREADS": "1",
    "OMP_NUM_THREADS": "1",
    # glibc keeps freed memory instead of asking the kernel for the same megabytes for every array.
    "MALLOC_MMAP_THRESHOLD_": str(32 * 2**20),
    "MALLOC_TRIM_THRESHOLD_": str(64 * 2**20),
}

# The parent's own search path, so that a worker finds the same kit and nothing from the folder it
# happens to be started in.
_START = "import sys; sys.path = sys.argv[1:]; from kit.checker.worker import serve; serve()"


def judge_all(  # noqa: PLR0913 - one for each of the auditor's options
    candidates: Iterable[Candidate],
    *,
    challenge: str | None = None,
    deep: bool = False,
    waivers: Collection[Waiver] = (),
    signers: Signers | None = None,
    jobs: int = 1,
    index: IndexKey | None = None,
) -> Iterator[Verdict]:
    """Yield one verdict for each candidate, in their order, judging `jobs` at a time.

    A bundle that ends its worker is an internal error, one that takes longer than `LIMIT_S` is
    refused; with `deep` the recomputing of operands does not count. What is not UTF-8 in a
    candidate's name is escaped. Verdicts in the `index` are not worked out again.
    """
    local = threading.local()
    workers: list[_Worker] = []

    def one(candidate: Candidate) -> Verdict:
        name = candidate.name.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
        if candidate.problem:
            return _unjudged(name, "refused", candidate.problem)
        if not hasattr(local, "worker"):
            local.worker = _Worker()
            workers.append(local.worker)
        worker: _Worker = local.worker
        path, given = str(candidate.path), tuple(waivers)
        request = Request(path, name, challenge, deep, given, index, signers)
        return worker.judge(request, LIMIT_S)

    threads = ThreadPoolExecutor(jobs)
    try:
        yield from threads.map(one, candidates)
    finally:
        # Kill first: a thread that waits for its worker could not be joined otherwise.
        threads.shutdown(wait=False, cancel_futures=True)
        for worker in workers:
            worker.end()
        threads.shutdown()


class _Worker:
    """One worker process, started when it is needed and anew after it has died."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[str] | None = None

    def judge(self, request: Request, limit_s: float) -> Verdict:
        """Let the worker judge; whatever becomes of it, the answer is a verdict."""
        process = self._process = self._process or _start()
        late = False
        questions, answers = process.stdin, process.stdout
        if questions is not None and answers is not None:
            with suppress(OSError, ValueError):
                print(json.dumps(to_json(request)), file=questions, flush=True)
                answer = _answer(answers.fileno(), limit_s)
                late = answer is None
                if answer is not None:
                    return from_json(Verdict, json.loads(answer))
        status = self.end(grace_s=0.0 if late else _GRACE_S)
        if late:
            problem = f"judging it took longer than {limit_s:.0f} s"
            return _unjudged(request.name, "refused", problem)
        problem = f"the process that judged it ended ({status})"
        return _unjudged(request.name, "internal_error", problem)

    def end(self, grace_s: float = 0.0) -> str:
        """End the process after `grace_s`; says how it ended, by itself where it had."""
        process, self._process = self._process, None
        if process is None:
            return "not started"
        with suppress(subprocess.TimeoutExpired):
            process.wait(grace_s)
        process.kill()
        status = process.wait()
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                with suppress(OSError):
                    pipe.close()
        return f"signal {-status}" if status < 0 else f"exit code {status}"


def _answer(pipe: int, limit_s: float) -> bytes | None:
    """The next line that is not empty; None if no line came for `limit_s`, b"" if none will."""
    line = b""
    deadline = time.monotonic() + limit_s
    while select.select([pipe], [], [], max(0.0, deadline - time.monotonic()))[0]:
        part = os.read(pipe, 2**16)
        if not part:
            return b""
        if part.startswith(b"\n") and not line:
            deadline = time.monotonic() + limit_s
        line = (line + part).lstrip(b"\n")
        if line.endswith(b"\n"):
            return line
    return None


def _start() -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [sys.executable, "-P", "-c", _START, *sys.path],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        encoding="ascii",
        env={**os.environ, **WORKER_ENVIRONMENT},
        # Out of reach of the terminal's Ctrl-C, which it would answer with a traceback: this
        # process ends it, or the end of its stdin does.
        process_group=0,
    )


def _unjudged(name: str, judgement: Judgement, problem: str) -> Verdict:
    return Verdict(name, None, None, judgement, problem, None, (), ())
