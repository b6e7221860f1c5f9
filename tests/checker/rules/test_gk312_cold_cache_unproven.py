import pytest

from bundles import fixed_frequency, honest_cpu, honest_gpu, result

CODE = "GK312"


@pytest.mark.parametrize("bundle", [honest_gpu(), honest_gpu("closed"), fixed_frequency()])
def test_a_gpu_bundle_says_that_only_the_footprint_is_known(bundle):
    found = result(CODE, bundle)
    assert found.outcome == "unproven"
    assert found.reason.startswith("footprint rule only")


def test_a_cpu_bundle_is_not_concerned():
    assert result(CODE, honest_cpu()).outcome == "not_applicable"
