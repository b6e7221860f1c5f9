from dataclasses import fields, replace

import pytest

from bundles import (
    DECODE,
    GUIDELINE,
    changed,
    findings,
    honest_cpu,
    honest_gpu,
    outcome,
    with_claims,
    with_field,
    with_run,
)
from kit.evidence import CaseMetrics, RunMetrics

CODE = "GK501"
FIGURES = [field.name for field in fields(RunMetrics) if field.name not in ("device", "number")]
CASE_FIGURES = [field.name for field in fields(CaseMetrics) if field.name not in ("id", "runs")]


def other(value):
    if isinstance(value, str):
        return f"{value} Ti"
    return value + 1 if isinstance(value, int) else value * 1.000_001


@pytest.mark.parametrize("bundle", [honest_gpu(), honest_gpu("closed"), honest_cpu()])
def test_honest(bundle):
    assert outcome(CODE, bundle) == "pass"


@pytest.mark.parametrize("name", FIGURES)
def test_every_figure_of_a_run(name):
    honest = getattr(honest_gpu().claims.cases[0].runs[1], name)
    broken = with_claims(honest_gpu(), GUIDELINE, 2, **{name: other(honest)})
    assert changed(broken) == {CODE: "fail"}
    (finding,) = findings(CODE, broken)
    place = f"data/derived/results.json: {GUIDELINE}, gpu-3f0a51c2d9e8, run 2: {name}"
    assert finding.place == place
    assert finding.found != finding.required.removesuffix(", recomputed")


@pytest.mark.parametrize("name", CASE_FIGURES)
def test_every_figure_of_a_case(name):
    bundle = honest_gpu()
    first, *rest = bundle.claims.cases
    changed_case = replace(first, **{name: getattr(first, name) * 1.001})
    claims = replace(bundle.claims, cases=(changed_case, *rest))
    (finding,) = findings(CODE, replace(bundle, claims=claims))
    assert finding.place == f"data/derived/results.json: {GUIDELINE}: {name}"


@pytest.mark.parametrize(("factor", "verdict"), [(1 + 5e-10, "pass"), (1 + 2e-9, "fail")])
def test_nine_digits(factor, verdict):
    period_ns = honest_gpu().claims.cases[0].runs[0].mean_period_ns
    claimed = with_claims(honest_gpu(), GUIDELINE, 1, mean_period_ns=period_ns * factor)
    assert outcome(CODE, claimed) == verdict


def test_a_figure_that_cannot_be_derived():
    broken = with_claims(honest_cpu(), "small-fp32-nn", 1, power_average_mw=65_000.0)
    assert changed(broken) == {CODE: "fail"}
    assert findings(CODE, broken)[0].required == "null, recomputed"
    withheld = with_claims(honest_gpu(), GUIDELINE, 1, power_average_mw=None)
    assert findings(CODE, withheld)[0].found == "null"


def test_the_evidence_was_edited_instead():
    def faster(run):
        table = run.tables["windows.csv"]
        table = replace(table, columns=dict(table.columns))
        table.columns["duration_ns"] = table["duration_ns"] - 1
        return replace(run, tables=run.tables | {"windows.csv": table})

    broken = with_run(honest_gpu(), DECODE, 1, faster, derive=False)
    assert outcome(CODE, broken) == "fail"
    assert {finding.place.rpartition(": ")[2] for finding in findings(CODE, broken)} >= {
        "mean_period_ns",
        "flops_per_s",
        "period_ns",
    }


def test_anchors_move_the_telemetry():
    shifted = with_field(
        honest_gpu(), GUIDELINE, 1, "timing.start.before_ns", lambda ns: ns - 10**9
    )
    broken = replace(shifted, claims=honest_gpu().claims)
    assert "power_average_mw" in {f.place.rpartition(": ")[2] for f in findings(CODE, broken)}


@pytest.mark.parametrize("drop", ["windows.csv", "profiling"])
def test_nothing_to_derive_from(drop):
    def edit(run):
        tables = dict(run.tables)
        windows = tables.pop("windows.csv")
        if drop == "profiling":
            tables["windows.csv"] = windows.rows(windows["phase"] == 0)
        return replace(run, tables=tables)

    assert (
        outcome(CODE, with_run(honest_cpu(), "small-fp32-nn", 1, edit, derive=False)) == "unproven"
    )


def test_sums_that_would_wrap_prove_nothing():
    def edit(run):
        table = run.tables["windows.csv"]
        columns = table.columns | {"duration_ns": table["duration_ns"] * 0 + 10**15}
        return replace(run, tables=run.tables | {"windows.csv": replace(table, columns=columns)})

    assert (
        outcome(CODE, with_run(honest_cpu(), "small-fp32-nn", 1, edit, derive=False)) == "unproven"
    )
