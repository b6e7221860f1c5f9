import pytest

from kit.checker.figures import duration, figure_table
from kit.checker.verdict import CaseFigures

FULL = CaseFigures("guideline-bf16-nn", "bf16", 3, 3.1908e6, 689.17e12, 0.0028, 0.0021, 1466.2,
                   691_400.0, 0.8691, 1.0042, 1.0024, "")  # fmt: skip
BARE = CaseFigures("small-fp32-nn", "fp32", 1, 41_041.0, 38.32e9, 0.001, None, None, None, None,
                   None, None, "")  # fmt: skip
FAILED = CaseFigures("huge-bf16-nn", "bf16", 0, None, None, None, None, None, None, None,
                     None, None, "out_of_memory: needs 9 GB")  # fmt: skip


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
    assert lines[3] == "not measured: huge-bf16-nn: out_of_memory: needs 9 GB"


def test_columns_stand_under_their_headings():
    heading, full, bare, *_ = figure_table([FULL, BARE])
    for word, cell in (("mean time", "3.1908 ms"), ("of SOL", "86.9 %")):
        assert heading.index(word) + len(word) == full.index(cell) + len(cell)
    assert len(heading) == len(full) == len(bare)


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
