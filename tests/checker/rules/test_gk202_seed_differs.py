import pytest

from bundles import (
    DECODE,
    GUIDELINE,
    PLAIN,
    changed,
    findings,
    honest_cpu,
    honest_gpu,
    outcome,
    with_field,
    with_plan,
)

CODE = "GK202"


@pytest.mark.parametrize("name", ["fill_seed", "sample_seed"])
@pytest.mark.parametrize(("honest", "case"), [(honest_gpu, DECODE), (honest_cpu, PLAIN)])
def test_one_seed_of_one_run_fails_alone_and_is_named(honest, case, name):
    bundle = with_field(honest(), case, 2, name, "0123456789abcdef")
    assert changed(bundle) == {CODE: "fail"}
    (finding,) = findings(CODE, bundle)
    assert finding.place.endswith(f"-02/run.json: {name}")
    assert case in finding.place
    assert finding.found == "0123456789abcdef"


def test_another_runs_sample_seed_fails():
    other = honest_gpu().cases[GUIDELINE].runs[0].document.sample_seed
    assert changed(with_field(honest_gpu(), GUIDELINE, 3, "sample_seed", other)) == {CODE: "fail"}


@pytest.mark.parametrize(
    "change", [{"seed": 1}, {"submission__challenge": "00112233445566778899aabbccddeeff"}]
)
def test_a_plan_with_another_seed_or_challenge_disowns_every_run(change):
    bundle = with_plan(honest_gpu(), **change)
    assert outcome(CODE, bundle) == "fail"
    assert len(findings(CODE, bundle)) == 12
