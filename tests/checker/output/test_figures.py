import re
from dataclasses import replace

import pytest

from kit.checker.output.figures import duration, energy, figure_table
from kit.checker.verdict import CaseFigures

FULL = CaseFigures("guideline-bf16-nn", "bf16", "bf16", True, 3, 3.1908e6, 689.17e12, 0.0028,
                   0.0021, 1466.2, 691_400.0, 0.8691, 1.0042, 1.0024, 0.6433, 0.6966, 2.2058,
                   996.9e9, "")  # fmt: skip
BARE = CaseFigures("small-fp32-nn", "fp32", "fp32", True, 1, 41_041.0, 38.32e9, 0.001,
                   *[None] * 10, "")  # fmt: skip
FAILED = CaseFigures("huge-bf16-nn", "bf16", None, None, 0, *[None] * 13,
                     "out_of_memory: needs 9 GB")  # fmt: skip


def test_table():
    lines = list(figure_table([FULL, BARE, FAILED]))
    assert lines[1] == "case guideline-bf16-nn: bf16, native, 3 runs"
    assert re.split(" {2,}", lines[2]) == [
        "3.1908 ms", "689.2", "86.9 %", "0.28 %", "0.21 %", "1466", "691", "1.004", "1.002",
    ]  # fmt: skip
    assert lines[3:5] == [
        "  64.3 % of SOL at maximum clock, 69.7 % of the data sheet, 2.206 J a GEMM,",
        "  996.9 GFLOP/s a watt",
    ]
    assert lines[5] == "case small-fp32-nn: fp32, native, 1 run"
    assert lines[6].split() == ["41.041", "µs", "0.03832", "-", "0.10", "%", *["-"] * 5]
    assert lines[7:] == [
        "DRAM: bytes read from it over those of A and B",
        "not measured: huge-bf16-nn: out_of_memory: needs 9 GB",
    ]


def test_a_verdict_fits_a_terminal():
    """A verdict's text is indented by two."""
    longest = replace(FULL, id="guideline_8192x8192x16384-e5m2_e4m3_f32-nt")
    for line in figure_table([FULL, BARE, longest]):
        assert len(line) <= 78


def test_only_what_is_known_stands_beside_the_table():
    by_energy_alone = replace(
        FULL, sol_fraction_at_maximum_clock=None, datasheet_fraction=None, dram_read_ratio=None,
        energy_per_gemm_j=0.0217, flops_per_s_per_watt=None,
    )  # fmt: skip
    assert list(figure_table([by_energy_alone]))[3:] == ["  21.70 mJ a GEMM"]
    assert len(list(figure_table([BARE]))) == 3


@pytest.mark.parametrize(
    ("joules", "shown"),
    [(2.2056, "2.206 J"), (0.0217, "21.70 mJ"), (3.21e-5, "32.10 µJ"), (0.0, "0 µJ")],
)
def test_energy(joules, shown):
    assert energy(joules) == shown


def test_columns_stand_under_their_headings():
    heading, _, full, _, _, _, bare, *_ = figure_table([FULL, BARE])
    for word, cell in (("mean time", "3.1908 ms"), ("of SOL", "86.9 %")):
        assert heading.index(word) + len(word) == full.index(cell) + len(cell)
    assert len(heading) == len(full) == len(bare)


@pytest.mark.parametrize(
    ("number_format", "executed", "native", "shown"),
    [
        ("e4m3", "fp8", True, "native"),
        ("e5m2_e4m3", "bf16", False, "emulated (bf16)"),
        ("mxfp8", "fp32", False, "emulated (fp32)"),
        ("e4m3", "fp8", False, "not native (other work)"),
        ("bf16", "unknown", False, "executed unknown"),
    ],
)
def test_what_ran_stands_beside_what_was_asked_for(number_format, executed, native, shown):
    case = replace(FULL, number_format=number_format, executed=executed, native=native)
    _, line, *_ = figure_table([case])
    assert line == f"case guideline-bf16-nn: {number_format}, {shown}, 3 runs"


def test_only_failed_cases_need_no_table():
    assert list(figure_table([FAILED])) == ["not measured: huge-bf16-nn: out_of_memory: needs 9 GB"]


@pytest.mark.parametrize(
    ("ns", "shown"),
    [
        (None, "-"),
        (2.72, "2.7200 ns"),
        (2720.0, "2.7200 µs"),
        (208_062.4, "208.06 µs"),
        (3_190_800.0, "3.1908 ms"),
        (1e9, "1.0000 s"),
        (123_456e9, "123456 s"),
    ],
)
def test_duration(ns, shown):
    assert duration(ns) == shown
