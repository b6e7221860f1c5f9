"""Two buffers share memory, or a buffer moved.

## What it checks
The buffers of A, B, D and of the scales, if the format has some, of all rotation sets lie side by
side without overlap, each as long as its operand, and every one of them lies after the last launch
where it lay before the first. On a GPU all lie within a few times the bytes of its memory.

## Why it matters
Sets that share memory rotate in name only: the operands stay in the cache. An output that moved was
written into a fresh allocation.

## How to fix
Measure again; if the addresses of D change, donation failed, which the compiler's warnings explain.

## Clause
M06: every memory surface has several buffers, changed at each iteration.

## Example
Passes: six buffers with six disjoint ranges, unchanged.
Fails: set 1 of B begins inside set 0 of B, or ten terabytes behind it.
"""

from collections.abc import Iterator

import numpy as np

from kit.bundle.reader import Bundle
from kit.checker.rule import Finding, rule
from kit.checker.runs import MeasuredRun, judge_runs
from kit.ruleset import Ruleset
from kit.surfaces import SURFACES, TITLES, byte_size, surfaces
from kit.trace import BUFFERS, Table

_LONGEST = 2**61


@rule("GK306", "buffers-not-rotated", clauses=("M06",), since="2026.1")
def check(bundle: Bundle, rules: Ruleset) -> Iterator[Finding]:
    """Compare every buffer's range with its neighbour's, and its address with its later one."""
    is_gpu = bundle.plan.backend.platform == "cuda"

    def judge(run: MeasuredRun) -> Iterator[Finding]:
        buffers = run.table(BUFFERS.file)
        before = buffers["address_before"]
        sizes = np.array(_sizes(run), np.int64)[buffers["operand"]]
        order = np.argsort(before, kind="stable")
        overlaps = before[order][:-1] + sizes[order][:-1] > before[order][1:]
        for position in np.flatnonzero(overlaps):
            first, second = (_name(buffers, int(order[position + i])) for i in (0, 1))
            place = run.at("column address_before", BUFFERS.file)
            yield Finding(place, f"{second} begins inside {first}", "buffers apart from each other")
        for row in np.flatnonzero(before != buffers["address_after"]):
            place = run.at(f"row {row + 1} ({_name(buffers, int(row))})", BUFFERS.file)
            moved = f"{buffers['address_after'][row]} after the last launch"
            yield Finding(place, moved, f"{before[row]}, as before the first")
        if is_gpu and run.device is not None:
            last = int((before[order] + sizes[order]).max())
            most = rules.address_span_most * run.device.memory_bytes
            if last > most:
                place = run.at("column address_before", BUFFERS.file)
                required = f"at most {most:.0f}: the device has {run.device.memory_bytes} bytes"
                yield Finding(place, f"buffers that span {last} bytes", required)

    yield from judge_runs(bundle, judge)


def _sizes(run: MeasuredRun) -> list[int]:
    """Bytes by the operand's code; what the format does not have, as the bytes of D."""
    work, row = run.case.workload, run.number_format
    own = surfaces(row)
    found = (byte_size(work, row, name if name in own else "d") for name in SURFACES)
    return [min(size, _LONGEST) for size in found]


def _name(buffers: Table, row: int) -> str:
    return f"{TITLES[buffers['operand'][row]]}, set {buffers['set'][row]}"
