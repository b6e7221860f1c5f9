from dataclasses import replace

import pytest

from bundles import (
    DECODE,
    GUIDELINE,
    changed,
    findings,
    honest_cpu,
    honest_gpu,
    outcome,
    with_fields,
    with_run,
    with_system,
)
from kit.evidence import RunOutcome

CODE = "GK003"


def with_document(bundle, **changes):
    def change(run):
        return replace(run, document=with_fields(run.document, **changes))

    return with_run(bundle, GUIDELINE, 2, change, derive=False)


def with_record(bundle, change):
    case = bundle.cases[GUIDELINE]
    changed_case = replace(case, record=change(case.record))
    return replace(bundle, cases=bundle.cases | {GUIDELINE: changed_case})


def only(bundle):
    (finding,) = findings(CODE, bundle)
    return f"{finding.place} | {finding.found} | {finding.required}"


@pytest.mark.parametrize("bundle", [honest_gpu(), honest_gpu("closed"), honest_cpu()])
def test_honest(bundle):
    assert outcome(CODE, bundle) == "pass"


@pytest.mark.parametrize(
    ("field", "value"), [("submitter", "other"), ("division", "closed"), ("status", "rdi")]
)
def test_system_description(field, value):
    broken = with_system(honest_gpu(), **{field: value})
    assert changed(broken) == {CODE: "fail"}
    assert f"data/system.json: {field} | {value}" in only(broken)


def test_case_without_folder():
    bundle = honest_gpu()
    broken = replace(bundle, cases={GUIDELINE: bundle.cases[GUIDELINE]})
    assert f"no case folder {DECODE}" in only(broken)


def test_folder_that_was_not_planned():
    bundle = honest_gpu()
    plan = replace(bundle.plan, cases=bundle.plan.cases[:1])
    found = {finding.found for finding in findings(CODE, replace(bundle, plan=plan))}
    assert found == {f"a case folder {DECODE}", f"a case {DECODE}"}


def test_case_document_in_the_wrong_folder():
    broken = with_record(honest_gpu(), lambda record: replace(record, id=DECODE))
    assert changed(broken) == {CODE: "fail"}
    assert f"{GUIDELINE}/case.json: id | {DECODE}" in only(broken)


def test_measured_outcome_without_folder():
    outcome = RunOutcome("gpu-000000000000", 9, "measured", "")
    broken = with_record(honest_gpu(), lambda old: replace(old, runs=(*old.runs, outcome)))
    assert "gpu-000000000000-09" in only(broken)


def test_folder_without_measured_outcome():
    def lost(record):
        runs = tuple(
            replace(run, status="timed_out") if run.number == 2 else run for run in record.runs
        )
        return replace(record, runs=runs)

    assert "no measured outcome for" in only(with_record(honest_gpu(), lost))


@pytest.mark.parametrize(
    "change", [{"case": DECODE}, {"device": "gpu-000000000000"}, {"number": 3}]
)
def test_run_document_in_the_wrong_folder(change):
    found = findings(CODE, with_document(honest_gpu(), **change))
    assert any(finding.place.endswith("-02/run.json") for finding in found)


def test_device_that_is_not_described():
    broken = with_document(honest_gpu(), device="gpu-000000000000")
    assert any("run.json: device" in finding.place for finding in findings(CODE, broken))


def test_device_described_twice():
    bundle = honest_gpu()
    devices = bundle.environment.devices * 2
    broken = replace(bundle, environment=replace(bundle.environment, devices=devices))
    assert "2 times the device gpu-" in only(broken)


def test_program_that_is_not_there():
    broken = with_document(honest_gpu(), executable__hlo="0123456789abcdef.hlo.txt")
    assert "executable.hlo | 0123456789abcdef.hlo.txt" in only(broken)


def test_program_under_another_name():
    bundle = honest_gpu()
    case = bundle.cases[GUIDELINE]
    hlo = {name: text + "\n" for name, text in case.hlo.items()}
    broken = replace(bundle, cases=bundle.cases | {GUIDELINE: replace(case, hlo=hlo)})
    assert changed(broken) == {CODE: "fail"}
    assert next(iter(hlo)) in only(broken)


def test_other_telemetry_than_planned():
    broken = with_document(honest_gpu(), telemetry__source="none")
    assert "telemetry.source | none | nvml" in only(broken)


def test_claims_for_other_cases():
    bundle = honest_gpu()
    claims = replace(bundle.claims, cases=bundle.claims.cases[:1])
    broken = replace(bundle, claims=claims)
    assert changed(broken) == {CODE: "fail"}
    assert f"data/derived/results.json | no case {DECODE}" in only(broken)


def test_claims_for_other_runs():
    bundle = honest_gpu()
    first, second = bundle.claims.cases
    fewer = replace(first, runs=first.runs[1:])
    broken = replace(bundle, claims=replace(bundle.claims, cases=(fewer, second)))
    assert changed(broken) == {CODE: "fail"}
    assert "no claim for data/cases/guideline-bf16-nn/runs/" in only(broken)


def test_autotune_results_that_are_not_there():
    broken = with_document(honest_gpu(), executable__autotune="0123456789abcdef.autotune.txt")
    assert "executable.autotune | 0123456789abcdef.autotune.txt | null, or a file" in only(broken)


def test_autotune_results_under_another_name():
    bundle = honest_gpu()
    case = bundle.cases[GUIDELINE]
    autotune = {name: text + "\n" for name, text in case.autotune.items()}
    broken = replace(bundle, cases=bundle.cases | {GUIDELINE: replace(case, autotune=autotune)})
    assert changed(broken) == {CODE: "fail"}
    assert next(iter(autotune)) in only(broken)
