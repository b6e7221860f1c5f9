"""The device's power readings contradict each other or its limit.

## What it checks
Over the profiling interval the energy counter's edges, the device's own average and its
instantaneous readings give one mean power, within the edition's fractions. No sample of the average
lies beyond the enforced limit and its tolerance. Means of power, graphics clock and temperature can
be formed.

## Why it matters
The three registers are filled in different ways; on an H200 they agree within 0.8 %. Series that
were made up or mixed do not.

## How to fix
Measure for longer: below two seconds the average still holds the idle phase.

## Clause
M14: average power, frequency and temperature during execution.

## Example
Passes: 691.3 W average, 691.0 W instantaneous, 691.2 W by energy.
Fails: 500 W by energy beside an average of 691 W.
"""

from collections.abc import Iterator
from itertools import combinations

from kit.bundle.reader import Bundle
from kit.checker.rule import Finding, Unproven, rule
from kit.checker.runs import MeasuredRun, judge_runs, only_on_gpu
from kit.metrics import energy_power_mw, time_mean
from kit.ruleset import Ruleset
from kit.trace import CLOCKS, ENERGY, POWER


@rule("GK406", "power-readings-disagree", clauses=("M14",), since="2026.1")
def check(bundle: Bundle, rules: Ruleset) -> Iterator[Finding]:
    """Compare the mean power by each register, and the average with its limit."""
    only_on_gpu(bundle, "a GPU's power")

    def judge(run: MeasuredRun) -> Iterator[Finding]:
        tables, interval = run.evidence.tables, run.profiling_interval()
        power = tables.get(POWER.file)
        means = {
            "average": time_mean(power, "power_average_mw", *interval),
            "instant": time_mean(power, "power_instant_mw", *interval),
            "energy": energy_power_mw(tables.get(ENERGY.file), *interval),
        }
        known = {name: mean for name, mean in means.items() if mean is not None}
        for (first, a), (second, b) in combinations(known.items(), 2):
            difference = abs(a - b) / max(a, b, 1.0)
            if difference > rules.energy_power_warn:
                yield Finding(
                    run.at(f"mean power in profiling by {first} and {second}", POWER.file),
                    f"{a:.0f} mW and {b:.0f} mW",
                    f"within {rules.energy_power_warn:.0%}",
                    "fail" if difference > rules.energy_power_fail else "warn",
                )
        yield from _over_limit(run, rules)
        clock = time_mean(tables.get(CLOCKS.file), "graphics_mhz", *interval)
        gpu_c = time_mean(power, "gpu_c", *interval)
        figures = (("power", known or None), ("graphics clock", clock), ("GPU temperature", gpu_c))
        missing = [name for name, mean in figures if mean is None]
        if missing:
            raise Unproven(f"no mean of {', '.join(missing)} over profiling")

    yield from judge_runs(bundle, judge)


def _over_limit(run: MeasuredRun, rules: Ruleset) -> Iterator[Finding]:
    power = run.evidence.tables.get(POWER.file)
    limit_mw = run.document.limits_before.power_enforced_mw
    if power is None or "power_average_mw" not in power or limit_mw is None:
        return
    highest_mw = int(power["power_average_mw"].max())
    if highest_mw > limit_mw * (1 + rules.power_over_limit):
        place = run.at("column power_average_mw", POWER.file)
        required = f"at most {limit_mw} mW and {rules.power_over_limit:.0%}"
        yield Finding(place, f"{highest_mw} mW", required)
