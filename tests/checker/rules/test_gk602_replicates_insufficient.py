from dataclasses import replace

import pytest

from bundles import (
    DECODE,
    findings,
    honest_cpu,
    honest_gpu,
    outcome,
    rederived,
    with_column,
)
from kit.checker.recomputed import recompute
from kit.checker.rule import outcome_of
from kit.checker.rules.gk602_replicates_insufficient import _range
from kit.metrics import derive_case
from kit.ruleset import ruleset

CODE = "GK602"


def with_runs(bundle, numbers):
    """Only these runs of every case measured; the others timed out."""
    cases = {}
    for name, case in bundle.cases.items():
        outcomes = tuple(
            run if run.number in numbers else replace(run, status="timed_out")
            for run in case.record.runs
        )
        kept = tuple(run for run in case.runs if run.document.number in numbers)
        cases[name] = replace(case, record=replace(case.record, runs=outcomes), runs=kept)
    return rederived(replace(bundle, cases=cases))


def with_range(share, division):
    """The decode case with this range between its first and third run, the second between them."""
    bundle = honest_gpu(division)
    periods = {run.number: run.mean_period_ns for run in bundle.claims.cases[1].runs}
    for number, offset in ((2, 0.5), (3, 1.0)):
        factor = periods[1] * (1 + offset * share) / periods[number]
        bundle = with_column(
            bundle, DECODE, number, "windows.csv", "duration_ns",
            lambda ns, factor=factor: (ns * factor).round().astype("i8"),
        )  # fmt: skip
    return bundle


@pytest.mark.parametrize("bundle", [honest_gpu(), honest_gpu("closed"), honest_cpu()])
def test_honest(bundle):
    assert outcome(CODE, bundle) == "pass"


def test_two_runs_are_too_few_in_the_closed_division():
    broken = with_runs(honest_gpu("closed"), (1, 2))
    assert outcome(CODE, broken) == "fail"
    found = findings(CODE, broken)
    assert [finding.found for finding in found] == ["2 measured runs on gpu-3f0a51c2d9e8"] * 2
    assert found[0].place == "data/cases/guideline-bf16-nn/case.json"
    assert outcome(CODE, with_runs(honest_gpu(), (1, 2))) == "pass"


def test_one_run_in_the_open_division():
    assert outcome(CODE, with_runs(honest_gpu(), (2,))) == "not_applicable"


def test_no_attempt_in_the_closed_division():
    bundle = honest_gpu("closed")
    cases = {name: case for name, case in bundle.cases.items() if name != DECODE}
    assert "no run" in {f.found for f in findings(CODE, replace(bundle, cases=cases))}


@pytest.mark.parametrize(("division", "verdict"), [("open", "warn"), ("closed", "fail")])
def test_range(division, verdict):
    broken = with_range(0.0203, division)  # over the median, which is half of it above the first
    assert outcome(CODE, broken) == verdict
    (finding,) = findings(CODE, broken)
    assert f"{DECODE}/case.json" in finding.place
    assert "a range of 2.01%" in finding.found
    assert outcome(CODE, with_range(0.0201, division)) == "pass"


@pytest.mark.parametrize(
    ("shares", "wanted"),
    [
        ((0, 0.006, 0.012, 0.018, 0.024, 0.030), "pass"),  # 0.46 %
        ((0, 0, 0, 0.030, 0.030, 0.030), "fail"),  # 0.67 %
        ((0, *[0.026] * 30, 0.052), "fail"),  # 0.12 %, but too wide
    ],
)
def test_many_runs_may_lie_further_apart_if_their_mean_is_known(shares, wanted):
    bundle = honest_gpu("closed")
    (case,) = (case for case in recompute(bundle) if case.case.id == DECODE)
    first = case.metrics.runs[0]
    runs = tuple(
        replace(first, number=number, mean_period_ns=first.mean_period_ns * (1 + share))
        for number, share in enumerate(shares, 1)
    )
    found = list(_range(derive_case(DECODE, runs), "here", "fail", ruleset("2026.1")))
    assert outcome_of([finding.severity for finding in found]) == wanted


def test_a_run_without_windows_proves_nothing():
    bundle = honest_gpu()
    case = bundle.cases[DECODE]
    first, *rest = case.runs
    tables = {name: table for name, table in first.tables.items() if name != "windows.csv"}
    runs = (replace(first, tables=tables), *rest)
    broken = replace(bundle, cases=bundle.cases | {DECODE: replace(case, runs=runs)})
    assert outcome(CODE, broken) == "unproven"


def test_devices_may_differ_where_each_agrees_with_itself():
    """The second run moved to another device, 3 % slower there: two parts, not two results."""
    bundle = with_range(0.06, "open")
    case = bundle.cases[DECODE]
    elsewhere = "gpu-0123456789ab"
    moved = tuple(
        replace(run, document=replace(run.document, device=elsewhere))
        if run.document.number == 2
        else run
        for run in case.runs
        if run.document.number != 3
    )
    (device,) = bundle.environment.devices
    environment = replace(bundle.environment, devices=(device, replace(device, id=elsewhere)))
    cases = bundle.cases | {DECODE: replace(case, runs=moved)}
    bundle = rederived(replace(bundle, cases=cases, environment=environment))
    assert outcome(CODE, bundle) == "warn"
    (finding,) = findings(CODE, bundle)
    assert "on 2 devices, a range of 2.9" in finding.found
