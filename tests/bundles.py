"""Honest bundles for the checker's tests, and ways to break exactly one thing in them.

A bundle is a frozen value: `with_run`, `with_table` and their like return a changed copy, with the
claims derived anew, so that only the rule that guards the changed thing fires. Paths of fields are
dotted: `with_field(bundle, GUIDELINE, 1, "timing.end.after_ns", 5)`.
"""

import math
from dataclasses import replace
from functools import cache

import honest_cpu as cpu
import honest_gpu as gpu
from edits import (
    field,
    in_every_run,
    reseal,
    with_claims,
    with_column,
    with_counter,
    with_counters,
    with_disturbed_host,
    with_environment,
    with_field,
    with_fields,
    with_hlo,
    with_kernels,
    with_lead,
    with_plan,
    with_rows,
    with_run,
    with_system,
    with_table,
    without_column,
    without_table,
    without_trace,
    write,
)
from hlo_texts import looped_gemms
from honest import rederived
from honest_cpu import BATCHED, MXFP8, NVFP4, PLAIN
from honest_gpu import DECODE, GUIDELINE
from honest_kernels import kernels
from kit.checker.catalogue import all_rules
from kit.checker.judge import run_rule
from kit.ruleset import ruleset
from kit.timeline import mean_period_ns, rows_of_phase
from kit.trace import PROFILING

__all__ = [
    "BATCHED", "DECODE", "GUIDELINE", "MXFP8", "NVFP4", "PLAIN", "changed", "codes",
    "device_loop", "field", "findings", "fixed_frequency", "honest_cpu", "honest_gpu",
    "honest_on_gpus",
    "in_every_run", "outcome", "rederived", "reseal", "result", "rules", "scaled",
    "slope_by_its_windows", "uncounted_gpu",
    "with_claims", "with_column", "with_counter", "with_counters", "with_disturbed_host",
    "with_environment", "with_field", "with_fields", "with_hlo", "with_kernels", "with_lead",
    "with_plan", "with_rows", "with_run", "with_system", "with_table",
    "without_column", "without_table", "without_trace", "write",
]  # fmt: skip


@cache
def honest_gpu(division="open"):
    """Two cases on one H200, three replicates each, cuda_events and NVML."""
    return gpu.build(division)


@cache
def uncounted_gpu(division="open"):
    """The GPU bundle as it is without hardware counters."""
    return gpu.build(division, tool="none")


@cache
def honest_cpu():
    """Two small cases on a CPU host, two replicates each, host_clock and host telemetry."""
    return cpu.build()


@cache
def scaled(fill="uniform"):
    """A case in mxfp8 and one in nvfp4 on a CPU host, which emulates them."""
    return cpu.build(cpu.SCALED, fill)


@cache
def fixed_frequency(division="open"):
    """The decode case at 1980 MHz with zero fill: a clock that the recorded run did hold."""
    return gpu.build(division, gpu.HELD_CLOCK, (DECODE,))


@cache
def device_loop(division="open"):
    """The GPU bundle, its decode case handed over as 16 trips round both sets a call."""
    case = honest_gpu(division).plan.case(DECODE)
    bundle = with_hlo(honest_gpu(division), DECODE, lambda _: looped_gemms(case, 2, 16))
    for number in (1, 2, 3):
        bundle = with_field(bundle, DECODE, number, "dispatch.mode", "device_loop")
        bundle = with_field(bundle, DECODE, number, "executable.gemms_per_call", 32)
        bundle = with_lead(bundle, DECODE, number, 31 * 32 * 33_000)
        bundle = with_run(bundle, DECODE, number, slope_by_its_windows)
        looped = kernels(33_000, 4, 32, [number, 32], sets=2, mhz=1980.0)
        bundle = with_kernels(bundle, DECODE, number, lambda _, looped=looped: looped)
    return bundle


def honest_on_gpus():
    """An honest bundle of each kind that a GPU rule meets."""
    return [honest_gpu(), honest_gpu("closed"), fixed_frequency(), device_loop()]


def slope_by_its_windows(run):
    """The host slope of as many calls as last a second at the windows' mean period."""
    per_call = run.document.executable.gemms_per_call
    period_ns = mean_period_ns(rows_of_phase(run.tables["windows.csv"], PROFILING))
    launches = math.ceil(gpu.SLOPE_NS / period_ns / per_call) * per_call
    controls = tuple(
        replace(c, launches=launches, duration_ns=c.duration_ns * launches // c.launches)
        if c.name == "host_slope"
        else c
        for c in run.document.timing.controls
    )
    timing = replace(run.document.timing, controls=controls)
    return replace(run, document=replace(run.document, timing=timing))


@cache
def rules():
    """Every rule of the folder by its code."""
    return {rule.code: rule for rule in all_rules()}


def result(code, bundle):
    """What the judge makes of one rule: outcome, reason, findings."""
    return run_rule(rules()[code], bundle, ruleset(bundle.plan.edition))


def outcome(code, bundle):
    """Outcome of one rule: pass, warn, fail, unproven, not_applicable or error."""
    return result(code, bundle).outcome


def findings(code, bundle):
    """The findings of one rule."""
    return result(code, bundle).findings


def codes(bundle):
    """Outcome of every rule by its code."""
    return {code: outcome(code, bundle) for code in rules()}


_HONEST = {
    "honest-gpu-open-fixed_power": honest_gpu,
    "honest-gpu-closed-fixed_power": lambda: honest_gpu("closed"),
    "honest-gpu-open-fixed_frequency": fixed_frequency,
    "honest-gpu-closed-fixed_frequency": lambda: fixed_frequency("closed"),
    "honest-gpu-open-fixed_power-uncounted": uncounted_gpu,
    "honest-gpu-closed-fixed_power-uncounted": lambda: uncounted_gpu("closed"),
    "honest-cpu": honest_cpu,
    "honest-cpu-scaled-uniform": scaled,
    "honest-cpu-scaled-zero": lambda: scaled("zero"),
}


@cache
def _honest_codes(name):
    return codes(_HONEST[name]())


def changed(bundle):
    """Outcomes that differ from those of the honest bundle that `bundle` was made from."""
    before = _honest_codes(bundle.container.name)
    return {code: found for code, found in codes(bundle).items() if found != before[code]}
