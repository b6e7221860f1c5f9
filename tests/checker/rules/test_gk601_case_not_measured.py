from dataclasses import replace

import pytest

from bundles import DECODE, GUIDELINE, findings, honest_cpu, honest_gpu, outcome

CODE = "GK601"


def failed(bundle, *cases, numbers=(1, 2, 3), status="out_of_memory"):
    """The bundle as if these runs of these cases had ended without memory."""
    changed = dict(bundle.cases)
    for name in cases:
        case = changed[name]
        runs = tuple(
            replace(run, status=status, reason="needs 9 GB, has 8 GB")
            if run.number in numbers
            else run
            for run in case.record.runs
        )
        kept = tuple(run for run in case.runs if run.document.number not in numbers)
        changed[name] = replace(case, record=replace(case.record, runs=runs), runs=kept)
    return replace(bundle, cases=changed)


@pytest.mark.parametrize("bundle", [honest_gpu(), honest_gpu("closed"), honest_cpu()])
def test_honest(bundle):
    assert outcome(CODE, bundle) == "pass"


@pytest.mark.parametrize(("division", "verdict"), [("open", "warn"), ("closed", "fail")])
def test_one_case(division, verdict):
    broken = failed(honest_gpu(division), DECODE)
    assert outcome(CODE, broken) == verdict
    (finding,) = findings(CODE, broken)
    assert finding.place == f"data/cases/{DECODE}/case.json"
    assert finding.found == "out_of_memory: needs 9 GB, has 8 GB"


def test_one_measured_run_is_enough():
    assert outcome(CODE, failed(honest_gpu("closed"), DECODE, numbers=(1, 3))) == "pass"


def test_no_case_at_all():
    assert outcome(CODE, failed(honest_gpu(), DECODE, GUIDELINE)) == "fail"


def test_no_folder():
    bundle = honest_gpu()
    broken = replace(bundle, cases={GUIDELINE: bundle.cases[GUIDELINE]})
    assert findings(CODE, broken)[0].found == "no attempt"


@pytest.mark.parametrize("numbers", [(2,), (1, 2, 3)])
def test_an_interrupted_run_is_not_for_the_open_division_either(numbers):
    broken = failed(honest_gpu(), DECODE, numbers=numbers, status="interrupted")
    assert outcome(CODE, broken) == "fail"
    (finding,) = findings(CODE, broken)
    assert finding.found == f"{len(numbers)} of 3 runs interrupted"


def test_where_every_case_was_interrupted_nothing_else_is_said():
    broken = failed(honest_gpu(), DECODE, GUIDELINE, numbers=(2,), status="interrupted")
    assert [finding.found for finding in findings(CODE, broken)] == ["1 of 3 runs interrupted"] * 2
