"""GEMMs read less from DRAM than their operands hold: a part was still in the cache.

## What it checks
In a rerun under Nsight Compute or JAX's own profiler, every sampled GEMM read at least 0.98 of the
bytes of A and B from DRAM. The rerun rotated as many sets as a measured run, its samples follow the
circular order (one that covers many GEMMs goes through every set), and no kernel was replayed for
the count. Nsight Compute looks at single GEMMs, JAX's profiler at calls in the run's mode; where
the tool names the kernels, the one that was timed is among them. More than 32 times the operands'
bytes is a warning: no cache would be left at work. A test at a fixed frequency also has the
utilisation of SMs and of DRAM and the bytes written. Where the outputs of all sets outgrow the
cache twice over, at least 0.98 of the bytes of D were written, but for one cache's worth. Hit
rates, L2 bytes and multicast inform only.
Without counters this rule is unproven on a GPU; GK306, GK307 and GK308 then judge the rotation
itself.

## Why it matters
An operand that is found in the cache costs neither the time nor the power of a read. The hit rate
of the cache alone cannot tell: within one GEMM every tile is read several times.

## How to fix
Measure with `counters=ncu` or `counters=xla`, as a user that may read counters. If bytes are
missing, see GK307: the rotation does not outgrow the cache.

## Clause
M16 (cache hit rate proves rotation), M13 (utilisation and bytes of a fixed-frequency test).

## Example
Passes: 16,777,984 bytes read by a bf16 GEMM of 2048^3, whose A and B hold 16,777,216.
Fails: 435,456 bytes read by the same GEMM with one buffer set.
"""

import re
from collections.abc import Iterator
from statistics import median

from kit.bundle import layout
from kit.bundle.reader import Bundle
from kit.checker.rule import Finding, Unproven, rule
from kit.checker.runs import MeasuredRun, measured_runs, only_on_gpu
from kit.counters import (
    DRAM_READ,
    DRAM_UTILISATION,
    DRAM_WRITE,
    SM_ACTIVE,
    SM_UTILISATION,
    Counter,
    DeviceCounters,
    bytes_per_launch,
)
from kit.rotation import CACHE_MULTIPLE, input_bytes, output_bytes, set_of
from kit.ruleset import Ruleset

_PLAIN = re.compile(r"(?!_Z)[A-Za-z0-9_]+", re.ASCII)
"""Names that every tool writes alike; those of C++ are mangled by one and spelt out by another."""
_FIXED_FREQUENCY = (
    ("SM utilisation", (SM_UTILISATION, SM_ACTIVE)),
    ("DRAM utilisation", (DRAM_UTILISATION,)),
    ("bytes written to DRAM", (DRAM_WRITE,)),
)


@rule("GK312", "cache-warm", clauses=("M13", "M16"), since="2026.1")
def check(bundle: Bundle, rules: Ruleset) -> Iterator[Finding]:
    """Judge the counters of every case and device that was measured."""
    only_on_gpu(bundle, "DRAM traffic by a GPU's counters")
    runs: dict[tuple[str, str], list[MeasuredRun]] = {}
    for run in measured_runs(bundle):
        runs.setdefault((run.case.id, run.document.device), []).append(run)
    reasons = [] if runs else ["the bundle holds no measured run"]
    for (case, device), measured in runs.items():
        found = bundle.cases[case].counters.get(device)
        place = layout.counters_file(case, device)
        if found is None:
            reasons.append(f"{place} is missing")
            continue
        try:
            yield from _judge(bundle, found, measured, place, rules)
        except Unproven as why:
            reasons.append(str(why))
    if reasons:
        more = f" (and {len(reasons) - 1} more)" if len(reasons) > 1 else ""
        raise Unproven(f"footprint rule only: {reasons[0]}{more}")


