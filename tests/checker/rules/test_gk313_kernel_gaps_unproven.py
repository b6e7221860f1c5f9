import pytest

from bundles import fixed_frequency, honest_cpu, honest_gpu, result

CODE = "GK313"


@pytest.mark.parametrize("bundle", [honest_gpu(), honest_gpu("closed"), fixed_frequency()])
def test_a_gpu_bundle_says_that_it_holds_no_kernel_trace(bundle):
    found = result(CODE, bundle)
    assert (found.outcome, found.reason) == ("unproven", "the bundle holds no kernel trace")


def test_a_cpu_bundle_is_not_concerned():
    assert result(CODE, honest_cpu()).outcome == "not_applicable"
