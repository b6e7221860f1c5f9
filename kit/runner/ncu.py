"""How Nsight Compute is found, called and understood.

It counts one counter a run. Several in one request make it replay each kernel, and every replay
finds the operands of the one before in the cache (on an H200 2048^3 then read 8.5 MB
instead of the 16.8 MB of A and B).
"""

import csv
import re
import shutil
import subprocess
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path

from kit.counters import BYTES, MILLIPERCENT, Counter, CounterStatus

_PLACES = ("/usr/local/cuda/bin/ncu", "/opt/nvidia/nsight-compute/*/ncu")
_PASSES = "profiler__replayer_passes"
"""How often a kernel was replayed. The raw page of 2025.3 has it, whatever was asked for."""
_ANNOUNCED = re.compile(r"^==PROF== Profiling .* (\d+) pass(?:es)?$")
_NUMBER = re.compile(r"(?:\d+|\d{1,3}(?:,\d{3})+)(?:\.\d+)?")
_VERSION = re.compile(r"Version (\d[\w.]{0,30})")
_LONGEST_NAME = 300
_LONGEST_LOG = 16 * 2**20


class NcuError(Exception):
    """Nsight Compute gave no values of a counter; `status` says of what kind the reason is."""

    def __init__(self, status: CounterStatus, reason: str) -> None:
        super().__init__(reason)
        self.status = status


@dataclass(frozen=True, slots=True)
class Reading:
    """One profiled kernel: its name and the counter's value in the unit of the whole log."""

    kernel: str
    value: Decimal


@dataclass(frozen=True, slots=True)
class Log:
    """What one run of Nsight Compute printed: unit, replays of each kernel, kernels in order."""

    unit: str
    passes: int
    readings: tuple[Reading, ...]


def find_ncu(search_path: str | None) -> Path | None:
    """Nsight Compute on `search_path` or where NVIDIA's packages put it; newest version first."""
    found = shutil.which("ncu", path=search_path)
    if found is not None:
        return Path(found)
    for pattern in _PLACES:
        places = sorted(Path("/").glob(pattern[1:]), reverse=True)
        if places:
            return places[0]
    return None


def version_of(ncu: Path) -> str | None:
    """Version that the tool says it has; None where it does not say."""
    try:
        done = subprocess.run(
            [ncu, "--version"], capture_output=True, text=True, timeout=60, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    match = _VERSION.search(done.stdout)
    return match[1] if match else None


def multicast_counter(ncu: Path) -> str | None:
    """A counter of multicast traffic that this GPU has; None if it has none, or ncu lists none."""
    try:
        done = subprocess.run(
            [ncu, "--query-metrics"], capture_output=True, text=True, timeout=120, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    names = re.findall(r"^(\w*multicast\w*)\s+Counter\b", done.stdout, re.MULTILINE)
    return f"{min(names)}.sum" if names else None


def command(ncu: Path, counter: str, log: Path, child: Sequence[str]) -> list[str]:
    """The command line that counts `counter` in the part of `child` that asks to be profiled."""
    return [
        str(ncu),
        "--metrics", counter,
        "--cache-control", "none",
        "--clock-control", "none",
        "--profile-from-start", "off",
        "--csv",
        "--page", "raw",
        "--print-units", "base",
        "--log-file", str(log),
        *child,
    ]  # fmt: skip


def parse(text: str, counter: str) -> Log:
    """Read the log of one run.

    Raises:
        NcuError: there are no values, or they do not have the documented form.
    """
    if len(text) > _LONGEST_LOG:
        raise NcuError("failed", f"the log has {len(text)} characters")
    lines = text.splitlines()
    _raise_refusal(lines)
    rows = list(csv.reader(line for line in lines if line.startswith('"')))
    if len(rows) < 3:
        raise NcuError("failed", "Nsight Compute profiled no kernel")
    head, units, *kernels = rows
    if head.count(counter) != 1 or head.count("Kernel Name") != 1:
        raise NcuError("failed", f"the log has no column {counter}")
    column, name = head.index(counter), head.index("Kernel Name")
    if any(len(row) != len(head) for row in (units, *kernels)):
        raise NcuError("failed", "a row of the log has not as many cells as its head")
    # Versions differ: some announce every kernel with its replays, others only have the column.
    if head.count(_PASSES) == 1:
        passes = [int(_number(row[head.index(_PASSES)])) for row in kernels]
    else:
        passes = [int(match[1]) for match in map(_ANNOUNCED.match, lines) if match]
    if len(passes) != len(kernels):
        raise NcuError(
            "failed", f"the log tells the replays of {len(passes)} of {len(kernels)} kernels"
        )
    readings = tuple(Reading(row[name][:_LONGEST_NAME], _number(row[column])) for row in kernels)
    return Log(units[column], max(passes), readings)


def _raise_refusal(lines: Iterable[str]) -> None:
    errors = [line.removeprefix("==ERROR==").strip() for line in lines if "==ERROR==" in line]
    for error in errors:
        if "ERR_NVGPUCTRPERM" in error:
            reason = "the driver lets only administrators read counters (ERR_NVGPUCTRPERM)"
            raise NcuError("no_permission", reason)
        if "Failed to find metric" in error:
            raise NcuError("not_available", "this GPU has no such counter")
    if errors:
        raise NcuError("failed", errors[0])


def _number(text: str) -> Decimal:
    if not _NUMBER.fullmatch(text):
        raise NcuError("failed", f"{text[:40]!r} is no number")
    return Decimal(text.replace(",", ""))


def counter_of(name: str, log: Log, sets: Sequence[int]) -> Counter:
    """One value for each launch; `sets` are the sets that the launches used, in order.

    A launch may be several kernels (a split product and its sum): bytes add up, percentages are
    those of the product. Fills of memory are not counted.

    Raises:
        NcuError: the kernels are not the same ones for every launch.
    """
    readings = [entry for entry in log.readings if "memset" not in entry.kernel.lower()]
    if not sets:
        raise NcuError("failed", "no launch was reported")
    each, rest = divmod(len(readings), len(sets))
    if rest or not each:
        raise NcuError("failed", f"{len(readings)} kernels for {len(sets)} launches")
    launches = [readings[first : first + each] for first in range(0, len(readings), each)]
    kernels = tuple(entry.kernel for entry in launches[0])
    if any(tuple(entry.kernel for entry in launch) != kernels for launch in launches):
        raise NcuError("failed", "the launches are not all of the same kernels")
    if log.unit == "%":
        product = next((i for i, kernel in enumerate(kernels) if "reduce" not in kernel.lower()), 0)
        unit = MILLIPERCENT
        values = [round(launch[product].value * 1000) for launch in launches]
    else:
        unit = log.unit
        values = [int(sum(entry.value for entry in launch)) for launch in launches]
        if any(entry.value != int(entry.value) for entry in readings):
            raise NcuError("failed", f"a count in {unit or 'no unit'} is not whole")
    if name.startswith("dram__bytes") and unit != BYTES:
        raise NcuError("failed", f"bytes are given in {unit or 'no unit'}")
    return Counter(
        name=name,
        unit=unit or "count",
        status="ok",
        reason="",
        passes=log.passes,
        launches_per_value=1,
        samples=len(readings),
        kernels=kernels,
        sets=tuple(sets),
        values=tuple(values),
    )
