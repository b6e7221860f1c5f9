"""The device was not back at rest when the run ended.

## What it checks
The cool-down lasted the edition's least number of seconds. On a GPU it ended because the device was
idle, and over its last half second power and temperature were back near the idle phase's mean. That
phase lasted the edition's least number of seconds and was level itself, its first half near its
second: fill and pilot come before it, and a baseline that still cools would excuse a warm end.

## Why it matters
The next problem would begin on a device that the last one heated.

## How to fix
Raise `phases.cool_down_max_s`, or `phases.idle_s` if the idle phase was not level.

## Clause
M23: power draw, temperature and clock return to their idle values between problems.

## Example
Passes: 124 W and 39 °C against 122 W and 38 °C before the load.
Fails: 400 W when the cool-down ended.
"""

from collections.abc import Iterator

from kit.bundle.reader import Bundle
from kit.checker.rule import Finding, Severity, Unproven, methodology_severity, rule
from kit.checker.runs import MeasuredRun, judge_runs
from kit.ruleset import Ruleset
from kit.stability import IDLE_NS, is_idle, level
from kit.trace import POWER


@rule("GK407", "not-idle-after", clauses=("M23",), since="2026.1")
def check(bundle: Bundle, rules: Ruleset) -> Iterator[Finding]:
    """Compare the end of the cool-down with the idle phase."""
    severity = methodology_severity(bundle)
    is_gpu = bundle.plan.backend.platform == "cuda"

    def judge(run: MeasuredRun) -> Iterator[Finding]:
        phases = run.document.phases
        seconds = (phases.cool_down_end_ns - phases.cool_down_start_ns) * 1e-9
        if seconds < rules.minimum_cool_down_s:
            required = f"{rules.minimum_cool_down_s:g} s after the start or later"
            found = f"{seconds:.3f} s after the start"
            yield Finding(run.at("phases.cool_down_end_ns"), found, required, severity)
        if is_gpu:
            yield from _idle(run, rules, severity)

    yield from judge_runs(bundle, judge)


def _idle(run: MeasuredRun, rules: Ruleset, severity: Severity) -> Iterator[Finding]:
    phases, power = run.document.phases, run.table(POWER.file)
    if phases.cool_down_stop != "idle":
        place = run.at("phases.cool_down_stop")
        yield Finding(place, phases.cool_down_stop, "idle", severity)
    seconds = (phases.idle_end_ns - phases.idle_start_ns) * 1e-9
    if seconds < rules.minimum_idle_s:
        required = f"at least {rules.minimum_idle_s:g} s"
        yield Finding(run.at("phases.idle_end_ns"), f"{seconds:.3f} s idle", required, severity)
    middle_ns = (phases.idle_start_ns + phases.idle_end_ns) // 2
    first = level(power, phases.idle_start_ns, middle_ns)
    second = level(power, middle_ns, phases.idle_end_ns)
    if (
        first.power_mw is not None
        and second.power_mw is not None
        and not is_idle(second.power_mw, second.gpu_c, first.power_mw, first.gpu_c, rules)
    ):
        place = run.at(f"{phases.idle_start_ns} to {phases.idle_end_ns} ns", POWER.file)
        yield Finding(place, f"{first.text}, then {second.text}", "a level idle phase", severity)
    before = level(power, phases.idle_start_ns, phases.idle_end_ns)
    after = level(power, phases.cool_down_end_ns - IDLE_NS, phases.cool_down_end_ns)
    if before.power_mw is None or after.power_mw is None:
        raise Unproven("no power sample in the idle phase or at the end of the cool-down")
    if not is_idle(before.power_mw, before.gpu_c, after.power_mw, after.gpu_c, rules):
        place = run.at(f"the {IDLE_NS} ns before {phases.cool_down_end_ns} ns", POWER.file)
        required = f"near {before.text}, as before the load"
        yield Finding(place, after.text, required, severity)
