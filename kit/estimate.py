"""What would a plan take on one device: buffer sets, bytes, launches and at least how long?"""

import math
from dataclasses import dataclass

from kit.gpu_table import GpuRow
from kit.number_format import number_format
from kit.plan import Case, DispatchMode, RunPlan
from kit.rotation import (
    SHORTEST_GEMM_NS,
    input_bytes,
    most_sets,
    output_bytes,
    sets_for,
    sets_required,
)
from kit.sol import speed_of_light


@dataclass(frozen=True, slots=True)
class Target:
    """The device that a plan is estimated for. What is null is not known.

    `cache_bytes` is the last-level cache that the operands must outgrow; `row` the product's rates.
    """

    name: str
    cache_bytes: int | None
    memory_bytes: int | None
    row: GpuRow | None


@dataclass(frozen=True, slots=True)
class CaseEstimate:
    """One run of one case: a set's bytes, and at least `sets`, at most `most_sets` of them.

    The two differ where a device loop may run: it takes as many sets as the GEMM's own time asks
    for, which only a pilot tells. `pool_bytes` and `most_pool_bytes` are the inputs and outputs of
    so many. `fits` is true where the most fit, false where the least do not or are more sets than
    the kit rotates, null in between.
    Launches are the plan's minima. `sol_ns` bounds one launch from below at the test's clock (the
    product's peak tensor clock unless the plan fixes one); `shortest_s` bounds one run, compilation
    left out. Null: the device's figures are not known.
    """

    id: str
    flops: int
    input_bytes_per_set: int
    output_bytes_per_set: int
    sets: int | None
    most_sets: int | None
    pool_bytes: int | None
    most_pool_bytes: int | None
    fits: bool | None
    warm_up_launches: int
    profiling_launches: int
    sol_ns: float | None
    shortest_s: float


@dataclass(frozen=True, slots=True)
class Estimate:
    """What a plan would take on each device: `runs` fresh processes and at least `shortest_s`."""

    device: str
    cache_bytes: int | None
    graphics_mhz: int | None
    runs: int
    shortest_s: float
    cases: tuple[CaseEstimate, ...]


def estimate(plan: RunPlan, target: Target) -> Estimate:
    """Estimate every case of `plan` on `target`; measures nothing."""
    graphics_mhz = _graphics_mhz(plan, target.row)
    cases = tuple(_case(plan, case, target, graphics_mhz) for case in plan.cases)
    seconds = plan.replicates * sum(case.shortest_s for case in cases)
    runs = plan.replicates * len(cases)
    return Estimate(target.name, target.cache_bytes, graphics_mhz, runs, seconds, cases)


def planned_mode(plan: RunPlan) -> DispatchMode:
    """The mode that a plan asks for; of `auto` on a GPU the one that may take the most sets."""
    if plan.backend.dispatch != "auto":
        return plan.backend.dispatch
    return "single" if plan.backend.platform == "cpu" else "device_loop"


def _graphics_mhz(plan: RunPlan, row: GpuRow | None) -> int | None:
    if row is None:
        return None
    return plan.test_type.clock_mhz or row.peak_tensor_clock_mhz or row.maximum_graphics_mhz


def _highest_mhz(plan: RunPlan, row: GpuRow | None) -> int | None:
    """A clock that the plan leaves free may be above the peak tensor clock under light load."""
    if row is None:
        return None
    return plan.test_type.clock_mhz or row.maximum_graphics_mhz or row.peak_tensor_clock_mhz


def _case(plan: RunPlan, case: Case, target: Target, graphics_mhz: int | None) -> CaseEstimate:
    row_format = number_format(case.number_format)
    inputs = input_bytes(case.workload, row_format)
    outputs = output_bytes(case.workload, row_format)
    sets, largest = _sets(plan, case, target, inputs)
    pool = None if sets is None else sets * (inputs + outputs)
    most = None if largest is None else largest * (inputs + outputs)
    sol_ns = _sol_ns(case, target.row, graphics_mhz)
    sets_are_few = sets is None or sets <= most_sets(planned_mode(plan))
    return CaseEstimate(
        id=case.id,
        flops=case.workload.flops,
        input_bytes_per_set=inputs,
        output_bytes_per_set=outputs,
        sets=sets,
        most_sets=largest,
        pool_bytes=pool,
        most_pool_bytes=most,
        fits=sets_are_few and _fits(pool, most, target.memory_bytes),
        warm_up_launches=plan.phases.warm_up_min_launches,
        profiling_launches=plan.phases.profiling_min_launches,
        sol_ns=sol_ns,
        shortest_s=_shortest_s(plan, sol_ns),
    )


def _sets(plan: RunPlan, case: Case, target: Target, inputs: int) -> tuple[int | None, int | None]:
    """The fewest and the most sets that a run may rotate.

    What `auto` chooses on a GPU lies between: a single launch has a loop's fewest sets.
    """
    if target.cache_bytes is None:
        return None, None
    minimum = sets_required(inputs, target.cache_bytes)
    mode = planned_mode(plan)
    fewest = sets_for(mode, minimum, math.inf)
    if mode != "device_loop":
        return fewest, fewest
    if plan.backend.platform == "cpu":
        return fewest, None
    bound_ns = _sol_ns(case, target.row, _highest_mhz(plan, target.row)) or 0.0
    return fewest, sets_for(mode, minimum, max(SHORTEST_GEMM_NS, bound_ns))


def _fits(least: int | None, most: int | None, memory_bytes: int | None) -> bool | None:
    if memory_bytes is None or least is None:
        return None
    if least > memory_bytes:
        return False
    return True if most is not None and most <= memory_bytes else None


def _sol_ns(case: Case, row: GpuRow | None, graphics_mhz: int | None) -> float | None:
    if row is None or graphics_mhz is None or row.memory_clock_mhz is None:
        return None
    row_format = number_format(case.number_format)
    bound = speed_of_light(case.workload, row_format, row, graphics_mhz, row.memory_clock_mhz)
    return None if bound is None else bound.total_ns


def _shortest_s(plan: RunPlan, sol_ns: float | None) -> float:
    """Every phase lasts its minimum of seconds, or its launches at the speed of light if longer."""
    phases = plan.phases
    period_s = (sol_ns or 0.0) * 1e-9
    warm_up_s = max(phases.warm_up_min_s, phases.warm_up_min_launches * period_s)
    profiling_s = max(phases.profiling_min_s, phases.profiling_min_launches * period_s)
    return (
        phases.idle_s + min(warm_up_s, phases.warm_up_max_s) + profiling_s + phases.cool_down_min_s
    )
