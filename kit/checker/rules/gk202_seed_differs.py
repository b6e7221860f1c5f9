"""A run's seeds are not those that the plan draws.

## What it checks
`fill_seed` follows from the plan's seed, the auditor's challenge and the case; `sample_seed` from
these, the device and the run's number.

## Why it matters
Whoever chooses the seed after the fact chooses the operands and the outputs that are looked at.

## How to fix
Measure again; the kit derives both seeds itself.

## Clause
M20: the fill is the one that was asked for, reproducible from the seed.

## Example
Passes: both seeds are `kit.fill`'s digests.
Fails: run 2 carries the sample seed of run 1.
"""

from collections.abc import Iterator

from kit.bundle.reader import Bundle
from kit.checker.rule import Finding, rule
from kit.checker.runs import MeasuredRun, judge_runs
from kit.fill import fill_seed, sample_seed
from kit.ruleset import Ruleset


@rule("GK202", "seed-differs", clauses=("M20",), since="2026.1")
def check(bundle: Bundle, _rules: Ruleset) -> Iterator[Finding]:
    """Derive both seeds of every run again."""
    seed, challenge = bundle.plan.seed, bundle.plan.submission.challenge

    def judge(run: MeasuredRun) -> Iterator[Finding]:
        document, case = run.document, run.case.id
        samples = sample_seed(seed, challenge, case, document.device, document.number)
        for name, found, required in (
            ("fill_seed", document.fill_seed, fill_seed(seed, challenge, case)),
            ("sample_seed", document.sample_seed, samples),
        ):
            if found != required:
                yield Finding(run.at(name), found, f"{required}, from plan, case, device and run")

    yield from judge_runs(bundle, judge)
