"""The headline figures of a bundle, recomputed from its own series by `kit.metrics`.

Claims are never shown or judged as figures; this is where the checker's own come from.
"""

from dataclasses import dataclass

from kit.bundle.reader import Bundle, CaseEvidence
from kit.checker.rule import Unproven
from kit.checker.runs import MeasuredRun, measured_runs
from kit.evidence import CaseMetrics, RunMetrics
from kit.metrics import derive_case, derive_run
from kit.plan import Case
from kit.remembered import remembered
from kit.timeline import device_span_ns
from kit.trace import WINDOWS

_LONGEST_NS = 2.0**53
"""104 days. Sums of honest windows stay below; hostile ones could wrap around int64."""


@dataclass(frozen=True, slots=True)
class RecomputedRun:
    """One run and its figures; without figures, `unproven` says what its evidence lacks."""

    run: MeasuredRun
    metrics: RunMetrics | None
    unproven: str


@dataclass(frozen=True, slots=True)
class RecomputedCase:
    """A planned case with a folder; `metrics` covers those of its runs that have figures."""

    case: Case
    evidence: CaseEvidence
    runs: tuple[RecomputedRun, ...]
    metrics: CaseMetrics

    @property
    def unproven(self) -> tuple[str, ...]:
        """Why some of the runs have no figures, each with the run's folder."""
        return tuple(
            f"{entry.run.evidence.path}: {entry.unproven}" for entry in self.runs if entry.unproven
        )


@remembered
def recompute(bundle: Bundle) -> tuple[RecomputedCase, ...]:
    """Recompute every planned case that has a folder, in the plan's order."""
    found: dict[str, list[RecomputedRun]] = {case.id: [] for case in bundle.plan.cases}
    for run in measured_runs(bundle):
        try:
            entry = RecomputedRun(run, _figures(run), "")
        except Unproven as why:
            entry = RecomputedRun(run, None, str(why))
        found[run.case.id].append(entry)
    return tuple(
        RecomputedCase(
            case,
            bundle.cases[case.id],
            tuple(found[case.id]),
            derive_case(case.id, tuple(run.metrics for run in found[case.id] if run.metrics)),
        )
        for case in bundle.plan.cases
        if case.id in bundle.cases
    )


def _figures(run: MeasuredRun) -> RunMetrics:
    if run.device is None:
        raise Unproven("its device is not in environment.json")
    run.profiling_windows()
    if device_span_ns(run.table(WINDOWS.file)) >= _LONGEST_NS:
        raise Unproven(f"{WINDOWS.file} adds up to more than {_LONGEST_NS * 1e-9:.0f} s")
    document = run.document
    evidence, hlo = run.evidence, run.hlo.get(document.executable.hlo)
    return derive_run(run.case, run.device, document, evidence.tables, hlo, evidence.trace)
