"""The input buffers do not hold what the seed fills them with.

## What it checks
`buffers.csv` lists every set of A, then of B, of D, and of the scales of A and B where the format
has some. A zero fill holds zeros alone, and scales of one. In a uniform fill every bin and the
zeros lie within the edition's standard deviations of what the cast of a uniform draw gives, on
[-1, 1] for A and B and on [0, 1] for scales. Two buffers hold the same only where they are so small
that the seed makes them alike by chance; up to 1,024 elements that is recomputed. Set 0 of an input
of up to 65,536 elements is recomputed too and must agree in every count; with `--deep` every buffer
is, unless the buffers of all cases together hold more than 2^35 elements, eleven times those of the
largest committed bundle, or a run's take more than its device's memory: then the rule is unproven.
All runs of a case hold the same.

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

from collections.abc import Callable, Iterator
from functools import cache
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from kit.bundle.reader import Bundle
from kit.checker.rule import Finding, Unproven, rule
from kit.checker.runs import MeasuredRun, judge_runs, measured_runs
from kit.distribution import (
    BufferStatistics,
    buffer_statistics,
    statistics,
    uniform_shares,
)
from kit.fill import Operands, fill_seed
from kit.ruleset import Ruleset
from kit.surfaces import SURFACES, TITLES, Input, byte_size, elements, inputs, surfaces
from kit.trace import BINS, BUFFERS, Table

_EXACT_ELEMENTS = 2**16
_FEW_ELEMENTS, _MOST_ALIKE = 2**10, 2**14
"""Buffers that may be alike by chance, and how many of them a run is recomputed for: a second."""
_MOST_ELEMENTS = 2**35
"""Elements of all cases and sets that `--deep` recomputes: a quarter of an hour at 40 million a
second. The fourteen formats at 4096 cubed on an H200 have 3,005 million."""
_NAMES = ("zeros", *(f"bin_{i}" for i in range(BINS)), "checksum")

Contents = NDArray[np.int64]
"""The columns `_NAMES` of `buffers.csv` (axis 0): what each buffer (axis 1) holds."""


@rule("GK203", "buffer-contents-differ", clauses=("M20", "M21"), since="2026.1")
def check(bundle: Bundle, rules: Ruleset) -> Iterator[Finding]:
    """Compare every buffer with its law, small ones with the seed, and runs with each other."""
    first: dict[str, Contents] = {}
    lawless: set[str] = set()  # cases of which a run held what the fill does not give
    recompute = cache(buffer_statistics)  # all runs of a case are filled from one seed
    too_many = _too_many(bundle) if bundle.auditor.deep else ""
    is_deep = bundle.auditor.deep and not too_many
    # Signs of life lift the limit on time: only what is bounded here may give them.
    going_on = bundle.auditor.going_on if is_deep else None

    def judge(run: MeasuredRun) -> Iterator[Finding]:
        buffers = run.table(BUFFERS.file)
        sets = run.document.rotation.sets
        names = surfaces(run.number_format)
        if not _is_ordered(buffers, sets, len(names)):
            place = run.at("columns operand and set", BUFFERS.file)
            wanted = ", then of ".join(TITLES[: len(names)])
            yield Finding(place, f"{len(buffers)} rows", f"{sets} sets of {wanted}")
            return
        contents = np.stack([buffers[name] for name in _NAMES])
        fill = bundle.plan.test_type.fill
        seed = fill_seed(bundle.plan.seed, bundle.plan.submission.challenge, run.case.id)
        operands = Operands(run.case.workload, run.number_format, fill, seed)
        of_first = first.setdefault(run.case.id, contents)
        is_repeated = contents is not of_first and np.array_equal(contents, of_first)
        if not is_repeated or run.case.id in lawless:
            if fill == "zero":
                law = _constant(run, buffers, operands)
            else:
                alike = _alike(run, contents, lambda *of: recompute(operands, *of, going_on))
                law = chain(_uniform(run, contents, rules), alike)
            for fault in law:
                lawless.add(run.case.id)
                yield fault
        if not is_repeated:
            yield from _as_first(run, contents, of_first)
        too_large = _too_large(run) if is_deep else ""
        for surface, count in _recomputed(run, sets, deep=is_deep and not too_large):
            for buffer_set in range(count):
                found = recompute(operands, surface, buffer_set, going_on)
                row = SURFACES.index(surface) * sets + buffer_set
                yield from _exact(run, buffers, row, found)
        if too_many or too_large:
            raise Unproven(too_many or too_large)

    yield from judge_runs(bundle, judge)


def _is_ordered(buffers: Table, sets: int, count: int) -> bool:
    if len(buffers) != count * sets:
        return False
    rows = np.arange(count * sets)
    return bool(
        (buffers["operand"] == rows // sets).all() and (buffers["set"] == rows % sets).all()
    )


def _row(run: MeasuredRun, row: int, sets: int) -> str:
    return run.at(f"row {row + 1} ({TITLES[row // sets]}, set {row % sets})", BUFFERS.file)


def _rows(surface: Input, sets: int) -> slice:
    first = SURFACES.index(surface) * sets
    return slice(first, first + sets)


def _constant(run: MeasuredRun, buffers: Table, operands: Operands) -> Iterator[Finding]:
    """A zero fill: each buffer holds one value, so that its counts follow from one element."""
    sets = run.document.rotation.sets
    for surface in inputs(run.number_format):
        count = elements(run.case.workload, run.number_format, surface)
        one = statistics(operands.elements(surface, 0, np.zeros(1, np.uint64)))
        # Place j weighs 2j + 1, and those add up to the square of their number.
        wanted = (one.zeros * count, one.checksum * count**2 % 2**32)
        for row in range(*_rows(surface, sets).indices(len(buffers))):
            found = (int(buffers["zeros"][row]), int(buffers["checksum"][row]))
            if found != wanted:
                required = f"{wanted[0]} zeros, checksum {wanted[1]}"
                shown = f"{found[0]} zeros, checksum {found[1]}"
                yield Finding(_row(run, row, sets), shown, required)


def _uniform(run: MeasuredRun, contents: Contents, rules: Ruleset) -> Iterator[Finding]:
    sets = run.document.rotation.sets
    for surface in inputs(run.number_format):
        shares = uniform_shares(run.number_format, surface)
        share = np.array([shares.zero, *shares.bins])
        count = elements(run.case.workload, run.number_format, surface)
        rows = _rows(surface, sets)
        found = contents[:-1, rows]
        expected = count * share
        allowed = rules.buffer_sigmas * np.sqrt(expected * (1 - share)) + rules.buffer_small_count
        off = np.abs(found - expected[:, np.newaxis]) > allowed[:, np.newaxis]
        for row, column in zip(*np.nonzero(off.T), strict=True):
            yield Finding(
                f"{_row(run, rows.start + int(row), sets)}: {_NAMES[column]}",
                str(found[column, row]),
                f"{expected[column]:.0f} within {allowed[column]:.0f} for a uniform fill",
            )
        values = found[1:].sum(axis=0)
        for row in np.flatnonzero(values != count):
            place = f"{_row(run, rows.start + int(row), sets)}: bins"
            yield Finding(place, f"{values[row]} values", f"{count} values in [-1, 1]")


def _alike(
    run: MeasuredRun, contents: Contents, recompute: Callable[[Input, int], BufferStatistics]
) -> Iterator[Finding]:
    """Inputs that hold the same as others, although the seed does not make them so.

    Of the 6,000 scales of B of mxfp8 at 64 x 48 x 64, on a CPU, two of 96 elements agree in every
    count in three of four runs.
    """
    sets, names = run.document.rotation.sets, inputs(run.number_format)
    surfaces_of = {SURFACES.index(name): name for name in names}
    filled = np.concatenate([np.arange(contents.shape[1])[_rows(name, sets)] for name in names])
    if len(np.unique(contents[-1, filled])) == len(filled):
        return  # no checksum is there twice
    same: dict[bytes, list[int]] = {}
    for row in filled.tolist():
        same.setdefault(contents[:, row].tobytes(), []).append(row)
    judged = 0
    for rows in same.values():
        for row in rows if len(rows) > 1 else ():
            surface = surfaces_of[row // sets]
            if elements(run.case.workload, run.number_format, surface) <= _FEW_ELEMENTS:
                judged += 1
                if judged > _MOST_ALIKE:
                    raise Unproven("more buffers are alike than this kit recomputes")
                made = recompute(surface, row % sets)
                if (made.zeros, *made.bins, made.checksum) == tuple(contents[:, row].tolist()):
                    continue
            elif row == rows[0]:
                continue
            place = f"{_row(run, row, sets)}: checksum and bins"
            yield Finding(place, "those of another buffer", "no two buffers alike")


def _recomputed(run: MeasuredRun, sets: int, *, deep: bool) -> Iterator[tuple[Input, int]]:
    """Inputs of which so many sets are recomputed from the seed."""
    row = run.number_format
    for surface in inputs(row):
        count = elements(run.case.workload, row, surface)
        yield surface, sets if deep else int(count <= _EXACT_ELEMENTS)


def _too_many(bundle: Bundle) -> str:
    """Why no buffer beyond set 0 is recomputed, "" if all are: once a case, in its most sets."""
    most: dict[str, int] = {}
    for run in measured_runs(bundle):
        row, work = run.number_format, run.case.workload
        count = run.document.rotation.sets * sum(elements(work, row, name) for name in inputs(row))
        most[run.case.id] = max(count, most.get(run.case.id, 0))
    total = sum(most.values())
    if total <= _MOST_ELEMENTS:
        return ""
    return f"--deep recomputes {_MOST_ELEMENTS} elements of a bundle; its buffers hold {total}"


def _too_large(run: MeasuredRun) -> str:
    """Why a run's buffers cannot have been in its device's memory, "" if they can."""
    row, work, device = run.number_format, run.case.workload, run.device
    each = sum(byte_size(work, row, name) for name in surfaces(row))
    taken = run.document.rotation.sets * each
    if device is None or taken <= device.memory_bytes:
        return ""
    return f"buffers of {taken} bytes are not recomputed: its device has {device.memory_bytes}"


def _exact(
    run: MeasuredRun, buffers: Table, row: int, wanted: BufferStatistics
) -> Iterator[Finding]:
    required = (wanted.zeros, *wanted.bins, wanted.checksum)
    for name, right in zip(_NAMES, required, strict=True):
        value = int(buffers[name][row])
        if value != right:
            place = f"{_row(run, row, run.document.rotation.sets)}: {name}"
            yield Finding(place, str(value), f"{right}, recomputed from the seed")


def _as_first(run: MeasuredRun, contents: Contents, first: Contents) -> Iterator[Finding]:
    if contents.shape != first.shape:
        return
    differ = (contents != first).any(axis=1)
    if differ.any():
        place = run.at(f"column {_NAMES[int(np.argmax(differ))]}", BUFFERS.file)
        yield Finding(place, "other counts", "those of the case's first run: one seed fills all")
