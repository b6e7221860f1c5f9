import pytest

from bundles import findings, honest_cpu, honest_gpu, outcome, with_plan

CODE = "GK603"


def test_honest():
    assert outcome(CODE, honest_gpu("closed")) == "pass"
    assert outcome(CODE, honest_gpu()) == "not_applicable"
    assert outcome(CODE, honest_cpu()) == "not_applicable"


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("backend__platform", "cpu"),
        ("timing__method", "host_clock"),
        ("timing__method", "external_profiler"),
        ("telemetry__source", "none"),
        ("telemetry__source", "host"),
    ],
)
def test_closed_without_its_evidence(field, value):
    broken = with_plan(honest_gpu("closed"), **{field: value})
    assert outcome(CODE, broken) == "fail"
    (finding,) = findings(CODE, broken)
    assert finding.place == f"data/plan.json: {field.replace('__', '.')}"
    assert finding.found == value
