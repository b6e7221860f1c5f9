"""A sampled output is not the product of the seed's operands.

## What it checks
Elements of every output buffer, at positions that the run's seed draws, are recomputed in float64
from the operands that the fill seed defines. Each must lie within the rounding of its number
format: half a unit of the output's type, and what K accumulations may add.

## Why it matters
The sampled buffers are those that the timed launches wrote. A faster, coarser arithmetic, a missing
part of K or a launch that never ran shows here.

## How to fix
Find out which arithmetic ran: compiler flags that allow lower precision are the usual cause.

## Clause
M11 (what was timed is the GEMM that was asked for), M20 (from the seed's operands).

## Example
Passes: bfloat16 outputs off by 1.7e-3 of their size.
Fails: float32 outputs that carry only bfloat16's digits.
"""

from collections.abc import Iterator

from kit.bundle.reader import Bundle
from kit.checker.rule import Finding, Unproven, rule
from kit.checker.runs import MeasuredRun, judge_runs
from kit.fill import Operands, fill_seed, sample_seed
from kit.numerics import Comparison, compare, grid_side
from kit.ruleset import Ruleset
from kit.trace import OUTPUTS, Table

_MOST_ELEMENTS = 2**27
"""Operand elements recomputed for a bundle beyond each run's share: some seven seconds."""
_SHARE_OF_A_RUN = 2**20
"""Operand elements of each run: 950,272 at most in 39 H200 runs."""
_MOST_K = 2**22
_MOST_SETS = 2**15
_MOST_BUFFER_ELEMENTS = 2**48


@rule("GK204", "output-differs", clauses=("M11", "M20"), since="2026.1")
def check(bundle: Bundle, _rules: Ruleset) -> Iterator[Finding]:
    """Recompute the sampled outputs of every run."""
    plan = bundle.plan
    runs = sum(len(case.runs) for case in bundle.cases.values())
    left = _MOST_ELEMENTS + runs * _SHARE_OF_A_RUN
    seed, challenge = plan.seed, plan.submission.challenge

    def judge(run: MeasuredRun) -> Iterator[Finding]:
        nonlocal left
        outputs = run.table(OUTPUTS.file)
        document, case = run.document, run.case
        sets = document.rotation.sets
        if sets > len(outputs):
            place = run.at("rows", OUTPUTS.file)
            yield Finding(place, f"{len(outputs)} samples", f"samples of each of {sets} buffers")
            return
        elements = 2 * grid_side(sets) * sets * case.workload.k
        _require_feasible(run, sets)
        if elements > left:
            raise Unproven("the runs together are more than this kit recomputes for a bundle")
        left -= elements
        filled = fill_seed(seed, challenge, case.id)
        drawn = sample_seed(seed, challenge, case.id, document.device, document.number)
        operands = Operands(case.workload, run.number_format, plan.test_type.fill, filled)
        try:
            found = compare(operands, sets, drawn, outputs)
        except ValueError as error:
            yield Finding(
                run.at("rows", OUTPUTS.file), str(error), "the elements that the seed draws"
            )
            return
        if not found.agrees:
            yield _worst(run, outputs, found)

    yield from judge_runs(bundle, judge)


def _require_feasible(run: MeasuredRun, sets: int) -> None:
    work = run.case.workload
    largest = max(work.elements("a"), work.elements("b"), work.elements("d"))
    if work.k > _MOST_K or sets > _MOST_SETS or largest > _MOST_BUFFER_ELEMENTS:
        raise Unproven("the problem is larger than this kit recomputes")


def _worst(run: MeasuredRun, outputs: Table, found: Comparison) -> Finding:
    i = found.worst
    where = ", ".join(f"{name} {outputs[name][i]}" for name in ("set", "batch", "row", "column"))
    return Finding(
        run.at(f"row {i + 1} ({where})", OUTPUTS.file),
        f"{found.values[i]:.9g}",
        f"{found.reference[i]:.9g} within {found.allowed[i]:.3g}",
    )