def _judge(
    bundle: Bundle,
    found: DeviceCounters,
    measured: list[MeasuredRun],
    place: str,
    rules: Ruleset,
) -> Iterator[Finding]:
    asked = bundle.plan.counters.tool
    if found.tool != asked:
        yield Finding(f"{place}: tool", found.tool, f"{asked}, as {layout.PLAN}")
    if asked == "none" and found.status != "not_asked":
        yield Finding(f"{place}: status", found.status, "not_asked, as no tool was asked for")
    if found.status != "ok":
        raise Unproven(f"{place}: {found.status}: {found.reason}")
    read = found.counter(DRAM_READ)
    if read is None:
        raise Unproven(f"{place}: no values of {DRAM_READ}")
    rotated = {run.document.rotation.sets for run in measured}
    if found.rotation_sets not in rotated:
        sets = " or ".join(map(str, sorted(rotated)))
        yield Finding(f"{place}: rotation_sets", str(found.rotation_sets), f"{sets}, as measured")
    modes = {"single"} if asked == "ncu" else {run.document.dispatch.mode for run in measured}
    if asked != "none" and found.mode not in modes:
        yield Finding(
            f"{place}: mode", str(found.mode), f"{' or '.join(sorted(modes))}, by {asked}"
        )
    yield from _kernels(read, measured, f"{place}: {DRAM_READ}.kernels")
    yield from _sampling(read, found.rotation_sets or 0, f"{place}: {DRAM_READ}")
    inputs = input_bytes(measured[0].case.workload, measured[0].number_format)
    yield from _bytes(read, inputs, f"{place}: {DRAM_READ}", rules)
    yield from _written(found, measured[0], place, rules)
    if bundle.plan.test_type.name == "fixed_frequency":
        for what, names in _FIXED_FREQUENCY:
            if not any(found.counter(name) for name in names):
                raise Unproven(f"{place}: no {what}, which a test at a fixed frequency must have")


def _kernels(read: Counter, measured: list[MeasuredRun], place: str) -> Iterator[Finding]:
    """Whether the counted kernels are the timed ones, as far as both tools write names alike."""
    timed = {
        run.evidence.trace.gemm_name
        for run in measured
        if run.evidence.trace is not None and run.evidence.trace.gemm_name
    }
    if not read.kernels or not all(map(_PLAIN.fullmatch, (*read.kernels, *timed))):
        return
    if timed and not timed & set(read.kernels):
        required = f"{' or '.join(sorted(timed))}, the kernel that was timed"
        yield Finding(place, ", ".join(read.kernels), required)


def _sampling(read: Counter, sets: int, place: str) -> Iterator[Finding]:
    """Whether the samples are of rotated launches, each profiled in a single pass."""
    if read.passes != 1:
        required = "1: a replay finds the operands in the cache"
        yield Finding(f"{place}: passes", str(read.passes), required)
    if len(read.sets) != len(read.values):
        yield Finding(f"{place}: sets", str(len(read.sets)), f"{len(read.values)}, one a value")
    step = max(1, read.launches_per_value)
    first = read.sets[0] if read.sets else 0
    required_sets = [set_of(first + i * step, max(1, sets)) for i in range(len(read.sets))]
    if list(read.sets) != required_sets:
        yield Finding(f"{place}: sets", _listed(read.sets), f"{_listed(required_sets)}, circular")
    covered = len(read.values) * step
    if covered < min(sets, 2 if step == 1 else sets):
        required = "2 launches or more" if step == 1 else f"all {sets} sets"
        yield Finding(f"{place}: values", f"{covered} launches", required)


def _bytes(read: Counter, inputs: int, place: str, rules: Ruleset) -> Iterator[Finding]:
    found = bytes_per_launch(read)
    least = rules.dram_read_least * inputs
    for name, value in (("least", min(found)), ("median", median(found))):
        if value < least:
            shown = f"{name} {value:.0f} bytes a GEMM, {value / inputs:.3f} of A and B"
            yield Finding(place, shown, f"at least {least:.0f}: A and B hold {inputs}")
    most = rules.dram_read_most * inputs
    if max(found) > most:
        shown = f"{max(found):.0f} bytes a GEMM, {max(found) / inputs:.1f} times A and B"
        yield Finding(place, shown, f"at most {most:.0f}: A and B hold {inputs}", "warn")


def _written(
    found: DeviceCounters, run: MeasuredRun, place: str, rules: Ruleset
) -> Iterator[Finding]:
    written = found.counter(DRAM_WRITE)
    outputs = output_bytes(run.case.workload, run.number_format)
    cache = run.document.rotation.cache_bytes
    if written is None or run.document.rotation.sets * outputs < CACHE_MULTIPLE * cache:
        return
    held_back = cache / max(1, written.launches_per_value)
    least = rules.dram_write_least * outputs - held_back
    value = min(bytes_per_launch(written))
    if value < least:
        shown = f"least {value:.0f} bytes a GEMM, {value / outputs:.3f} of D"
        required = f"at least {least:.0f}: D holds {outputs}"
        yield Finding(f"{place}: {DRAM_WRITE}", shown, required)


def _listed(sets: tuple[int, ...] | list[int]) -> str:
    return ", ".join(map(str, sets[:8])) + (", ..." if len(sets) > 8 else "")
