import numpy as np
import pytest

from bundles import (
    DECODE,
    GUIDELINE,
    changed,
    findings,
    honest_cpu,
    honest_gpu,
    honest_on_gpus,
    outcome,
    with_environment,
    with_kernels,
    without_trace,
)
from kit.trace import Table

CODE = "GK319"


def with_gap(bundle, gap_ns, share=1.0):
    """Each kernel of run 1, or a part of them, begins so long after the end of the one before."""

    def change(entry):
        trace, table = entry
        took = table["duration_ns"]
        there = table["start_ns"][1:] - (table["start_ns"] + took)[:-1]
        chosen = np.arange(len(there)) < share * len(there)
        gaps = np.where(chosen, gap_ns, there)
        starts = np.concatenate([[0], np.cumsum(took[:-1] + gaps)])
        return trace, Table(table.columns | {"start_ns": starts})

    return with_kernels(bundle, GUIDELINE, 1, change)


@pytest.mark.parametrize("bundle", honest_on_gpus())
def test_honest(bundle):
    assert outcome(CODE, bundle) == "pass"


def test_a_cpu_is_not_judged():
    assert outcome(CODE, honest_cpu()) == "not_applicable"


@pytest.mark.parametrize(("gap_ns", "wanted"), [(-250, "pass"), (-251, "fail")])
@pytest.mark.parametrize("division", ["open", "closed"])
def test_what_hopper_kernels_overlap_by_is_the_edge(division, gap_ns, wanted):
    bundle = with_gap(honest_gpu(division), gap_ns)
    assert changed(bundle) == ({CODE: "fail"} if wanted == "fail" else {})


@pytest.mark.parametrize(("share", "wanted"), [(0.4, "pass"), (0.6, "fail")])
def test_the_middle_of_the_kernels_decides(share, wanted):
    """H200 traces of decode hold single overlaps of 1.8 µs."""
    assert outcome(CODE, with_gap(honest_gpu(), -1800, share)) == wanted


def test_kernels_told_a_tenth_longer_overlap():
    def longer(entry):
        trace, table = entry
        took = (table["duration_ns"] * 1.1).astype(np.int64)
        return trace, Table(table.columns | {"duration_ns": took})

    (finding,) = findings(CODE, with_kernels(honest_gpu(), DECODE, 2, longer))
    assert finding.place.endswith("-02/kernels.csv: columns start_ns and duration_ns")


def test_an_unknown_devices_kernels_may_overlap():
    bundle = with_environment(with_gap(honest_gpu(), -2000), device__sm_count=131)
    assert outcome(CODE, bundle) == "pass"


def test_without_a_trace_nothing_is_proven():
    assert outcome(CODE, without_trace(honest_gpu(), GUIDELINE, 1)) == "unproven"
