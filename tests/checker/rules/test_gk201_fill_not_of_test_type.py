import pytest

from bundles import findings, fixed_frequency, honest_cpu, honest_gpu, outcome, with_plan

CODE = "GK201"


@pytest.mark.parametrize("bundle", [honest_gpu(), honest_cpu(), fixed_frequency()])
def test_the_fill_of_each_test_type_passes(bundle):
    assert outcome(CODE, bundle) == "pass"


@pytest.mark.parametrize(
    ("honest", "fill", "wanted"),
    [(honest_gpu, "zero", "uniform"), (fixed_frequency, "uniform", "zero")],
)
def test_the_other_fill_fails_closed_and_warns_open(honest, fill, wanted):
    for division, severity in (("closed", "fail"), ("open", "warn")):
        bundle = with_plan(honest(division), test_type__fill=fill)
        (finding,) = findings(CODE, bundle)
        assert finding.place == "data/plan.json: test_type.fill"
        assert (finding.found, finding.severity) == (fill, severity)
        assert finding.required.startswith(wanted)
