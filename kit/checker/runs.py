"""Every measured run with what a rule needs around it: its case, number format, device and HLO."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from kit.bundle.layout import RUN
from kit.bundle.reader import Bundle, RunEvidence
from kit.checker.rule import Finding, NotApplicable, Unproven
from kit.evidence import Control, DeviceFacts, Run
from kit.number_format import NumberFormat, number_format
from kit.plan import Case
from kit.remembered import remembered
from kit.timeline import mean_period_ns, profiling_interval, rows_of_phase
from kit.trace import PROFILING, WINDOWS, Table

_REASONS_SHOWN = 3


@dataclass(frozen=True, slots=True)
class MeasuredRun:
    """One run folder of a planned case; `device` is None where no device fact describes it."""

    case: Case
    device: DeviceFacts | None
    hlo: dict[str, str]
    evidence: RunEvidence

    @property
    def document(self) -> Run:
        """The run's document."""
        return self.evidence.document

    @property
    def number_format(self) -> NumberFormat:
        """The row of the case's number format."""
        return number_format(self.case.number_format)

    @property
    def maximum_graphics_mhz(self) -> int | None:
        """The device's highest graphics clock; None where it is not known."""
        return self.device.maximum_graphics_mhz if self.device else None

    @property
    def sampling_periods_ns(self) -> dict[str, int]:
        """How often each table was sampled, by its file name."""
        health = self.document.telemetry.health
        return {entry.table: entry.period_ns for entry in health}

    def at(self, place: str, file: str = RUN) -> str:
        """A finding's place in one of the run's files."""
        return f"{self.evidence.path}/{file}: {place}"

    def table(self, file: str) -> Table:
        """One of the run's tables.

        Raises:
            Unproven: it is not there.
        """
        found = self.evidence.tables.get(file)
        if found is None or not len(found):
            raise Unproven(f"{file} is missing")
        return found

    def control(self, name: str) -> Control | None:
        """The independent timing of that name, if it was taken."""
        controls = self.document.timing.controls
        return next((control for control in controls if control.name == name), None)

    def host_slope(self) -> Control:
        """The control by differences of host times.

        Raises:
            Unproven: it was not taken.
        """
        slope = self.control("host_slope")
        if slope is None:
            raise Unproven("control host_slope is missing")
        return slope

    def slope_ns(self, spans: int) -> float:
        """Device time that so many spans of the host slope take at the windows' mean period.

        Raises:
            Unproven: there is no slope, or no profiling window.
        """
        return spans * self.host_slope().launches * mean_period_ns(self.profiling_windows())

    def profiling_windows(self) -> Table:
        """The profiling rows of `windows.csv`.

        Raises:
            Unproven: there is none.
        """
        profiling = rows_of_phase(self.table(WINDOWS.file), PROFILING)
        if not len(profiling):
            raise Unproven(f"{WINDOWS.file} has no profiling window")
        return profiling

    def profiling_interval(self) -> tuple[int, int]:
        """Host times in ns between which the device profiled.

        Raises:
            Unproven: there is no profiling window.
        """
        self.profiling_windows()
        return profiling_interval(self.document.timing, self.table(WINDOWS.file))


@remembered
def measured_runs(bundle: Bundle) -> tuple[MeasuredRun, ...]:
    """The runs of all planned cases, in the plan's order."""
    devices = {device.id: device for device in bundle.environment.devices}
    return tuple(
        MeasuredRun(case, devices.get(run.document.device), bundle.cases[case.id].hlo, run)
        for case in bundle.plan.cases
        if case.id in bundle.cases
        for run in bundle.cases[case.id].runs
    )


def judge_runs(
    bundle: Bundle, judge: Callable[[MeasuredRun], Iterator[Finding]]
) -> Iterator[Finding]:
    """Judge every run; what stays unproven is said after the last one, so that it hides nothing.

    Raises:
        Unproven: some run lacks evidence, or there is no run at all.
    """
    judged = 0
    reasons: list[str] = []
    for run in measured_runs(bundle):
        judged += 1
        try:
            yield from judge(run)
        except Unproven as why:
            reasons.append(f"{run.evidence.path}: {why}")
    if not judged:
        raise Unproven("the bundle holds no measured run")
    if reasons:
        more = len(reasons) - _REASONS_SHOWN
        shown = "; ".join(reasons[:_REASONS_SHOWN])
        raise Unproven(f"{shown}; and {more} more runs" if more > 0 else shown)


def each(*questions: Iterator[Finding]) -> Iterator[Finding]:
    """What several questions about one run find; what is unproven is said last, and hides nothing.

    Raises:
        Unproven: some question lacks evidence.
    """
    reasons: list[str] = []
    for question in questions:
        try:
            yield from question
        except Unproven as why:
            reasons.append(str(why))
    if reasons:
        raise Unproven("; ".join(dict.fromkeys(reasons)))


def only_on_gpu(bundle: Bundle, what: str) -> None:
    """Leave the rule on a CPU bundle.

    Raises:
        NotApplicable: a CPU host computed, which cannot evidence `what`.
    """
    if bundle.plan.backend.platform != "cuda":
        raise NotApplicable(f"a CPU host cannot evidence {what}")
