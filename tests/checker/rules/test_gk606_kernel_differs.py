from dataclasses import replace

import pytest

from bundles import (
    DECODE,
    GUIDELINE,
    changed,
    findings,
    honest_gpu,
    honest_on_gpus,
    outcome,
    with_kernels,
)
from honest_kernels import GEMM

CODE = "GK606"
OTHER = "nvjet_sm90_tst_128x128_64x6_2x1_v_bz_NNT"


def other_kernel(bundle, case, number):
    def edit(held):
        trace, table = held
        names = tuple(OTHER if name == GEMM else name for name in trace.names)
        return replace(trace, names=names, gemm_name=OTHER), table

    return with_kernels(bundle, case, number, edit)


@pytest.mark.parametrize("bundle", honest_on_gpus())
def test_honest(bundle):
    assert outcome(CODE, bundle) == "pass"


@pytest.mark.parametrize(("division", "severity"), [("open", "warn"), ("closed", "fail")])
def test_another_tile_in_one_replicate(division, severity):
    bundle = other_kernel(honest_gpu(division), DECODE, 2)
    assert changed(bundle) == {CODE: severity}
    (finding,) = findings(CODE, bundle)
    assert finding.place.startswith(f"data/cases/{DECODE}/case.json: ")
    assert finding.place.endswith("-02")
    assert finding.found == OTHER
    assert finding.required.startswith(f"{GEMM}, as data/cases/{DECODE}/runs/")


def test_cases_may_use_kernels_of_their_own():
    bundle = honest_gpu()
    for number in (1, 2, 3):
        bundle = other_kernel(bundle, GUIDELINE, number)
    assert changed(bundle) == {"GK312": "fail"}  # which counted the kernel that it was
