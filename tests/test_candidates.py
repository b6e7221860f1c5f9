"""Which candidate is measured."""

from dataclasses import replace

from kit.candidates import choose
from kit.evidence import Candidate

LIBRARY = Candidate(1, "library", "single", "a", {"__cublas$lt$matmul": 1}, {}, 12_500.0, "")
TRITON = Candidate(1, "triton", "single", "b", {"fusion": 1}, {}, 10_800.0, "")


def test_the_fastest_is_chosen():
    assert choose([LIBRARY, TRITON]) is TRITON
    assert choose([LIBRARY, replace(TRITON, period_ns=13_000.0)]) is LIBRARY


def test_a_faster_one_with_extra_work_is_not():
    dirty = replace(TRITON, extra={"reduce": 1})
    assert choose([LIBRARY, dirty]) is LIBRARY


def test_an_unclean_one_is_chosen_where_there_is_no_clean_one():
    dirty = replace(TRITON, extra={"convert": 2})
    assert choose([dirty]) is dirty
    failed = replace(LIBRARY, period_ns=None, reason="XlaRuntimeError: no algorithm")
    assert choose([failed, dirty]) is dirty


def test_nothing_timed_is_nothing_chosen():
    assert choose([replace(LIBRARY, period_ns=None)]) is None
    assert choose([]) is None
