import re

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
    in_every_run,
    outcome,
    result,
    with_kernels,
    without_trace,
)
from kit.evidence import no_trace
from kit.trace import Table

CODE = "GK313"


def spread(bundle, case, number, gap_ns, *, every=1):
    """A gap that is `gap_ns` longer before each `every`-th kernel."""

    def edit(held):
        trace, table = held
        longer = np.arange(len(table)) // every * gap_ns
        return trace, Table(table.columns | {"start_ns": table["start_ns"] + longer})

    return with_kernels(bundle, case, number, edit)


@pytest.mark.parametrize("bundle", honest_on_gpus())
def test_honest(bundle):
    assert outcome(CODE, bundle) == "pass"


@pytest.mark.parametrize(("division", "severity"), [("open", "warn"), ("closed", "fail")])
def test_a_microsecond_and_a_half_before_each_kernel_is_too_large_a_share(division, severity):
    bundle = spread(honest_gpu(division), DECODE, 2, 1_500)
    assert changed(bundle) == {CODE: severity}
    (finding,) = findings(CODE, bundle)
    assert finding.place.endswith("-02/kernels.csv: share of gaps")
    assert re.match(r"4\.\d\d% of the time, 16", finding.found)


def test_gaps_that_a_gpu_itself_needs_may_take_any_share():
    """As an H200 showed it for 128 cubed: 128 ns after 2.2 µs."""

    def short(held):
        trace, table = held
        rows = np.arange(len(table))
        columns = {
            "name": np.zeros_like(rows),
            "start_ns": rows * 2_368,
            "duration_ns": np.full_like(rows, 2_240),
        }
        return trace, Table(columns)

    assert outcome(CODE, with_kernels(honest_gpu(), DECODE, 1, short)) == "pass"


def test_a_wide_median_is_named_also_where_it_is_no_large_share():
    (finding,) = findings(CODE, spread(honest_gpu(), GUIDELINE, 1, 5_000))
    assert finding.place.endswith("-01/kernels.csv: median gap")
    assert finding.required == "at most 5000 ns"


def test_a_wide_99th_percentile():
    (finding,) = findings(CODE, spread(honest_gpu(), GUIDELINE, 3, 60_000, every=10))
    assert finding.place.endswith("-03/kernels.csv: 99th percentile of gaps")
    assert finding.required == "at most 20000 ns"


def test_one_interruption_is_the_profilers():
    assert outcome(CODE, spread(honest_gpu(), DECODE, 1, 300_000, every=100)) == "pass"


@pytest.mark.parametrize("code", ["GK313", "GK314", "GK315", "GK606"])
def test_without_a_trace_nothing_is_proven(code):
    asked = no_trace("not_asked", "evidence.kernel_trace is false in the plan")
    found = result(code, without_trace(honest_gpu(), DECODE, 2, asked))
    assert found.outcome == "unproven"
    assert found.reason.endswith("-02: no kernel trace: not_asked: " + asked.reason)
    found = result(code, in_every_run(honest_gpu(), without_trace))
    assert "trace.json is missing" in found.reason
    assert "and " in found.reason


@pytest.mark.parametrize("code", ["GK313", "GK314", "GK315", "GK606"])
def test_a_cpu_bundle_is_not_concerned(code):
    assert outcome(code, honest_cpu()) == "not_applicable"
