"""A tuner process: `python -m kit.runner.tuner REQUEST FD`, reporting on the file descriptor.

It lets XLA tune once, in a process whose autotune cache is empty, and keeps the results; given
results, it compiles from them. It then times what it compiled for each `Stint` on its standard
input, so that the launcher can go back and forth between several tuners.
"""

import math
import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path

from kit import cuda_driver
from kit.backends import Backend, Build, backend
from kit.bundle.layout import hlo_name
from kit.evidence import Candidate
from kit.fill import fill_seed
from kit.hlo.census import census
from kit.number_format import number_format
from kit.plan import Implementation
from kit.records import decode, encode
from kit.rotation import input_bytes, sets_required
from kit.ruleset import ruleset
from kit.runner.dispatch import Chooser, Handover, Trial, pilot
from kit.runner.failure import failure, first_line
from kit.runner.program import require_readable
from kit.runner.tuner_messages import Built, Message, Request, Stint
from kit.system import cpu_facts

Send = Callable[[Message], None]


def main() -> int:
    """Serve the request on the command line until standard input ends."""
    request = decode(Request, Path(sys.argv[1]).read_bytes())
    with os.fdopen(int(sys.argv[2]), "wb") as messages:

        def send(message: Message) -> None:
            messages.write(encode(message))
            messages.flush()

        plan = request.job.plan
        try:
            platform = plan.backend.platform
            gemms = backend(plan.backend.name, platform, plan.case(request.job.case))
            cache = cuda_driver.describe().l2_bytes if platform == "cuda" else None
            serve(request, gemms, cache or cpu_facts().cache_bytes, sys.stdin.buffer, send)
        except Exception as error:  # noqa: BLE001 - JAX raises many kinds; all become a status
            status, reason = failure(error)
            send(Message(status=status, reason=reason))
    return 0


def serve(
    request: Request,
    gemms: Backend,
    cache_bytes: int,
    stints: Iterable[bytes],
    send: Send,
) -> None:
    """Compile the request's candidates, say so, and time one for each line of `stints`.

    Raises:
        Exception: none of the candidates could be compiled, and what the first one's compiler
            raised; or none that were could be launched, and what the last one raised.
    """
    plan, case = request.job.plan, request.job.plan.case(request.job.case)
    seed = fill_seed(plan.seed, plan.submission.challenge, case.id)
    fewest = sets_required(
        input_bytes(case.workload, number_format(case.number_format)), cache_bytes
    )
    handover = request.handover
    if handover is None:
        chooser = Chooser(
            plan.backend,
            ruleset(plan.edition),
            time.monotonic_ns,
            lambda phase: send(Message(phase=f"tune: {phase}")),
        )
        trial = Trial(request.implementations[0], fewest, plan.test_type.fill, seed)
        handover = chooser.choose(gemms, trial)
    candidates, results, per_call = _build(request, gemms, handover, send)
    allocate = partial(gemms.allocate, handover.sets, plan.test_type.fill, seed)
    candidates = list(_launched(candidates, per_call, gemms, allocate))
    send(Message(built=Built(handover, tuple(candidates), results)))
    call_ns: dict[Implementation, int] = {}
    for line in stints:
        stint = decode(Stint, line)
        name = stint.implementation
        gemms.use(name)
        if name not in call_ns:  # only now has no other process the device
            call_ns[name] = max(1, pilot(gemms, per_call[name], time.monotonic_ns).period_ns)
        # Another process had the device before: two calls at least.
        gemms.wait_for(gemms.enqueue(max(2, math.ceil(stint.lead_ms * 1e6 / call_ns[name]))))
        calls = max(3, math.ceil(stint.timed_ms * 1e6 / call_ns[name]))
        start_ns = time.monotonic_ns()
        gemms.wait_for(gemms.enqueue(calls))
        spent_ns = time.monotonic_ns() - start_ns
        send(Message(period_ns=spent_ns / (calls * per_call[name])))
        call_ns[name] = max(1, min(call_ns[name], spent_ns // calls))  # the pilot may be disturbed


def _build(
    request: Request, gemms: Backend, handover: Handover, send: Send
) -> tuple[list[Candidate], dict[str, str], dict[Implementation, int]]:
    """(candidates, paths of their autotune results, GEMMs in a call of those that can be timed)."""
    candidates: list[Candidate] = []
    results: dict[str, str] = {}
    per_call: dict[Implementation, int] = {}
    failures: list[Exception] = []
    for implementation in request.implementations:
        send(Message(phase=f"tune: {implementation}, attempt {request.attempt}"))
        name, work, extra, reason = None, {}, {}, ""
        path = Path(request.load_from or f"{request.folder}/{request.attempt}-{implementation}.txt")
        if request.load_from is None:
            build = Build(implementation, dump_to=str(path))
        else:
            build = Build(implementation, load_from=str(path))
        try:
            executable, hlo = gemms.compile(handover.mode, handover.sets, build)
            name = hlo_name(hlo)
            require_readable(hlo)
            found = census(hlo)
        except Exception as error:  # noqa: BLE001 - whatever a compiler raises is the reason
            failures.append(error)
            reason = first_line(error)
        else:
            work, extra = found.gemms, found.extra
            per_call[implementation] = executable.gemms_per_call
            if path.exists():
                results[implementation] = str(path)
        candidates.append(
            Candidate(
                request.attempt, implementation, handover.mode, name, work, extra, None, reason
            )
        )
    if not per_call:
        raise failures[0]
    return candidates, results, per_call


def _launched(
    candidates: list[Candidate],
    per_call: dict[Implementation, int],
    gemms: Backend,
    allocate: Callable[[], None],
) -> Iterator[Candidate]:
    """The candidates, each launched once; one that fails then has a reason and no `per_call`.

    Only a launch shows a rank beyond the library's last, or memory that a temporary lacks.
    """
    allocate()
    for candidate in candidates:
        implementation, reason = candidate.implementation, candidate.reason
        if implementation in per_call:
            try:
                gemms.use(implementation)
                gemms.wait_for(gemms.enqueue(1))
            except Exception as error:
                del per_call[implementation]
                if not per_call:
                    raise
                reason = first_line(error)
        if reason != candidate.reason:  # D went with it; until here the error held the pools
            gemms.release()
            allocate()
        yield replace(candidate, reason=reason)


if __name__ == "__main__":
    raise SystemExit(main())
