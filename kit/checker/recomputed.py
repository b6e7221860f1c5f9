"""The headline figures of a bundle, recomputed from its own series by `kit.metrics`.

Claims are never shown or judged as figures; this is where the checker's own come from.
"""

from dataclasses import dataclass

from kit.bundle.reader import Bundle, CaseEvidence, RunEvidence
from kit.evidence import CaseMetrics, DeviceFacts, RunMetrics
from kit.metrics import derive_case, derive_run
from kit.plan import Case
from kit.trace import PROFILING, WINDOWS


@dataclass(frozen=True, slots=True)
class RecomputedRun:
    """One run's figures, or null and the reason why the evidence does not give them."""

    evidence: RunEvidence
    metrics: RunMetrics | None
    reason: str


@dataclass(frozen=True, slots=True)
class RecomputedCase:
    """One planned case with its runs; `metrics` covers those runs whose figures are there."""

    case: Case
    evidence: CaseEvidence
    runs: tuple[RecomputedRun, ...]
    metrics: CaseMetrics


def recompute(bundle: Bundle) -> tuple[RecomputedCase, ...]:
    """Recompute every planned case that has evidence, in the plan's order."""
    devices = {device.id: device for device in bundle.environment.devices}
    found = []
    for case in bundle.plan.cases:
        evidence = bundle.cases.get(case.id)
        if evidence is None:
            continue
        runs = tuple(_run(case, devices.get(run.document.device), run) for run in evidence.runs)
        metrics = tuple(run.metrics for run in runs if run.metrics is not None)
        found.append(RecomputedCase(case, evidence, runs, derive_case(case.id, metrics)))
    return tuple(found)


def _run(case: Case, device: DeviceFacts | None, run: RunEvidence) -> RecomputedRun:
    document = run.document
    if device is None:
        return RecomputedRun(run, None, "its device is not in environment.json")
    windows = run.tables.get(WINDOWS.file)
    if windows is None:
        return RecomputedRun(run, None, f"{WINDOWS.file} is missing")
    duration_ns = windows["duration_ns"][windows["phase"] == PROFILING]
    if not len(duration_ns):
        return RecomputedRun(run, None, f"{WINDOWS.file} has no profiling window")
    # Beyond float64's whole numbers the sums would wrap; no honest run lasts 100 days.
    if float(duration_ns.astype("f8").sum()) >= 2**53:
        return RecomputedRun(run, None, f"{WINDOWS.file} adds up to more than 2^53 ns")
    metrics = derive_run(case, device, document.number, document.timing, run.tables)
    return RecomputedRun(run, metrics, "")
