"""Kernels by what they do: of traces as H200s gave them, and of a few rows worked out by hand."""

from dataclasses import replace

import numpy as np
import pytest

from honest_kernels import ADD, COPY, GEMM, MEMSET, kernels
from kit.evidence import no_trace
from kit.kernels import figures, kernel_figures
from kit.trace import Table


def rows(*entries):
    """(names, table) of (name, start_ns, duration_ns) rows."""
    names = list(dict.fromkeys(name for name, _, _ in entries))
    values = [(names.index(name), start, took) for name, start, took in entries]
    columns = np.array(values, np.int64).T
    return tuple(names), Table(dict(zip(("name", "start_ns", "duration_ns"), columns, strict=True)))


def repeated(count, period, *pattern):
    """The pattern of (name, start_ns, duration_ns) rows, `count` times."""
    return rows(
        *((name, i * period + at, took) for i in range(count) for name, at, took in pattern)
    )


def test_plain_gemms():
    found = figures(*repeated(100, 3_000, ("nvjet", 0, 2_850)))
    assert (found.gemm_name, found.gemms, found.kernels_per_gemm) == ("nvjet", 100, 1)
    assert (found.helpers, found.auxiliary, found.auxiliary_share) == ((), (), 0)
    assert found.kernel_ns == 2_850
    assert (found.gap_median_ns, found.gap_p99_ns, found.gap_mean_ns) == (150, 150, 150)
    assert found.gap_share == pytest.approx(98 * 150 / (98 * 150 + 100 * 2_850))


def test_helpers_run_once_or_more_with_every_gemm_and_count_into_its_time():
    found = figures(
        *repeated(
            10,
            20_000,
            ("Memset 0", 0, 800),
            ("nvjet_splitK", 1_000, 11_000),
            ("void cublasLt::splitKreduce_kernel<32, 16>", 12_100, 1_600),
            ("void cublasLt::splitKreduce_kernel<32, 16>", 13_800, 400),
        )
    )
    assert found.gemm_name == "nvjet_splitK"
    assert found.helpers == ("Memset 0", "void cublasLt::splitKreduce_kernel<32, 16>")
    assert (found.kernels_per_gemm, found.is_steady) == (4, True)
    assert found.kernel_ns == 800 + 11_000 + 1_600 + 400
    assert found.auxiliary == ()


@pytest.mark.parametrize(
    "name", ["loop_transpose_fusion", "wrapped_convert", "MemcpyD2D", "input_transpose_fusion_1"]
)
@pytest.mark.parametrize("took", [300, 4_000])
def test_what_the_compiler_adds_is_no_helper_and_no_gemm_however_long(name, took):
    found = figures(*repeated(10, 10_000, (name, 0, took), ("nvjet", took, 3_000)))
    assert (found.gemm_name, found.helpers) == ("nvjet", ())
    (entry,) = found.auxiliary
    assert (entry.name, entry.count) == (name, 10)
    assert found.auxiliary_share == entry.share == took / (took + 3_000)


def test_a_triton_gemm_with_its_reduction():
    pattern = (("gemm_fusion_dot", 0, 2_208), ("loop_reduce_fusion_127", 2_300, 1_408))
    found = figures(*repeated(10, 4_000, *pattern))
    assert (found.gemm_name, found.helpers) == ("gemm_fusion_dot", ("loop_reduce_fusion_127",))
    assert found.kernel_ns == 3_616


def test_only_compiler_kernels_leave_the_longest():
    assert figures(*rows(("copy", 0, 1), ("fusion", 1, 5))).gemm_name == "fusion"


def test_a_device_loop_names_its_own_work():
    trace, table = kernels(5_800, 2, 480, 1, sets=30)
    found = figures(trace.names, table)
    assert (found.gemm_name, found.gemms) == (GEMM, 960)
    assert {entry.name: entry.count for entry in found.auxiliary} == {COPY: 2, ADD: 32}
    assert found.auxiliary_share < 0.01
    assert 96 <= found.gap_median_ns <= 160
    assert found.kernel_ns == pytest.approx(5_670, rel=0.005)


def test_a_memset_before_each_single_launch():
    trace, table = kernels(203_000, 100, 1, 1)
    found = figures(trace.names, table)
    assert found.helpers == (MEMSET,)
    assert found.kernel_ns == pytest.approx(203_000 - 1_700 - 128, rel=0.001)


