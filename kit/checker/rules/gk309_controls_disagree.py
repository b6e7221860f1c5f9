"""An independent timing of the same launches gives another time.

## What it checks
The control by DLPack events, on a stream of its own, covers exactly the profiling launches and
lasts as long as their windows. The host's slope over N and 2N launches gives their mean period.
Beside events a slope shorter than the edition's minimum is a fault; where the host's clock is the
only one, such a slope is not judged. The windows of warm-up and profiling fill the time between the
two moments when the device was drained, by the host's clock. A moment that the host saw only
roughly explains no more than the edition allows for.

## Why it matters
The windows are the submitter's figure. Three clocks that agree cannot all be wrong in the same way.

## How to fix
Look for an event on the wrong stream, or for a host that was suspended.

## Clause
M11: durations come from CUDA events or a profiler, and hold against a second method.

## Example
Passes: 12.763 s by windows, 12.764 s by DLPack events.
Fails: windows that are 2 % shorter than the control.
"""

from collections.abc import Iterator

from kit.bundle.reader import Bundle
from kit.checker.rule import Finding, Unproven, rule
from kit.checker.runs import MeasuredRun, judge_runs
from kit.evidence import Control
from kit.ruleset import Ruleset
from kit.timeline import anchored_span_ns, device_span_ns, launches_of, mean_period_ns
from kit.trace import WINDOWS


@rule("GK309", "controls-disagree", clauses=("M11",), since="2026.1")
def check(bundle: Bundle, rules: Ruleset) -> Iterator[Finding]:
    """Compare the windows with both controls and with the anchors."""
    is_gpu = bundle.plan.backend.platform == "cuda"

    def judge(run: MeasuredRun) -> Iterator[Finding]:
        yield from _anchors(run, rules, is_gpu=is_gpu)
        dlpack, slope = run.control("dlpack_events"), run.control("host_slope")
        if dlpack is not None:
            yield from _dlpack(run, dlpack, rules)
        if slope is not None:
            yield from _slope(run, slope, rules)
        missing = []
        if is_gpu and dlpack is None and run.document.timing.method != "host_clock":
            missing.append("dlpack_events")
        if is_gpu and slope is None:
            missing.append("host_slope")
        if missing:
            raise Unproven(f"control {' and '.join(missing)} is missing")

    yield from judge_runs(bundle, judge)


def _anchors(run: MeasuredRun, rules: Ruleset, *, is_gpu: bool) -> Iterator[Finding]:
    span_ns = device_span_ns(run.table(WINDOWS.file))
    anchored_ns, _ = anchored_span_ns(run.document.timing)
    explained_ns = round((rules.anchor_width_s if is_gpu else rules.anchor_width_host_s) * 1e9)
    allowed_ns = rules.anchor_skew * span_ns
    for name in ("start", "end"):
        anchor = getattr(run.document.timing, name)
        wide_ns = anchor.after_ns - anchor.before_ns
        place, found = run.at(f"timing.{name}"), f"{wide_ns} ns wide"
        if not 0 <= wide_ns <= rules.anchor_width_host_s * 1e9:
            required = f"0 to {rules.anchor_width_host_s:g} s around the drained moment"
            yield Finding(place, found, required)
            return
        if wide_ns > explained_ns:
            required = f"at most {explained_ns} ns; a wider one explains no more than that"
            yield Finding(place, found, required, "warn")
        allowed_ns += min(wide_ns, explained_ns)
    if abs(anchored_ns - span_ns) > allowed_ns:
        found = f"{anchored_ns} ns between the drained moments"
        required = f"{span_ns} ns of windows within {allowed_ns:.0f} ns"
        yield Finding(run.at("timing.end"), found, required)


def _dlpack(run: MeasuredRun, control: Control, rules: Ruleset) -> Iterator[Finding]:
    profiling = run.profiling_windows()
    launches = launches_of(profiling)
    place = run.at("timing.controls.dlpack_events")
    if control.launches != launches:
        yield Finding(place, f"{control.launches} launches", f"{launches}, all of profiling")
    total_ns = device_span_ns(profiling)
    if abs(control.duration_ns - total_ns) > rules.control_dlpack_difference * total_ns:
        required = f"{total_ns} ns within {rules.control_dlpack_difference:.1%}"
        yield Finding(place, f"{control.duration_ns} ns", required)


def _slope(run: MeasuredRun, control: Control, rules: Ruleset) -> Iterator[Finding]:
    place = run.at("timing.controls.host_slope")
    if control.duration_ns < rules.control_minimum_s * 1e9:
        if run.document.timing.method == "cuda_events":
            required = f"{rules.slope_s:g} s of launches; at least {rules.control_minimum_s:g} s"
            yield Finding(place, f"{control.duration_ns} ns", required)
        return
    mean_ns = mean_period_ns(run.profiling_windows())
    if control.launches < 1:
        yield Finding(place, f"{control.launches} launches", "at least 1")
        return
    found_ns = control.duration_ns / control.launches
    if abs(found_ns - mean_ns) > rules.control_host_difference * mean_ns:
        required = f"{mean_ns:.0f} ns within {rules.control_host_difference:.1%}"
        yield Finding(place, f"{found_ns:.0f} ns per launch", required)
