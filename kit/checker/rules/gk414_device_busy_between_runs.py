"""Between two runs the device's energy counter tells of other work, or of time that was cut out.

## What it checks
From the last reading of a run's energy counter to the first one of the next run on that device, the
counter grows, by no more than the enforced limit allows and no less than a part of idle power. What
was drawn over idle meanwhile, where the kit starts, tunes, traces and counts, stays below the
edition's share of what the runs themselves drew over idle, with an allowance for every attempt of
the tuner before a case's first run, and for its final at the power of a run; other attempts that
the journal tells of in between excuse more. A counter that fell began anew, and is judged only
where the driver stays loaded.

## Why it matters
The journal is a text, the counter is the device's. An attempt that was left out of the journal has
drawn its energy all the same; where its time was cut out too, more was drawn than the device can.

## How to fix
Hand over every attempt, and measure on a device that nobody else uses.

## Clause
M26: results are reproducible, which a choice among runs is not.

## Example
Passes: 5.5 kJ in 15 s, at 357 W, between runs of 27 kJ over idle.
Fails: 40 kJ in 14 s; or 40 kJ in 80 s, between runs of 27 kJ over idle.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

from kit.bundle.reader import Bundle
from kit.checker.rule import Finding, Unproven, rule
from kit.checker.runs import MeasuredRun, measured_runs, only_on_gpu
from kit.ruleset import Ruleset
from kit.stability import IDLE_NS, level
from kit.trace import ENERGY, POWER

_COLUMN = "energy_mj"


@dataclass(frozen=True, slots=True)
class _Drawn:
    """One run's counter: first and last reading, power at rest, and what it drew over that."""

    run: MeasuredRun
    first_ns: int
    last_ns: int
    first_mj: int
    last_mj: int
    idle_mw: float
    load_mw: float
    over_idle_mj: float
    is_load: bool


@rule("GK414", "device-busy-between-runs", clauses=("M26",), since="2026.1")
def check(bundle: Bundle, rules: Ruleset) -> Iterator[Finding]:
    """Follow each device's counter from run to run."""
    only_on_gpu(bundle, "a GPU's energy")
    devices: dict[str, list[MeasuredRun]] = {}
    for run in measured_runs(bundle):
        devices.setdefault(run.document.device, []).append(run)
    missing = []
    for runs in devices.values():
        ordered = sorted(runs, key=lambda run: run.document.started_ns)
        drawn = [_drawn(run, rules) for run in ordered]
        missing += [
            run.evidence.path for run, found in zip(ordered, drawn, strict=True) if not found
        ]
        attempts = bundle.plan.backend.tuning_attempts
        for before, after in pairwise(drawn):
            if before is None or after is None:
                continue
            excused = _attempted(bundle, before.run, after.run)
            yield from _between(before, after, None if excused else attempts, rules)
    if missing:
        raise Unproven(f"no energy counter or no power at rest: {missing[0]}")


def _drawn(run: MeasuredRun, rules: Ruleset) -> _Drawn | None:
    energy, power = (run.evidence.tables.get(file) for file in (ENERGY.file, POWER.file))
    if energy is None or power is None or _COLUMN not in energy or not len(energy):
        return None
    phases = run.document.phases
    rest = level(power, phases.idle_start_ns, phases.idle_end_ns).power_mw
    end = level(power, phases.cool_down_end_ns - IDLE_NS, phases.cool_down_end_ns).power_mw
    load = level(power, *run.profiling_interval()).power_mw
    if rest is None or end is None or load is None:
        return None
    idle_mw = min(rest, end)
    t_ns, counter = energy["t_ns"], energy[_COLUMN]
    first_ns, last_ns = int(t_ns[0]), int(t_ns[-1])
    first_mj, last_mj = int(counter[0]), int(counter[-1])
    over = last_mj - first_mj - idle_mw * (last_ns - first_ns) * 1e-9
    is_load = load >= (1 + rules.load_share) * idle_mw
    return _Drawn(run, first_ns, last_ns, first_mj, last_mj, idle_mw, load, over, is_load)


def _attempted(bundle: Bundle, before: MeasuredRun, after: MeasuredRun) -> bool:
    """Whether the journal tells of an attempt on this device between two measured runs."""
    return any(
        entry.event == "run_ended"
        and entry.device == after.document.device
        and entry.status != "measured"
        and before.document.ended_ns < entry.t_ns < after.document.started_ns
        for entry in bundle.journal.entries
    )


def _between(
    before: _Drawn, after: _Drawn, attempts: int | None, rules: Ruleset
) -> Iterator[Finding]:
    """`attempts` is how often the tuner may run before a case; None excuses any work."""
    seconds = (after.first_ns - before.last_ns) * 1e-9
    grown_mj = after.first_mj - before.last_mj
    if seconds <= 0:  # GK004 says so
        return
    place = after.run.at(f"column {_COLUMN} since {before.run.evidence.path}", ENERGY.file)
    device = after.run.device
    if grown_mj < 0:
        if device is not None and device.persistence_enabled:
            yield Finding(place, f"{-grown_mj} mJ less", "a counter that never falls")
        return
    idle_mw = min(before.idle_mw, after.idle_mw)
    found = f"{grown_mj / 1000:.0f} J in {seconds:.1f} s"
    limit_mw = after.run.document.limits_before.power_enforced_mw
    if limit_mw is not None and grown_mj > (1 + rules.power_over_limit) * limit_mw * seconds:
        yield Finding(place, found, f"at most what {limit_mw} mW draw in that time")
        return
    if grown_mj < rules.between_idle_least * idle_mw * seconds:
        least = rules.between_idle_least * idle_mw
        yield Finding(place, found, f"at least what {least:.0f} mW draw in that time")
        return
    if attempts is None:
        return
    is_first = before.run.case.id != after.run.case.id
    share = rules.between_work + rules.between_work_per_attempt * attempts * is_first
    own_mj = max(before.over_idle_mj, after.over_idle_mj)
    final_s = rules.between_final_s if is_first and attempts else 0.0
    final_mj = final_s * max(0.0, after.load_mw - after.idle_mw)
    work_mj = grown_mj - idle_mw * seconds
    if before.is_load and after.is_load and work_mj > share * own_mj + final_mj:
        shown = f"{work_mj / 1000:.0f} J over idle in {seconds:.1f} s"
        required = f"at most {share:.2f} of the {own_mj / 1000:.0f} J of a run itself"
        if final_mj:
            required += f", and {final_mj / 1000:.0f} J of a final"
        yield Finding(place, shown, required)
