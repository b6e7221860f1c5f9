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
from kit.checker.runs import MeasuredRun, judge_runs, measured_runs
from kit.fill import Operands, fill_seed, sample_seed
from kit.numerics import Comparison, Sample, Sampling, compare, grid_side, samples
from kit.rotation import MOST_SETS
from kit.ruleset import Ruleset
from kit.trace import OUTPUTS, Table

_MOST_ELEMENTS = 2**27
"""Operand elements recomputed for a bundle beyond each run's share: some seven seconds."""
_SHARE_OF_A_RUN = 2**20
"""Operand elements of each run: 950,272 at most in 39 H200 runs."""
_MOST_K = 2**22
_MOST_BUFFER_ELEMENTS = 2**48


@rule("GK204", "output-differs", clauses=("M11", "M20"), since="2026.1")
def check(bundle: Bundle, _rules: Ruleset) -> Iterator[Finding]:
    """Recompute the sampled outputs of every run."""
    runs = sum(len(case.runs) for case in bundle.cases.values())
    left = _MOST_ELEMENTS + runs * _SHARE_OF_A_RUN
    drawn = _drawn(bundle)

    def judge(run: MeasuredRun) -> Iterator[Finding]:
        nonlocal left
        outputs = run.table(OUTPUTS.file)
        sets = run.document.rotation.sets
        if sets > len(outputs):
            place = run.at("rows", OUTPUTS.file)
            yield Finding(place, f"{len(outputs)} samples", f"samples of each of {sets} buffers")
            return
        elements = 2 * grid_side(sets) * sets * run.case.workload.k
        if not _is_feasible(run):
            raise Unproven("the products of all sets are larger than this kit recomputes")
        if elements > left:
            raise Unproven("the runs together are more than this kit recomputes for a bundle")
        left -= elements
        sample = drawn.get(run.evidence.path) or samples([_sampling(bundle, run)])[0]
        try:
            found = compare(sample, outputs)
        except ValueError as error:
            yield Finding(
                run.at("rows", OUTPUTS.file), str(error), "the elements that the seed draws"
            )
            return
        if not found.agrees:
            yield _worst(run, outputs, found)

    yield from judge_runs(bundle, judge)


def _drawn(bundle: Bundle) -> dict[str, Sample]:
    """The samples of all runs by their folders, unless these are many more than a bundle's are."""
    asked = {}
    for run in measured_runs(bundle):
        outputs = run.evidence.tables.get(OUTPUTS.file)
        if outputs is not None and run.document.rotation.sets <= len(outputs) and _is_feasible(run):
            asked[run.evidence.path] = _sampling(bundle, run)
    if sum(sampling.sets for sampling in asked.values()) > MOST_SETS:
        return {}
    return dict(zip(asked, samples(list(asked.values())), strict=True))


def _sampling(bundle: Bundle, run: MeasuredRun) -> Sampling:
    plan, document, case = bundle.plan, run.document, run.case
    seed, challenge = plan.seed, plan.submission.challenge
    filled = fill_seed(seed, challenge, case.id)
    drawn = sample_seed(seed, challenge, case.id, document.device, document.number)
    operands = Operands(case.workload, run.number_format, plan.test_type.fill, filled)
    return Sampling(operands, document.rotation.sets, drawn)


def _is_feasible(run: MeasuredRun) -> bool:
    work = run.case.workload
    largest = max(work.elements("a"), work.elements("b"), work.elements("d"))
    sets = run.document.rotation.sets
    return work.k <= _MOST_K and sets <= MOST_SETS and largest <= _MOST_BUFFER_ELEMENTS


def _worst(run: MeasuredRun, outputs: Table, found: Comparison) -> Finding:
    i = found.worst
    where = ", ".join(f"{name} {outputs[name][i]}" for name in ("set", "batch", "row", "column"))
    return Finding(
        run.at(f"row {i + 1} ({where})", OUTPUTS.file),
        f"{found.values[i]:.9g}",
        f"{found.reference[i]:.9g} within {found.allowed[i]:.3g}",
    )
