"""The rotation does not outgrow the cache.

## What it checks
The bytes of a set follow from the case. The inputs of all sets together are at least twice the
device's last-level cache, in two sets or more. The cache's size is the one that the environment
states for the device and, where the device is in the kit's table, no smaller than the table's. All
buffers together fit into the device's memory.

## Why it matters
With a smaller footprint a part of the operands is still in the cache when its set comes round
again, and the GEMM reads them faster than from DRAM.

## How to fix
Measure again; the kit computes the number of sets from the cache that the device reports.

## Clause
M24: the footprint of all input buffers is at least twice the L2 cache, in at least two buffers.

## Example
Passes: 480 sets of 262,144 bytes against 62,914,560 bytes of L2.
Fails: 479 of them.
"""

from collections.abc import Iterator

from kit.bundle import layout
from kit.bundle.reader import Bundle
from kit.checker.rule import Finding, rule
from kit.checker.runs import MeasuredRun, judge_runs
from kit.gpu_table import row_for
from kit.rotation import input_bytes, output_bytes, sets_required
from kit.ruleset import Ruleset


@rule("GK307", "rotation-footprint-too-small", clauses=("M24",), since="2026.1")
def check(bundle: Bundle, rules: Ruleset) -> Iterator[Finding]:
    """Compute every size again."""

    def judge(run: MeasuredRun) -> Iterator[Finding]:
        rotation = run.document.rotation
        inputs = input_bytes(run.case.workload, run.number_format)
        outputs = output_bytes(run.case.workload, run.number_format)
        for name, found, wanted in (
            ("input_bytes_per_set", rotation.input_bytes_per_set, inputs),
            ("output_bytes_per_set", rotation.output_bytes_per_set, outputs),
        ):
            if found != wanted:
                yield Finding(run.at(f"rotation.{name}"), str(found), f"{wanted}, from the case")
        yield from _device(run, rotation.sets * (inputs + outputs), rules)
        cache_bytes = run.device.cache_bytes if run.device else rotation.cache_bytes
        needed = sets_required(inputs, cache_bytes)
        if rotation.sets < needed:
            required = f"at least {needed} for a cache of {cache_bytes} bytes"
            yield Finding(run.at("rotation.sets"), str(rotation.sets), required)

    yield from judge_runs(bundle, judge)


def _device(run: MeasuredRun, pool_bytes: int, rules: Ruleset) -> Iterator[Finding]:
    device = run.device
    if device is None:
        return
    found = run.document.rotation.cache_bytes
    if found != device.cache_bytes:
        required = f"{device.cache_bytes}, as {layout.ENVIRONMENT} states for {device.id}"
        yield Finding(run.at("rotation.cache_bytes"), str(found), required)
    if pool_bytes > device.memory_bytes:
        held = f"{run.document.rotation.sets} sets of {pool_bytes} bytes"
        required = f"at most the device's {device.memory_bytes} bytes"
        yield Finding(run.at("rotation.sets"), held, required)
    row = row_for(device)
    if row is None or row.l2_bytes is None:
        return
    if device.cache_bytes < rules.cache_share_of_table * row.l2_bytes:
        place = f"{layout.ENVIRONMENT}: cache_bytes of {device.id}"
        yield Finding(place, str(device.cache_bytes), f"about {row.l2_bytes} for {row.product}")
