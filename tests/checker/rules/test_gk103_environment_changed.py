import pytest

from bundles import (
    GUIDELINE,
    changed,
    findings,
    honest_cpu,
    honest_gpu,
    outcome,
    with_environment,
    with_field,
)

CODE = "GK103"


@pytest.mark.parametrize("bundle", [honest_gpu(), honest_gpu("closed"), honest_cpu()])
def test_honest(bundle):
    assert outcome(CODE, bundle) == "pass"


def test_one_run_saw_another_environment():
    broken = with_field(honest_gpu(), GUIDELINE, 3, "environment_sha256", "ab" * 32)
    assert changed(broken) == {CODE: "fail"}
    (finding,) = findings(CODE, broken)
    assert finding.place.endswith("-03/run.json: environment_sha256")


def test_the_document_was_edited():
    broken = with_environment(honest_cpu(), noticed=False, kernel="Linux 6.9.9")
    assert changed(broken) == {CODE: "fail"}
    assert len(findings(CODE, broken)) == 4


def test_devices_do_not_count():
    assert (
        outcome(CODE, with_environment(honest_gpu(), noticed=False, device__pcie_width=8)) == "pass"
    )
