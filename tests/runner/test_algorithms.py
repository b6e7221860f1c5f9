"""XLA's autotune results, and the same with another algorithm of the library chosen in them."""

import re
from itertools import islice
from pathlib import Path

import pytest

from kit.runner.algorithms import algorithm, others, with_algorithm

SUBMISSIONS = Path(__file__).parents[2] / "submissions/open/gemm-kit/h200-sxm"
CASES = SUBMISSIONS / "2026-11-30-formats/data/cases"


def recorded(case):
    """Results that XLA wrote on an H200."""
    return next((CASES / case).glob("*.autotune.txt")).read_text()


@pytest.mark.parametrize(
    ("case", "rank"),
    [("square_4096-e4m3-nt", 3), ("square_4096-fp16-nn", 0), ("square_4096-bf16-nn", 0)],
)
def test_the_rank_is_read_also_where_zero_is_left_out(case, rank):
    assert algorithm(recorded(case)) == rank


def test_only_the_rank_is_changed_and_can_be_changed_back():
    text = recorded("square_4096-e4m3-nt")
    changed = with_algorithm(text, 5)
    assert algorithm(changed) == 5
    assert changed.splitlines() != text.splitlines()
    assert [line for line in changed.splitlines() if "algorithm" not in line] == [
        line for line in text.splitlines() if "algorithm" not in line
    ]
    assert with_algorithm(changed, 3).splitlines() == text.splitlines()


def test_other_ranks_come_in_order_without_the_one_chosen():
    text = recorded("square_4096-e4m3-nt")
    assert [algorithm(other) for other in islice(others(text), 4)] == [0, 1, 2, 4]


def test_results_without_the_library_have_no_others():
    text = re.sub("CUBLASLT", "TRITON", recorded("square_4096-e4m3-nt"))
    assert algorithm(text) is None
    assert list(others(text)) == []
    assert with_algorithm(text, 3) == text


def test_two_products_that_chose_differently_have_no_others():
    text = recorded("square_4096-e4m3-nt") + recorded("square_4096-fp16-nn")
    assert list(others(text)) == []
