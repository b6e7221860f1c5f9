"""The compiled program multiplies another type than the case names.

## What it checks
The operands of every product in the optimised HLO have the number format's element type. Where the
text shows a precision, an `fp32` product must ask for the highest one, because XLA's default lets
tensor cores round to TF32; a `tf32` product must not ask for it.

## Why it matters
XLA converts quietly where a device lacks a type, and rounds quietly where a setting allows it. The
figure then belongs to the other type, the speed of light to this one.

## How to fix
On a GPU choose a format and layout that the hardware multiplies as it is. On a CPU most narrow
formats are emulated: say so, and compare nothing.

## Clause
M04 (no hidden work), M18 (the speed of light of the executed type).

## Example
Passes: `bf16[8192,16384]` operands of a cuBLASLt call.
Fails: `bf16` parameters converted to `f32` before the dot.
"""

from collections.abc import Iterator

from kit.bundle.reader import Bundle
from kit.checker.programs import program, type_name
from kit.checker.rule import Finding, methodology_severity, rule
from kit.checker.runs import MeasuredRun, judge_runs
from kit.hlo import dot_algorithms, operand_precisions
from kit.ruleset import Ruleset


@rule("GK205", "executed-type-differs", clauses=("M04", "M18"), since="2026.1")
def check(bundle: Bundle, _rules: Ruleset) -> Iterator[Finding]:
    """Compare the types and precisions in the HLO with the number format."""
    severity = methodology_severity(bundle)
    is_gpu = bundle.plan.backend.platform == "cuda"

    def judge(run: MeasuredRun) -> Iterator[Finding]:
        found = program(run)
        wanted = type_name(run.number_format.operand)
        if found.census.operand_types != {wanted}:
            read = ", ".join(sorted(found.census.operand_types)) or "none that is known"
            yield Finding(
                f"{found.place}: operands of the products",
                f"{read}: {run.case.number_format} is emulated",
                f"{wanted} for {run.case.number_format}",
                severity,
            )
        if is_gpu:
            yield from _precision(run, found.text, found.place)

    def _precision(run: MeasuredRun, text: str, place: str) -> Iterator[Finding]:
        precisions, algorithms = operand_precisions(text), dot_algorithms(text)
        rounds = {name for name in algorithms if "TF32" in name or "BF16" in name}
        name = run.case.number_format
        asked = ", ".join(sorted(precisions | algorithms))
        if name == "fp32" and (rounds or precisions - {"HIGHEST"}):
            required = "HIGHEST, as fp32 must not be rounded to tf32"
            yield Finding(f"{place}: precision of the products", asked, required, severity)
        if name == "tf32" and not rounds and "HIGHEST" in precisions:
            required = "an algorithm that rounds to tf32"
            yield Finding(f"{place}: precision of the products", asked, required, severity)

    yield from judge_runs(bundle, judge)
