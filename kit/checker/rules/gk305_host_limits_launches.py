"""The host hands launches over more slowly than the device works them off.

## What it checks
In the pilot of the chosen dispatch mode, handing over one call took no longer than the edition's
share of the time that the call's GEMMs take. On a GPU that period, and the least that the tuner
saw, are the windows' own within the edition's ratios. In the measurement itself the host had handed
over a window's last call long before the device ended it: in the middle of the windows by the
edition's number of launches. In all but a few it was ahead by no more calls than JAX allows. Nor
was it by more kernels than the driver queues, where the trace of a known GPU shows a memset before
every GEMM.

## Why it matters
If the host is the slower one, the device waits between kernels and the figure is the host's.

## How to fix
Leave `backend.dispatch` at `auto`, which chooses a device loop for small problems, and use a host
that is not shared.

## Clause
M05: the processor must not limit the kernel launch rate.

## Example
Passes: a call of 48 µs for one GEMM of 3.19 ms.
Fails: calls of 64 µs for GEMMs of 3 µs, so that the host is never two launches ahead. Or 35 calls
ahead, for windows that were shortened beside their enqueue times.
"""

from collections.abc import Iterator

from kit.bundle.reader import Bundle
from kit.checker.rule import Finding, Severity, Unproven, methodology_severity, rule
from kit.checker.runs import MeasuredRun, each, judge_runs, only_on_gpu
from kit.gpu_registers import registers_of
from kit.kernels import kernel_figures
from kit.ruleset import Ruleset
from kit.timeline import lead_slack_ns, mean_period_ns, profiling_lead_ns
from kit.trace import WINDOWS


@rule("GK305", "host-limits-launches", clauses=("M05",), since="2026.1")
def check(bundle: Bundle, rules: Ruleset) -> Iterator[Finding]:
    """Compare both times of the pilot, and the host's lead with the calls it stands for."""
    only_on_gpu(bundle, "a launch rate: the host itself computes")
    severity = methodology_severity(bundle)

    def judge(run: MeasuredRun) -> Iterator[Finding]:
        questions = [_headroom(run, rules, severity), _pilot(run, rules)]
        candidates = run.document.dispatch.candidates
        raced = [entry.period_ns for entry in candidates if entry.period_ns is not None]
        if raced:
            questions.append(_period(run, "candidates", min(raced), rules))
        if run.document.timing.method == "cuda_events":
            questions.append(_lead(run, rules, severity))
        yield from each(*questions)

    yield from judge_runs(bundle, judge)


def _headroom(run: MeasuredRun, rules: Ruleset, severity: Severity) -> Iterator[Finding]:
    pilot = run.document.dispatch
    if pilot.pilot_enqueue_ns is None or pilot.pilot_period_ns is None:
        raise Unproven("the pilot's times are missing")
    call_ns = pilot.pilot_period_ns * run.document.executable.gemms_per_call
    if pilot.pilot_enqueue_ns > rules.dispatch_headroom * call_ns:
        found = f"{pilot.pilot_enqueue_ns} ns to hand over a call of {call_ns} ns"
        required = f"at most {rules.dispatch_headroom:.0%} of it"
        yield Finding(run.at("dispatch.pilot_enqueue_ns"), found, required, severity)


def _pilot(run: MeasuredRun, rules: Ruleset) -> Iterator[Finding]:
    period_ns = run.document.dispatch.pilot_period_ns
    if period_ns is None:
        raise Unproven("the pilot's times are missing")
    yield from _period(run, "pilot_period_ns", period_ns, rules)


def _period(run: MeasuredRun, seen_by: str, seen_ns: float, rules: Ruleset) -> Iterator[Finding]:
    period_ns = mean_period_ns(run.profiling_windows())
    low, high = rules.pilot_period_least, rules.pilot_period_most
    if not low * period_ns <= seen_ns <= high * period_ns:
        required = f"{low:g} to {high:g} times the windows' {period_ns:.6g} ns"
        yield Finding(run.at(f"dispatch.{seen_by}"), f"{seen_ns:.6g} ns", required)


def _lead(run: MeasuredRun, rules: Ruleset, severity: Severity) -> Iterator[Finding]:
    profiling, windows = run.profiling_windows(), run.table(WINDOWS.file)
    period_ns = mean_period_ns(profiling)
    slack_ns = lead_slack_ns(run.document.timing, rules.anchor_width_s)
    middle_ns = profiling_lead_ns(run.document.timing, windows)
    most_ns = profiling_lead_ns(run.document.timing, windows, rules.lead_share)
    place = run.at("column enqueue_end_ns in profiling", WINDOWS.file)
    calls = (most_ns - slack_ns) / (period_ns * run.document.executable.gemms_per_call)
    is_loop = run.document.executable.gemms_per_call > 1
    most_calls = rules.most_loops_ahead if is_loop else rules.most_calls_ahead
    if calls > most_calls:
        required = f"at most {most_calls}, as JAX lets a host run ahead"
        yield Finding(place, f"{calls:.1f} calls ahead of the device", required)
    streamed = _kernels_streamed(run, rules) * (most_ns - slack_ns) / period_ns
    if streamed > rules.most_kernels_ahead:
        required = f"at most {rules.most_kernels_ahead}, as the driver queues"
        yield Finding(place, f"{streamed:.0f} kernels and memsets ahead of the device", required)
    launches = (middle_ns + slack_ns) / period_ns
    if launches < rules.launches_ahead:
        found = f"{launches:.1f} launches ahead of the device"
        yield Finding(place, found, f"at least {rules.launches_ahead}", severity)


def _kernels_streamed(run: MeasuredRun, rules: Ruleset) -> int:
    """What the driver queues for a GEMM that is launched with a memset of its own.

    0 for any other, for a part of a graph, as the gaps tell, and on a device that was never read.
    """
    found = kernel_figures(run.evidence.trace, run.evidence.tables)
    if found is None or registers_of(run.device) is None:
        return 0
    has_memset = any("memset" in helper.lower() for helper in found.helpers)
    is_streamed = has_memset and found.gap_median_ns >= rules.streamed_gap_ns
    return found.kernels_per_gemm if is_streamed else 0
