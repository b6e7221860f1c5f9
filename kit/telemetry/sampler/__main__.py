"""The sampler's own process: connect, say ready, sample until standard input ends.

It imports the standard library, NumPy and the source's library, never JAX. It is started anew and
never forked, because the state of CUDA and NVML does not survive a fork.
"""

import ctypes
import os
import signal
import sys
import threading
from functools import partial
from pathlib import Path
from time import monotonic_ns

from kit.errors import KitError
from kit.records import decode, encode
from kit.system import DeviceAddress
from kit.telemetry import Source, source
from kit.telemetry.sampler.lane import Cadence, Lane, sustainable_period_ns
from kit.telemetry.sampler.messages import Answer, Farewell, Job, SeriesPlace
from kit.telemetry.sampler.series import SeriesWriter, series_path
from kit.trace import TELEMETRY_TABLES

_PR_SET_PDEATHSIG = 1
_SPARE_ROWS = 64
_JOIN_S = 1.0


def main() -> int:
    """Run one job from standard input; the exit code is that of the problem, 0 without one."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    job = decode(Job, sys.stdin.buffer.readline())
    _die_with(job.parent)
    try:
        with source(job.source).connect(DeviceAddress(job.pci_bus_id, job.uuid)) as connected:
            return _run(job, connected)
    except KitError as error:
        _say(Answer(error.problem, error.hint, (), ()))
        return error.exit_code


def _die_with(parent: int) -> None:
    """Let the kernel end this process when its parent ends, however that comes about."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, int(signal.SIGKILL), 0, 0, 0)
    if os.getppid() != parent:
        sys.exit("the parent ended before the sampler was ready")


def _run(job: Job, connected: Source) -> int:
    threading.excepthook = _end_on_defect
    stop = threading.Event()
    failures: dict[str, str] = {}
    places = _places(job, connected)
    begin = monotonic_ns()
    # Spread the tables over the shortest period, so that they do not queue in the driver.
    step_ns = min((place.period_ns for place in places), default=0) // max(1, len(places))
    lanes = []
    for turn, place in enumerate(places):
        series = SeriesWriter(
            series_path(Path(job.folder), place.file), len(place.columns), place.capacity
        )
        series.beat(begin)
        lane = Lane(
            read=connected.readers[place.file],
            series=series,
            cadence=Cadence(begin + turn * step_ns, place.period_ns),
            base_ns=job.base_ns,
            failed=partial(failures.__setitem__, place.file),
        )
        lanes.append(threading.Thread(target=lane.run, args=(stop,), daemon=True))
    for thread in lanes:
        thread.start()
    _say(Answer(None, "", connected.metrics, places))
    sys.stdin.buffer.read()
    stop.set()
    for thread in lanes:
        thread.join(_JOIN_S)
    _say(Farewell(failures))
    if any(thread.is_alive() for thread in lanes):
        # A reading hangs in the driver; shutting NVML down would hang behind it.
        os._exit(0)
    return 0


def _places(job: Job, connected: Source) -> tuple[SeriesPlace, ...]:
    """Columns, period and capacity of every series, in the tables' order."""
    places = []
    for file in (table.file for table in TELEMETRY_TABLES if table.file in connected.readers):
        columns = (
            metric.column
            for metric in connected.metrics
            if metric.table == file and metric.status == "ok"
        )
        period_ns = sustainable_period_ns(connected.readers[file], job.periods_ms[file] * 1_000_000)
        capacity = int(job.capacity_s * 1e9) // period_ns + _SPARE_ROWS
        places.append(SeriesPlace(file, ("t_ns", "burst_ns", *columns), period_ns, capacity))
    return tuple(places)


def _end_on_defect(problem: threading.ExceptHookArgs) -> None:
    """Let a defect in one lane end the process, so that the parent notices."""
    sys.__excepthook__(problem.exc_type, problem.exc_value or problem.exc_type(),
                       problem.exc_traceback)  # fmt: skip
    sys.stderr.flush()
    os._exit(4)


def _say(message: object) -> None:
    sys.stdout.buffer.write(encode(message))
    sys.stdout.buffer.flush()


if __name__ == "__main__":
    sys.exit(main())
