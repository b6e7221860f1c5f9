"""The operand buffers do not hold what the seed fills them with.

## What it checks
`buffers.csv` lists every set of A, then of B, then of D. A zero fill holds zeros alone. In a
uniform fill every bin and the zeros lie within the edition's standard deviations of what the cast
of a uniform draw gives, and no two buffers hold the same. Set 0 of an operand of up to 65,536
elements is recomputed from the seed and must agree in every count; with `--deep` every buffer is,
whatever its size. All runs of a case hold the same.

## Why it matters
Power, and so speed at a power limit, depends on the bits. Constant, repeated or truncated data look
like numbers and run fast.

## How to fix
Measure again with the kit's own fill.

## Clause
M20 (uniform fill), M21 (examine the tensors).

## Example
Passes: 8,388,000 of 134,217,728 values in the bin around 0.19.
Fails: a buffer of integers cast by truncation, where every element is zero.
"""

from collections.abc import Iterator
from functools import cache

import numpy as np

from kit.bundle.reader import Bundle
from kit.checker.rule import Finding, Unproven, rule
from kit.checker.runs import MeasuredRun, judge_runs
from kit.distribution import BufferStatistics, buffer_statistics, uniform_shares
from kit.fill import Operands, fill_seed
from kit.ruleset import Ruleset
from kit.trace import BINS, BUFFERS, Table
from kit.workload import Operand

_EXACT_ELEMENTS = 2**16
_MOST_ELEMENTS = 2**38
"""Elements of all sets that `--deep` recomputes: more than any GPU's memory holds."""
_OPERANDS: tuple[Operand, ...] = ("a", "b")
_BIN_NAMES = tuple(f"bin_{i}" for i in range(BINS))
_SMALL_COUNT = 6
"""Slack on top of the standard deviations, for expected counts near none, which are not normal."""


@rule("GK203", "buffer-contents-differ", clauses=("M20", "M21"), since="2026.1")
def check(bundle: Bundle, rules: Ruleset) -> Iterator[Finding]:
    """Compare every buffer with its law, small ones with the seed, and runs with each other."""
    first: dict[str, Table] = {}
    recompute = cache(buffer_statistics)  # all runs of a case are filled from one seed

    def judge(run: MeasuredRun) -> Iterator[Finding]:
        buffers = run.table(BUFFERS.file)
        sets = run.document.rotation.sets
        if not _is_ordered(buffers, sets):
            place = run.at("columns operand and set", BUFFERS.file)
            yield Finding(place, f"{len(buffers)} rows", f"{sets} sets of A, then of B, then of D")
            return
        fill = bundle.plan.test_type.fill
        seed = fill_seed(bundle.plan.seed, bundle.plan.submission.challenge, run.case.id)
        operands = Operands(run.case.workload, run.number_format, fill, seed)
        if fill == "zero":
            yield from _all_zero(run, buffers, sets)
        else:
            yield from _uniform(run, buffers, sets, rules)
        yield from _as_first(run, buffers, first.setdefault(run.case.id, buffers))
        for operand, count in _recomputed(run, sets, deep=bundle.auditor.deep):
            for buffer_set in range(count):
                wanted = recompute(operands, operand, buffer_set)
                row = _OPERANDS.index(operand) * sets + buffer_set
                yield from _exact(run, buffers, row, wanted)

    yield from judge_runs(bundle, judge)


def _is_ordered(buffers: Table, sets: int) -> bool:
    if len(buffers) != 3 * sets:
        return False
    rows = np.arange(3 * sets)
    return bool(
        (buffers["operand"] == rows // sets).all() and (buffers["set"] == rows % sets).all()
    )


def _row(run: MeasuredRun, row: int, sets: int) -> str:
    return run.at(f"row {row + 1} ({'ABD'[row // sets]}, set {row % sets})", BUFFERS.file)


def _all_zero(run: MeasuredRun, buffers: Table, sets: int) -> Iterator[Finding]:
    for row in range(2 * sets):
        elements = run.case.workload.elements(_OPERANDS[row // sets])
        found = (int(buffers["zeros"][row]), int(buffers["checksum"][row]))
        if found != (elements, 0):
            place = _row(run, row, sets)
            yield Finding(place, f"{found[0]} zeros, checksum {found[1]}", f"{elements} zeros")


def _uniform(run: MeasuredRun, buffers: Table, sets: int, rules: Ruleset) -> Iterator[Finding]:
    shares = uniform_shares(run.number_format)
    names = ("zeros", *_BIN_NAMES)
    share = np.array([shares.zero, *shares.bins])
    for number, operand in enumerate(_OPERANDS):
        elements = run.case.workload.elements(operand)
        rows = slice(number * sets, (number + 1) * sets)
        found = np.stack([buffers[name][rows] for name in names], axis=1)
        expected = elements * share
        allowed = rules.buffer_sigmas * np.sqrt(expected * (1 - share)) + _SMALL_COUNT
        for row, column in zip(*np.nonzero(np.abs(found - expected) > allowed), strict=True):
            yield Finding(
                f"{_row(run, number * sets + int(row), sets)}: {names[column]}",
                str(found[row, column]),
                f"{expected[column]:.0f} within {allowed[column]:.0f} for a uniform fill",
            )
        for row in np.flatnonzero(found[:, 1:].sum(axis=1) != elements):
            place = f"{_row(run, number * sets + int(row), sets)}: bins"
            yield Finding(place, f"{found[row, 1:].sum()} values", f"{elements} values in [-1, 1]")
    contents = np.stack([buffers[name][: 2 * sets] for name in ("checksum", *names)], axis=1)
    _, where = np.unique(contents, axis=0, return_index=True)
    for row in sorted(set(range(2 * sets)) - set(where.tolist())):
        place = f"{_row(run, row, sets)}: checksum and bins"
        yield Finding(place, "those of another buffer", "no two buffers alike")


def _recomputed(run: MeasuredRun, sets: int, *, deep: bool) -> Iterator[tuple[Operand, int]]:
    """Operands of which so many sets are recomputed from the seed."""
    elements = {operand: run.case.workload.elements(operand) for operand in _OPERANDS}
    if deep and sets * sum(elements.values()) > _MOST_ELEMENTS:
        raise Unproven("the buffers are larger than this kit recomputes")
    for operand in _OPERANDS:
        yield operand, sets if deep else int(elements[operand] <= _EXACT_ELEMENTS)


def _exact(
    run: MeasuredRun, buffers: Table, row: int, wanted: BufferStatistics
) -> Iterator[Finding]:
    names = ("zeros", "checksum", *_BIN_NAMES)
    required = (wanted.zeros, wanted.checksum, *wanted.bins)
    for name, right in zip(names, required, strict=True):
        value = int(buffers[name][row])
        if value != right:
            place = f"{_row(run, row, len(buffers) // 3)}: {name}"
            yield Finding(place, str(value), f"{right}, recomputed from the seed")


def _as_first(run: MeasuredRun, buffers: Table, first: Table) -> Iterator[Finding]:
    if len(buffers) != len(first):
        return
    for name in ("zeros", "checksum", *_BIN_NAMES):
        if not np.array_equal(buffers[name], first[name]):
            place = run.at(f"column {name}", BUFFERS.file)
            yield Finding(
                place, "other counts", "those of the case's first run: one seed fills all"
            )
            return
