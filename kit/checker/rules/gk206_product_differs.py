"""The compiled program multiplies something else than the case.

## What it checks
The optimised HLO can be read whole: one ENTRY, every line an instruction, every name defined above
its use. Its parameters are the case's buffers, D, A, B and scales of each set of a call, in their
types, shapes and rows. Followed from there through tuples, bitcasts, fusions, calls and the loop's
state, each output is a product of an A and a B over the whole of K, as D[M,N] by rows, with alpha
one, beta zero and the default epilogue. A loop runs as often as its condition says.

## Why it matters
A smaller product, one of half of K, or one times zero runs faster than the one that is claimed.
A line that a reader skips can hide any work.

## How to fix
Measure again; the kit compiles this program. If a new version of XLA prints a form that the kit
cannot follow, report it. Where other work stands in the way, GK304 names it; the open division may
disclose that.

## Clause
M04: one GEMM a launch, and no hidden work.

## Example
Passes: `bf16[8192,8192]` of a cuBLASLt call of `bf16[8192,16384]` and `bf16[16384,8192]`.
Fails: `"alpha_real":0` in that call's configuration.
"""

from collections.abc import Iterator

from kit.bundle.reader import Bundle
from kit.checker.programs import place, proof
from kit.checker.rule import Finding, methodology_severity, rule
from kit.checker.runs import MeasuredRun, judge_runs
from kit.ruleset import Ruleset


@rule("GK206", "product-differs", clauses=("M04",), since="2026.1")
def check(bundle: Bundle, _rules: Ruleset) -> Iterator[Finding]:
    """Follow each run's program from its parameters to its outputs."""
    severity = methodology_severity(bundle)

    def judge(run: MeasuredRun) -> Iterator[Finding]:
        try:
            found = proof(run)
        except ValueError as error:
            yield Finding(place(run), str(error), "an HLO module as XLA prints it")
            return
        for fault in found.products:
            where = f"{place(run)}: {fault.place}"
            grave = severity if fault.is_disclosed else "fail"
            yield Finding(where, fault.found, fault.required, grave)

    yield from judge_runs(bundle, judge)
