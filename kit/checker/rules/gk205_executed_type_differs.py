"""The compiled program multiplies another type than the case names.

## What it checks
The operands of every product in the optimised HLO have the number format's element types, and a
format with scales is multiplied by a product that reads them. Every `fp32` product must ask for the
highest precision, because XLA's default lets tensor cores round to TF32; a `tf32` product must not
ask for it. What was executed, not what was asked for, decides the speed of light. A format that a
host emulates is a departure that the open division may disclose; another precision than the kit
asks for is another program.

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
from kit.checker.programs import program
from kit.checker.rule import Finding, methodology_severity, rule
from kit.checker.runs import MeasuredRun, judge_runs
from kit.execution import XLA_TYPES, execution, reads_own_types, types_read
from kit.hlo.census import Census
from kit.number_format import NumberFormat
from kit.ruleset import Ruleset


@rule("GK205", "executed-type-differs", clauses=("M04", "M18"), since="2026.1")
def check(bundle: Bundle, _rules: Ruleset) -> Iterator[Finding]:
    """Compare the types and precisions in the HLO with the number format."""
    severity = methodology_severity(bundle)
    is_gpu = bundle.plan.backend.platform == "cuda"

    def judge(run: MeasuredRun) -> Iterator[Finding]:
        found = program(run)
        row = run.number_format
        capability = run.device.compute_capability if run.device else None
        ran = execution(found.text, row, (capability or "") if is_gpu else None)
        own = reads_own_types(found.census, row)
        if not own or (ran.executed != row.arithmetic and row.block):
            pair = " x ".join(dict.fromkeys((XLA_TYPES[row.a], XLA_TYPES[row.b])))
            scaled = f" scaled by {XLA_TYPES[row.scale]}" if row.block else ""
            yield Finding(
                f"{found.place}: operands of the products",
                f"{types_read(found.census)}: {row.name} is emulated in {ran.executed}",
                f"{pair}{scaled} for {row.name}",
                severity,
            )
        elif ran.executed != row.arithmetic or not _asks(found.census, row):
            asked = found.census.precisions | found.census.algorithms - {""}
            required = (
                "HIGHEST, as fp32 must not be rounded to tf32"
                if row.name == "fp32"
                else "an algorithm that rounds to tf32"
            )
            place = f"{found.place}: precision of the products"
            yield Finding(place, ", ".join(sorted(asked)) or "the default", required)

    yield from judge_runs(bundle, judge)


def _asks(found: Census, row: NumberFormat) -> bool:
    """Whether every product asks for the format's precision, or fixes an algorithm."""
    return not row.precision or found.precisions == {row.precision} or "" not in found.algorithms
