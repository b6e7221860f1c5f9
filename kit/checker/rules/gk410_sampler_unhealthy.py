"""The sampler lost readings or fell behind.

## What it checks
No row was lost, and the shares of failed and of late bursts stay within the edition's. Every table
that was sampled says so.

## Why it matters
A starved sampler reads seldom when the machine is busiest.

## How to fix
Leave the sampler a core, or lengthen `telemetry`'s periods.

## Clause
M12, M14: telemetry is complete over the execution.

## Example
Passes: 2506 bursts, none lost, failed or late.
Fails: 200 of 2506 bursts late.
"""

from collections.abc import Iterator

from kit.bundle.reader import Bundle
from kit.checker.rule import Finding, NotApplicable, Unproven, methodology_severity, rule
from kit.checker.runs import MeasuredRun, judge_runs
from kit.ruleset import Ruleset


@rule("GK410", "sampler-unhealthy", clauses=("M12", "M14"), since="2026.1")
def check(bundle: Bundle, rules: Ruleset) -> Iterator[Finding]:
    """Compare lost, failed and late bursts with all of them."""
    if bundle.plan.telemetry.source == "none" and bundle.plan.backend.platform == "cpu":
        raise NotApplicable("nothing was sampled")
    severity = methodology_severity(bundle)

    def judge(run: MeasuredRun) -> Iterator[Finding]:
        if not run.document.telemetry.health:
            raise Unproven("nothing was sampled")
        for health in run.document.telemetry.health:
            for name, count, share in (
                ("lost", health.lost, 0.0),
                ("failed", health.failed, rules.failed_bursts),
                ("overruns", health.overruns, rules.late_bursts),
            ):
                if count > share * health.bursts:
                    place = run.at(f"telemetry.health.{health.table}.{name}")
                    required = f"at most {share:.0%}" if share else "0"
                    yield Finding(place, f"{count} of {health.bursts} bursts", required, severity)

    yield from judge_runs(bundle, judge)
