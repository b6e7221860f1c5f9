"""Answers that are kept in what they are about."""

import weakref
from dataclasses import replace

import numpy as np
import pytest

from bundles import honest_cpu
from kit.remembered import remembered
from kit.trace import Table


def table(*t_ns):
    return Table({"t_ns": np.array(t_ns)})


def test_each_question_is_answered_once_a_subject():
    asked = []

    @remembered
    def total(table, add):
        asked.append(add)
        return int(table["t_ns"].sum()) + add

    one, other = table(1, 2), table(3, 4)
    found = [total(subject, add) for subject in (one, other, one) for add in (0, 1)]
    assert found == [3, 4, 7, 8, 3, 4]
    assert asked == [0, 1, 0, 1]


def test_functions_do_not_answer_for_each_other():
    first, last = (remembered(lambda table, n=n: int(table["t_ns"][n])) for n in (0, -1))
    subject = table(5, 7)
    assert (first(subject), last(subject), first(subject)) == (5, 7, 5)


class Answer:
    """Something that a weak reference can point to."""


@pytest.mark.parametrize("subject", [lambda: table(1), lambda: replace(honest_cpu())])
def test_an_answer_goes_with_its_subject(subject):
    derive = remembered(lambda _: Answer())
    about = subject()
    kept = weakref.ref(derive(about))
    assert kept() is derive(about)
    del about
    assert kept() is None
