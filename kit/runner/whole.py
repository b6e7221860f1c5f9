"""The documents about a bundle as a whole, written when its last run has ended."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from kit.bundle import layout
from kit.bundle.writer import BundleWriter
from kit.evidence import (
    CaseRecord,
    DeviceFacts,
    Environment,
    Journal,
    Results,
    RunMetrics,
    RunOutcome,
)
from kit.metrics import derive_case, derive_run
from kit.plan import Case, RunPlan
from kit.runner.description import describe
from kit.runner.kernel_trace import written_trace
from kit.runner.written import read_run


def write_whole(
    writer: BundleWriter,
    plan: RunPlan,
    environment: Environment,
    journal: Journal,
    outcomes: Mapping[str, Sequence[RunOutcome]],
) -> None:
    """Write environment, system, journal, each case's `outcomes`, and the claims.

    Raises:
        KitError: a document, or a file that a run left, is not as the checker will want it.
    """
    writer.write_record(layout.ENVIRONMENT, environment)
    writer.write_record(layout.SYSTEM, describe(plan, environment))
    writer.write_record(layout.JOURNAL, journal)
    for case, ended in outcomes.items():
        writer.write_record(layout.case_file(case), CaseRecord(case, tuple(ended)))
    devices = {device.id: device for device in environment.devices}
    metrics = (
        derive_case(case.id, _metrics(writer.partial, case, outcomes[case.id], devices))
        for case in plan.cases
    )
    writer.write_record(layout.RESULTS, Results(plan.edition, tuple(metrics)))


def _metrics(
    bundle: Path, case: Case, outcomes: Sequence[RunOutcome], devices: Mapping[str, DeviceFacts]
) -> tuple[RunMetrics, ...]:
    """Derive every measured run's figures from the files just written, as the checker will."""
    derived = []
    for outcome in outcomes:
        if outcome.status != "measured":
            continue
        document, tables, hlo = read_run(bundle, case.id, outcome)
        folder = bundle / layout.run_folder(case.id, outcome.device, outcome.number)
        device = devices[outcome.device]
        derived.append(derive_run(case, device, document, tables, hlo, written_trace(folder)))
    return tuple(derived)
