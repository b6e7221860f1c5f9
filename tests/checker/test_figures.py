from dataclasses import replace

import pytest

from kit.checker.figures import duration, energy, figure_table
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
    assert [line.split("  ")[0] for line in lines[:3]] == [
        "case",
        "guideline-bf16-nn",
        "small-fp32-nn",
    ]
    for cell in (
        "3.1908 ms",
        "689.2",
        "0.28 %",
        "0.21 %",
        "1466 MHz",
        "691 W",
        "86.9 %",
        "1.004",
        "1.002 x A+B",
    ):
        assert cell in lines[1]
    assert lines[2].count("not available") == 6
    assert "0.03832" in lines[2]
    assert lines[3] == (
        "guideline-bf16-nn: 64.3 % of SOL at maximum clock, 69.7 % of the data sheet, "
        "2.206 J a GEMM, 996.9 GFLOP/s a watt"
    )
    assert lines[4:] == ["not measured: huge-bf16-nn: out_of_memory: needs 9 GB"]


def test_only_what_is_known_stands_beside_the_table():
    by_energy_alone = replace(
        FULL, sol_fraction_at_maximum_clock=None, datasheet_fraction=None,
        energy_per_gemm_j=0.0217, flops_per_s_per_watt=None,
    )  # fmt: skip
    assert list(figure_table([by_energy_alone]))[2:] == ["guideline-bf16-nn: 21.70 mJ a GEMM"]
    assert len(list(figure_table([BARE]))) == 2


@pytest.mark.parametrize(
    ("joules", "shown"),
    [(2.2056, "2.206 J"), (0.0217, "21.70 mJ"), (3.21e-5, "32.10 µJ"), (0.0, "0 µJ")],
)
def test_energy(joules, shown):
    assert energy(joules) == shown


def test_columns_stand_under_their_headings():
    heading, full, bare, *_ = figure_table([FULL, BARE])
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
        ("bf16", "unknown", False, "unknown"),
    ],
)
def test_what_ran_stands_beside_what_was_asked_for(number_format, executed, native, shown):
    case = replace(FULL, number_format=number_format, executed=executed, native=native)
    heading, line, *_ = figure_table([case])
    place = heading.index("runs as")
    assert line[place:].startswith(f"{shown}  ")


def test_only_failed_cases_need_no_table():
    assert list(figure_table([FAILED])) == ["not measured: huge-bf16-nn: out_of_memory: needs 9 GB"]


@pytest.mark.parametrize(
    ("ns", "shown"),
    [
        (None, "not available"),
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
