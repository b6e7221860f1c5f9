"""The GPU did not grow warmer under load.

## What it checks
Where the load draws half as much again as the idle phase and lasts the edition's seconds, the GPU's
temperature over the last second of the load lies above the mean of the idle phase, by the edition's
degrees or more.

## Why it matters
Hundreds of watts warm every die within seconds, however it is cooled. A temperature that stands
still, or falls, was not read from the device that did the work.

## How to fix
Measure again. If the sensor is broken, the driver reports none: then the column is absent.

## Clause
M14: the temperature is monitored during execution.

## Example
Passes: 39 °C before the load and 62 °C at its end.
Fails: 39 °C all the time at 690 W.
"""

from collections.abc import Iterator

from kit.bundle.reader import Bundle
from kit.checker.rule import Finding, Unproven, rule
from kit.checker.runs import MeasuredRun, judge_runs, only_on_gpu
from kit.ruleset import Ruleset
from kit.stability import level
from kit.timeline import window_edges
from kit.trace import POWER, WINDOWS

_LAST_NS = 1_000_000_000


@rule("GK413", "temperature-ignores-load", clauses=("M14",), since="2026.1")
def check(bundle: Bundle, rules: Ruleset) -> Iterator[Finding]:
    """Compare the end of the load with the idle phase."""
    only_on_gpu(bundle, "a GPU's temperature")

    def judge(run: MeasuredRun) -> Iterator[Finding]:
        power, phases = run.table(POWER.file), run.document.phases
        edges = window_edges(run.document.timing, run.table(WINDOWS.file))
        start_ns, end_ns = int(edges[0]), int(edges[-1])
        idle = level(power, phases.idle_start_ns, phases.idle_end_ns)
        load = level(power, *run.profiling_interval())
        last = level(power, end_ns - _LAST_NS, end_ns)
        if idle.power_mw is None or load.power_mw is None:
            raise Unproven("no power in the idle phase or in profiling")
        if idle.gpu_c is None or last.gpu_c is None:
            raise Unproven("no temperature in the idle phase or at the end of the load")
        long_enough = end_ns - start_ns >= rules.temperature_load_s * 1e9
        if not long_enough or load.power_mw < (1 + rules.load_share) * idle.power_mw:
            return
        if last.gpu_c < idle.gpu_c + rules.temperature_rise_c:
            found = f"{last.gpu_c:.1f} °C at the end of a load of {load.power_mw / 1000:.0f} W"
            required = (
                f"at least {rules.temperature_rise_c:g} °C above the {idle.gpu_c:.1f} °C before"
            )
            yield Finding(run.at("column gpu_c", POWER.file), found, required)

    yield from judge_runs(bundle, judge)
