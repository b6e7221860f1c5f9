"""What a person wants to see first: who submitted, and each case's recomputed figures."""

import math
from collections.abc import Iterable
from dataclasses import fields
from statistics import median

from kit.bundle.reader import Bundle
from kit.checker.limits import cut
from kit.checker.recomputed import RecomputedCase, recompute
from kit.checker.verdict import CaseFigures, Headline
from kit.counters import dram_read_ratio
from kit.number_format import number_format as row_of
from kit.rotation import input_bytes

_NAMING = ("id", "number_format", "runs", "problem")
_MEASURED = tuple(field.name for field in fields(CaseFigures) if field.name not in _NAMING)


def headline(bundle: Bundle) -> Headline:
    """Sum up the bundle; planned cases without evidence appear with their reason."""
    submission = bundle.plan.submission
    found = {entry.case.id: entry for entry in recompute(bundle)}
    return Headline(
        submission.submitter,
        submission.system_id,
        submission.division,
        submission.availability,
        tuple(
            _figures(case.id, case.number_format, found.get(case.id)) for case in bundle.plan.cases
        ),
    )


def _figures(case_id: str, number_format: str, found: RecomputedCase | None) -> CaseFigures:
    if found is None:
        return _absent(case_id, number_format, "no folder in the bundle")
    runs = found.metrics.runs
    if not runs:
        attempts = [f"{run.status}: {run.reason}" for run in found.evidence.record.runs]
        problem = next(iter([*found.unproven, *attempts]), "never attempted")
        return _absent(case_id, number_format, problem)
    return CaseFigures(
        id=case_id,
        number_format=number_format,
        executed=runs[0].executed if len({run.executed for run in runs}) == 1 else "several",
        native=all(run.native for run in runs),
        runs=len(runs),
        period_ns=_finite(found.metrics.period_ns),
        flops_per_s=_finite(found.metrics.flops_per_s),
        spread=_finite(max(run.spread for run in runs)),
        replicate_range=_finite(found.metrics.replicate_range),
        graphics_mhz=_median(run.graphics_mhz for run in runs),
        power_mw=_median(
            run.power_instant_mw if run.power_average_mw is None else run.power_average_mw
            for run in runs
        ),
        sol_fraction=_median(run.sol_fraction for run in runs),
        period_over_kernel=_median(run.period_over_kernel for run in runs),
        dram_read_ratio=_finite(
            dram_read_ratio(
                list(found.evidence.counters.values()),
                input_bytes(found.case.workload, row_of(number_format)),
            )
        ),
        sol_fraction_at_maximum_clock=_median(run.sol_fraction_at_maximum_clock for run in runs),
        datasheet_fraction=_median(run.datasheet_fraction for run in runs),
        energy_per_gemm_j=_median(run.energy_per_gemm_j for run in runs),
        flops_per_s_per_watt=_median(run.flops_per_s_per_watt for run in runs),
        problem="",
    )


def _absent(case_id: str, number_format: str, problem: str) -> CaseFigures:
    return CaseFigures(
        id=case_id,
        number_format=number_format,
        runs=0,
        problem=cut(problem),
        **dict.fromkeys(_MEASURED),
    )


def _median(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return _finite(median(known)) if known else None


def _finite(value: float | None) -> float | None:
    """Null for what JSON cannot say: hostile series may give infinities, honest ones never do."""
    return value if value is not None and math.isfinite(value) else None
