from dataclasses import replace

import numpy as np
import pytest

from bundles import (
    DECODE,
    GUIDELINE,
    changed,
    device_loop,
    findings,
    honest_gpu,
    honest_on_gpus,
    outcome,
    with_kernels,
)
from honest_kernels import GEMM, MEMSET
from kit.trace import Table

CODE = "GK314"


def rows_of(bundle, case, number, keep):
    """Only some kernels of a run, and the counts that a tracer would have drawn from them."""

    def edit(held):
        trace, table = held
        left = table.rows(keep(trace, table))
        gemms = int(np.sum(left["name"] == trace.names.index(GEMM)))
        return replace(trace, launches=gemms), left

    return with_kernels(bundle, case, number, edit)


def with_kernel(bundle, case, number, name, took_ns):
    """A kernel of that name right after each GEMM; what follows moves back by as much."""

    def edit(held):
        trace, table = held
        gemms = table["name"] == trace.names.index(GEMM)
        later = took_ns * np.cumsum(gemms)
        starts = table["start_ns"] + np.concatenate([[0], later[:-1]])
        ends = (starts + table["duration_ns"])[gemms]
        columns = {
            "name": np.concatenate([table["name"], np.full(len(ends), len(trace.names))]),
            "start_ns": np.concatenate([starts, ends]),
            "duration_ns": np.concatenate([table["duration_ns"], np.full(len(ends), took_ns)]),
        }
        order = np.argsort(columns["start_ns"], kind="stable")
        table = Table({key: values[order] for key, values in columns.items()})
        return replace(trace, names=(*trace.names, name)), table

    return with_kernels(bundle, case, number, edit)


@pytest.mark.parametrize("bundle", honest_on_gpus())
def test_honest(bundle):
    assert outcome(CODE, bundle) == "pass"


@pytest.mark.parametrize("division", ["open", "closed"])
def test_products_that_never_ran_always_fail(division):
    def every_second(trace, table):
        gemms = np.flatnonzero(table["name"] == trace.names.index(GEMM))
        return ~np.isin(np.arange(len(table)), gemms[1::2])

    bundle = rows_of(device_loop(division), DECODE, 1, every_second)
    finding = findings(CODE, bundle)[0]
    assert finding.place.endswith(f"-01/kernels.csv: kernel {GEMM}")
    assert (finding.found, finding.required) == ("64 times", "128 times, once for each product")
    assert finding.severity == "fail"


def test_one_product_too_many_fails():
    def claimed(held):
        trace, table = held
        return replace(trace, calls=trace.calls - 1), table

    bundle = with_kernels(honest_gpu(), GUIDELINE, 1, claimed)
    assert changed(bundle) == {CODE: "fail"}
    (finding,) = findings(CODE, bundle)
    assert (finding.found, finding.required) == ("128 times", "127 times, once for each product")


@pytest.mark.parametrize(("division", "severity"), [("open", "warn"), ("closed", "fail")])
def test_a_hidden_transpose_is_named_with_its_share(division, severity):
    bundle = with_kernel(honest_gpu(division), DECODE, 3, "loop_transpose_fusion", 600)
    assert changed(bundle) == {CODE: severity}
    (finding,) = findings(CODE, bundle)
    assert finding.place.endswith("-03/kernels.csv: other kernels")
    assert finding.found == "128 loop_transpose_fusion (1.79%)"


def test_little_auxiliary_work_is_within_the_limit():
    bundle = with_kernel(honest_gpu(), DECODE, 3, "loop_add_fusion", 300)
    assert outcome(CODE, bundle) == "pass"


@pytest.mark.parametrize(
    ("field", "value", "found"),
    [("launches", 127, "127"), ("gemm_name", MEMSET, MEMSET), ("gemm_name", None, "None")],
)
def test_the_document_must_say_what_the_rows_show(field, value, found):
    def claimed(held):
        trace, table = held
        return replace(trace, **{field: value}), table

    bundle = with_kernels(honest_gpu(), GUIDELINE, 2, claimed)
    assert changed(bundle) == {CODE: "fail"}
    (finding,) = findings(CODE, bundle)
    assert finding.place.endswith(f"-02/trace.json: {field}")
    assert finding.found == found


def test_a_trace_that_is_too_short():
    def first(trace, table):
        return np.arange(len(table)) < 2 * 99

    bundle = rows_of(honest_gpu(), GUIDELINE, 1, first)

    def counted(held):
        trace, table = held
        return replace(trace, calls=99), table

    bundle = with_kernels(bundle, GUIDELINE, 1, counted)
    assert changed(bundle) == {CODE: "warn"}
    (finding,) = findings(CODE, bundle)
    assert finding.place.endswith("-01/trace.json: calls")
    assert (finding.found, finding.required) == ("99 GEMMs", "at least 100")


def test_helpers_in_heaps():
    def swapped(held):
        trace, table = held
        names = table["name"].copy()
        names[[1, 2]] = names[[2, 1]]
        return trace, Table(table.columns | {"name": names})

    bundle = with_kernels(honest_gpu(), GUIDELINE, 1, swapped)
    found = findings(CODE, bundle)
    assert [finding.found for finding in found] == [f"{MEMSET} unevenly between"]
    assert found[0].required == "2 kernels from each GEMM to the next"
