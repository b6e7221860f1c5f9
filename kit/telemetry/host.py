"""What Linux tells of the host's processor: frequency, temperature, package energy, load.

Cloud machines often offer only the load. What a kernel or hypervisor withholds is absent with the
path that was tried.
"""

import os
import re
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from kit.evidence import Limits, Metric, MetricStatus
from kit.system import DeviceAddress, no_limits
from kit.system.cpu import text_of
from kit.telemetry import BurstFailedError, Source, complete
from kit.trace import HOST

TABLES = (HOST,)
_CPUFREQ = "sys/devices/system/cpu/cpu[0-9]*/cpufreq/scaling_cur_freq"
_RAPL = "sys/class/powercap/intel-rapl:[0-9]*"
_HWMON = "sys/class/hwmon/hwmon[0-9]*"
_STAT = "proc/stat"
# Drivers of processor sensors, and the labels under which they give a whole package.
_SENSOR_DRIVERS = ("coretemp", "k10temp")
_PACKAGE_LABEL = re.compile(r"Package id \d+|Tdie|Tctl")
_STEAL_FIELD = 8
_BUSY_FIELDS = (1, 2, 3, 6, 7)
"""user, nice, system, irq and softirq of /proc/stat; guest time is already in user."""


@dataclass(frozen=True, slots=True)
class _Column:
    """Where one column stands and what its numbers amount to.

    `absent` is the reason when there are no files to open.
    """

    name: str
    semantics: str
    paths: Sequence[Path]
    combine: Callable[[list[int]], int]
    absent: str = ""
    may_be_zero: bool = False


@contextmanager
def connect(_device: DeviceAddress, root: Path = Path("/")) -> Iterator[Source]:
    """Open the host's files below `root`; which device computes does not matter."""
    metrics, readers = [], []
    with ExitStack() as files:
        for column in (
            _frequency(root),
            _temperature(root),
            _energy(root),
            _time(root, "busy_ms", _BUSY_FIELDS),
            _time(root, "steal_ms", (_STEAL_FIELD,)),
        ):
            metric, reader = _open(column, root, files)
            metrics.append(metric)
            if reader is not None:
                readers.append(reader)
        tables = {HOST.file: lambda: [read() for read in readers]} if readers else {}
        yield Source(complete(metrics, "host", "the host source reads no GPU"), tables)


def limits(_device: DeviceAddress, _own_processes: Collection[int] = ()) -> Limits:
    """A host processor has no power limits, compute processes or ECC counters to compare."""
    return no_limits("a host processor has none")


def _frequency(root: Path) -> _Column:
    return _Column(
        "cpu_mhz",
        "mean over the cores of what the frequency driver last saw",
        sorted(root.glob(_CPUFREQ)),
        lambda khz: round(sum(khz) / len(khz) / 1000),
        absent=f"/{_CPUFREQ} does not exist; the MHz of /proc/cpuinfo are then no reading but a "
        "constant of the hypervisor",
    )


def _temperature(root: Path) -> _Column:
    packages: list[Path] = []
    others: list[Path] = []
    for path in sorted(root.glob(f"{_HWMON}/temp[0-9]*_input")):
        if text_of(path.parent / "name") in _SENSOR_DRIVERS:
            label = text_of(path.with_name(path.name.replace("_input", "_label"))) or ""
            (packages if _PACKAGE_LABEL.fullmatch(label) else others).append(path)
    return _Column(
        "cpu_c",
        "the hottest processor package now",
        packages or others,
        lambda millidegrees: round(max(millidegrees) / 1000),
        absent=f"/{_HWMON} holds no {' or '.join(_SENSOR_DRIVERS)}",
    )


def _energy(root: Path) -> _Column:
    packages = [
        folder
        for folder in sorted(root.glob(_RAPL))
        if re.fullmatch(r"intel-rapl:\d+", folder.name)
        and (text_of(folder / "name") or "").startswith("package")
    ]
    ranges = [text_of(folder / "max_energy_range_uj") or "" for folder in packages]
    absent = f"/{_RAPL} holds no package domain"
    if not all(value.isdigit() for value in ranges):
        absent = f"/{_RAPL}/max_energy_range_uj is no number, so that a wrap cannot be undone"
        packages, ranges = [], []
    return _Column(
        "package_energy_uj",
        "all packages' counters added up, wraps undone",
        [folder / "energy_uj" for folder in packages],
        _Unwrapped([int(value) for value in ranges]),
        absent=absent,
    )


class _Unwrapped:
    """Adds up counters that start again at 0 past their range."""

    def __init__(self, ranges: list[int]) -> None:
        self._ranges = ranges
        self._last: list[int] | None = None
        self._carry = 0

    def __call__(self, numbers: list[int]) -> int:
        for number, last, span in zip(numbers, self._last or numbers, self._ranges, strict=True):
            if number < last:
                self._carry += span
        self._last = numbers
        return sum(numbers) + self._carry


def _time(root: Path, name: str, fields: tuple[int, ...]) -> _Column:
    tick_ms = 1000 / os.sysconf("SC_CLK_TCK")
    return _Column(
        name,
        "all processors added up, in clock ticks",
        [root / _STAT],
        lambda ticks: round(sum(ticks[field - 1] for field in fields) * tick_ms),
        may_be_zero=True,
    )


def _open(column: _Column, root: Path, files: ExitStack) -> tuple[Metric, Callable[[], int] | None]:
    """Keep the column's files open to read them anew each time; one try decides if it is there."""
    if not column.paths:
        return _metric(column, column.name, "not_supported", column.absent), None
    first = f"/{column.paths[0].relative_to(root)}"
    source = first if len(column.paths) == 1 else f"{first} and {len(column.paths) - 1} more"
    opened = []
    for path in column.paths:
        try:
            file = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        except OSError as error:
            refused = isinstance(error, PermissionError)
            status: MetricStatus = "no_permission" if refused else "not_found"
            reason = f"/{path.relative_to(root)}: {error.strerror}"
            return _metric(column, source, status, reason), None
        files.callback(os.close, file)
        opened.append(file)
    lowest = 0 if column.may_be_zero else 1
    maximum = next(entry.maximum for entry in HOST.columns if entry.name == column.name)

    def read() -> int:
        try:
            value = column.combine([number for file in opened for number in _numbers(file)])
        except (OSError, ValueError, IndexError) as error:
            raise BurstFailedError("error", f"{first}: {error}") from None
        if not lowest <= value <= maximum:
            raise BurstFailedError("error", f"{first}: {value} is implausible")
        return value

    try:
        read()
    except BurstFailedError as error:
        return _metric(column, source, error.status, error.reason), None
    return _metric(column, source, "ok", ""), read


def _metric(column: _Column, source: str, status: MetricStatus, reason: str) -> Metric:
    return Metric(HOST.file, column.name, status, reason, source, column.semantics)


def _numbers(file: int) -> list[int]:
    """The numbers of a file's first line, without the word before them (`cpu` in /proc/stat)."""
    line = os.pread(file, 4096, 0).split(b"\n", 1)[0].split()
    return [int(word) for word in line if word != b"cpu"]
