"""The compiled program does more, or less, than its GEMMs.

## What it checks
The optimised HLO of the launched program holds exactly the products that the run counts for each
call, each of 2·M·N·K·batch operations, and no other work: no copy, conversion, transposition,
padding or reduction, inside a fusion either. Its text holds one product for each output, so that
none is made for nothing. XLA writes every output in place over a donated
buffer. A device loop may add one scalar addition for each trip and one scalar copy for each call.

## Why it matters
Extra kernels are timed as if they were the GEMM. A product that XLA merged or removed is counted
but never ran. An output that is not written in place is allocated anew at every launch.

## How to fix
Choose the layout that the hardware multiplies without transposes (`nt` for fp8 and int8), and sizes
that need no padding.

## Clause
M04: no additional device work between launches.

## Example
Passes: two `__cublas$lt$matmul` calls for two GEMMs a call.
Fails: a `transpose` fusion in front of a cuBLASLt call.
"""

from collections.abc import Iterator

from kit.bundle.reader import Bundle
from kit.checker.programs import Program, program
from kit.checker.rule import Finding, Severity, Unproven, methodology_severity, rule
from kit.checker.runs import MeasuredRun, judge_runs
from kit.execution import other_work
from kit.rotation import output_bytes
from kit.ruleset import Ruleset


@rule("GK304", "extra-device-work", clauses=("M04",), since="2026.1")
def check(bundle: Bundle, _rules: Ruleset) -> Iterator[Finding]:
    """Take a census of each run's program."""
    severity = methodology_severity(bundle)

    def judge(run: MeasuredRun) -> Iterator[Finding]:
        executable = run.document.executable
        gemms = executable.gemms_per_call
        outputs = min(gemms, run.document.rotation.sets)
        in_place = outputs * output_bytes(run.case.workload, run.number_format)
        if executable.alias_bytes != in_place:
            required = f"{in_place}, every output of a call in place"
            yield Finding(run.at("executable.alias_bytes"), str(executable.alias_bytes), required)
        found = program(run)
        if found.census.gemm_count != gemms:
            required = f"{gemms}, as executable.gemms_per_call"
            yield Finding(f"{found.place}: products", str(found.census.gemm_count), required)
        elif found.census.written != outputs:
            required = f"{outputs}, one for each output: what no output holds is other work"
            place = f"{found.place}: products in the text"
            yield Finding(place, str(found.census.written), required)
        yield from _operations(run, found, severity)
        looping = run.document.dispatch.mode == "device_loop"
        most = gemms // max(outputs, 1) + 1 if looping else 0
        if found.census.loop_control > most:
            place = f"{found.place}: work on loop counters"
            yield Finding(place, str(found.census.loop_control), f"at most {most} a call")
        if found.census.extra:
            work = other_work(found.census)
            yield Finding(f"{found.place}: other work", work, "none beside the GEMMs", severity)

    yield from judge_runs(bundle, judge)


def _operations(run: MeasuredRun, found: Program, severity: Severity) -> Iterator[Finding]:
    """Larger products are padded ones, which the methodology forbids; smaller ones never ran."""
    flops, products = found.census.flops, found.census.gemm_count
    if flops is None:
        raise Unproven("the HLO does not tell the sizes of its products")
    required = products * run.case.workload.flops
    if flops != required:
        yield Finding(
            f"{found.place}: operations of the products",
            str(flops),
            f"{required}, which is 2·M·N·K·batch for each of {products}",
            "fail" if flops < required else severity,
        )
