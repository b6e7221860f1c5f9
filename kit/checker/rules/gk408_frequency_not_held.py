"""The clock of a fixed-frequency test was not held.

## What it checks
Every graphics clock sample of the profiling interval lies within one clock step of the requested
clock, and there are enough samples to say so. Where the kit locked the clock itself, the journal
holds for each device one lock of that clock that NVML took before the first run and reset after the
last one. A test at a fixed power has no lock.

## Why it matters
A locked clock is a request; power and thermal control overrule it silently. Without samples that
show the clock, the label `fixed_frequency` is refused.

## How to fix
Lock the clock before the run. If it was locked, choose a lower one: the finding names the next step
down that would have held, the largest one that no sample fell below.

## Clause
M07 (two kinds of test), M08 (the chosen clock must be sustained).

## Example
Passes: 1200 MHz requested, 1200 MHz in all 638 samples.
Fails: one sample of 1170 MHz.
"""

from collections.abc import Iterator

from kit.bundle import layout
from kit.bundle.reader import Bundle
from kit.checker.rule import Finding, NotApplicable, rule
from kit.checker.runs import MeasuredRun, judge_runs, measured_runs
from kit.evidence import ClockLock
from kit.held_clock import held_clock, remedy
from kit.ruleset import Ruleset
from kit.timeline import within
from kit.trace import CLOCKS


@rule("GK408", "frequency-not-held", clauses=("M07", "M08"), since="2026.1")
def check(bundle: Bundle, rules: Ruleset) -> Iterator[Finding]:
    """Compare every clock sample with the requested clock."""
    if bundle.plan.test_type.name != "fixed_frequency":
        if records := bundle.journal.clock_locks:
            place = f"{layout.JOURNAL}: clock_locks"
            yield Finding(place, f"{len(records)} locks", "none in a test at a fixed power")
            return
        raise NotApplicable("the test is not at a fixed frequency")
    wanted = bundle.plan.test_type.clock_mhz
    if wanted is None:
        place = f"{layout.PLAN}: test_type.clock_mhz"
        yield Finding(place, "null", "the clock that a fixed-frequency test holds")
        return
    yield from _locks(bundle, wanted)

    def judge(run: MeasuredRun) -> Iterator[Finding]:
        clocks = run.evidence.tables.get(CLOCKS.file)
        place = run.at("column graphics_mhz in profiling", CLOCKS.file)
        held = None
        if clocks is not None and "graphics_mhz" in clocks:
            samples = within(clocks, *run.profiling_interval())["graphics_mhz"]
            held = held_clock(samples, wanted, rules.clock_step_mhz)
        count = held.samples if held else 0
        if count < rules.minimum_clock_samples:
            required = f"at least {rules.minimum_clock_samples}, or no fixed_frequency"
            yield Finding(place, f"{count} samples", required)
        if held and not held.held:
            advice = remedy(held, run.maximum_graphics_mhz, rules.clock_step_mhz)
            required = f"{wanted} MHz within {rules.clock_step_mhz} MHz"
            yield Finding(place, held.text, f"{required}; {advice}" if advice else required)

    yield from judge_runs(bundle, judge)


def _locks(bundle: Bundle, wanted: int) -> Iterator[Finding]:
    """What the journal says of the kit's own locks."""
    records = bundle.journal.clock_locks
    place = f"{layout.JOURNAL}: clock_locks"
    if not bundle.plan.test_type.lock:
        if records:
            yield Finding(place, f"{len(records)} locks", "none, as test_type.lock is false")
        return
    spans: dict[str, tuple[int, int]] = {}
    for run in measured_runs(bundle):
        document = run.document
        first, last = spans.get(document.device, (document.started_ns, document.ended_ns))
        spans[document.device] = (
            min(first, document.started_ns), max(last, document.ended_ns),
        )  # fmt: skip
    for device, span in spans.items():
        mine = [record for record in records if record.device == device]
        if len(mine) != 1:
            yield Finding(place, f"{len(mine)} locks of {device}", "one lock")
        for record in mine:
            yield from _lock(f"{place}: {device}", record, wanted, span)


def _lock(place: str, record: ClockLock, wanted: int, span: tuple[int, int]) -> Iterator[Finding]:
    if record.set_status != "ok":
        found = f"refused: {record.set_status} {record.set_reason}"
        yield Finding(place, found, "a lock that NVML took, or no fixed_frequency")
    if record.requested_mhz != wanted:
        yield Finding(place, f"{record.requested_mhz} MHz", f"{wanted} MHz, as planned")
    if not record.set_ns <= span[0] < span[1] <= record.reset_ns:
        found = f"locked from {record.set_ns} to {record.reset_ns} ns"
        yield Finding(place, found, f"locked throughout the runs, {span[0]} to {span[1]} ns")
    if record.reset_status != "ok":
        found = f"not reset: {record.reset_status} {record.reset_reason}"
        yield Finding(place, found, "reset after the last run (nvidia-smi -rgc)", "warn")
