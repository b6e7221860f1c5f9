"""Runs of one case multiplied with different kernels.

## What it checks
The kernel traces of all runs of a case on GPUs of one kind name the same GEMM kernel.

## Why it matters
Autotuning may choose another kernel in each process. Replicates then measure different programs,
and their range says nothing about how reproducible either is.

## How to fix
Pin the autotuning result, so that every run of the case replays it.

## Clause
M26: results are reproducible; the same kernel in all replicates.

## Example
Passes: `nvjet_sm90_tst_128x256_64x4_1x2_h_bz_coopA_NNT` in three runs.
Fails: a tile of 128x128 in run 2, one of 128x256 in the others.
"""

from collections.abc import Iterator

from kit.bundle.layout import case_file
from kit.bundle.reader import Bundle
from kit.checker.rule import Finding, methodology_severity, rule
from kit.checker.runs import MeasuredRun, judge_runs, only_on_gpu
from kit.checker.traces import traced
from kit.ruleset import Ruleset


@rule("GK606", "kernel-differs", clauses=("M26",), since="2026.1")
def check(bundle: Bundle, _rules: Ruleset) -> Iterator[Finding]:
    """Compare the GEMM kernel of each run with that of the case's first run on such a GPU."""
    only_on_gpu(bundle, "GPU kernels")
    severity = methodology_severity(bundle)
    first: dict[tuple[str, str], tuple[str, str]] = {}

    def judge(run: MeasuredRun) -> Iterator[Finding]:
        _, found = traced(run)
        product = run.device.name if run.device else run.document.device
        name, path = first.setdefault((run.case.id, product), (found.gemm_name, run.evidence.path))
        if found.gemm_name != name:
            place = f"{case_file(run.case.id)}: {run.evidence.path}"
            yield Finding(place, found.gemm_name, f"{name}, as {path}", severity)

    yield from judge_runs(bundle, judge)