def test_overlapping_kernels_count_once_for_the_earlier():
    found = figures(*repeated(10, 1_000, ("a", 0, 1_200)))
    assert found.kernel_ns == 1_000
    assert found.gap_median_ns == -200
    assert (found.gap_share, found.gap_mean_ns) == (0, 0)


def test_a_kernel_inside_another_takes_no_time_of_its_own():
    found = figures(*rows(("a", 0, 1_000), ("loop_fusion", 100, 50), ("a", 1_100, 1_000)))
    assert found.auxiliary_share == 0
    assert found.gap_p99_ns == -900


def test_one_long_interruption_is_left_out_of_the_share():
    names, table = repeated(200, 1_000, ("a", 0, 1_000))
    later = np.where(np.arange(200) >= 100, 300_000, 0)
    found = figures(names, Table(table.columns | {"start_ns": table["start_ns"] + later}))
    assert (found.gap_p99_ns, found.gap_share) == (0, 0)


def test_helpers_that_come_in_heaps_are_not_steady():
    entries = [("Memset", i, 1) for i in range(4)] + [("a", 10 + i * 100, 90) for i in range(4)]
    assert not figures(*rows(*entries)).is_steady


def test_one_kernel():
    found = figures(*rows(("a", 0, 5)))
    assert (found.kernel_ns, found.gap_median_ns, found.gap_p99_ns, found.gap_share) == (5, 0, 0, 0)


def test_no_figures_without_a_whole_trace():
    trace, table = kernels(3_000, 2, 2, 1)
    tables = {"kernels.csv": table}
    assert kernel_figures(trace, tables).gemms == 4
    assert kernel_figures(None, tables) is None
    assert kernel_figures(trace, {}) is None
    assert kernel_figures(no_trace("failed", "crashed"), tables) is None
    assert kernel_figures(replace(trace, names=()), tables) is None


def test_figures_are_derived_once_for_a_table_and_its_names():
    names, table = repeated(10, 3_000, ("nvjet", 0, 2_850))
    found = figures(names, table)
    assert figures(names, table) is found
    assert figures(("other",), table).gemm_name == "other"
    assert figures(names, Table(table.columns)) is not found
    assert figures(names, Table(table.columns)) == found


@pytest.mark.parametrize("seed", range(200))
def test_figures_of_any_rows_are_those_of_their_definitions(seed):
    draw = np.random.default_rng(seed)
    count = int(draw.integers(1, 40))
    times = zip(draw.integers(0, 60, count).cumsum(), draw.integers(1, 90, count), strict=True)
    pattern = draw.choice(["gemm_a", "helper_b", "loop_add_fusion"], draw.integers(1, 4))
    entries = [
        (str(pattern[i % len(pattern)] if draw.random() < 0.97 else "helper_b"), start, took)
        for i, (start, took) in enumerate(times)
    ]
    names, table = rows(*entries)
    found = figures(names, table)
    start_ns, end_ns = table["start_ns"], table["start_ns"] + table["duration_ns"]
    before_ns = np.maximum.accumulate(end_ns)[:-1]
    gaps_ns, overlaps_ns = start_ns[1:] - before_ns, end_ns[:-1] - start_ns[1:]
    assert found.gap_median_ns == (np.median(gaps_ns) if count > 1 else 0)
    assert found.overlap_median_ns == (np.median(overlaps_ns) if count > 1 else 0)
    own_ns = end_ns - np.maximum(start_ns, np.concatenate([start_ns[:1], before_ns]))
    own_ns = np.maximum(own_ns, 0)
    of_gemm = np.flatnonzero([names[i] == found.gemm_name for i in table["name"]])
    each_ns, steady = own_ns[of_gemm].copy(), True
    for helper in found.helpers:
        places = np.flatnonzero([names[i] == helper for i in table["name"]])
        each_ns += own_ns[places].reshape(found.gemms, -1).sum(axis=1)
        between = np.bincount(np.searchsorted(of_gemm, places), minlength=found.gemms + 1)[1:-1]
        steady = steady and set(between) <= {len(places) // found.gemms}
    assert (found.kernel_ns, found.is_steady) == (np.median(each_ns), steady)
