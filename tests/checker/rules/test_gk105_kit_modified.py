import pytest

from bundles import changed, findings, honest_cpu, honest_gpu, outcome, with_environment

CODE = "GK105"


@pytest.mark.parametrize("bundle", [honest_gpu(), honest_gpu("closed"), honest_cpu()])
def test_honest(bundle):
    assert outcome(CODE, bundle) == "pass"


@pytest.mark.parametrize(("division", "verdict"), [("open", "warn"), ("closed", "fail")])
def test_unclean_checkout(division, verdict):
    broken = with_environment(honest_gpu(division), kit__clean=False)
    assert changed(broken) == {CODE: verdict}
    (finding,) = findings(CODE, broken)
    assert "5c1d" in finding.found
