"""What would a plan take on one device: buffer sets, bytes, launches and at least how long?"""

from dataclasses import dataclass

from kit.gpu_table import GpuRow
from kit.number_format import number_format
from kit.plan import Case, RunPlan
from kit.rotation import input_bytes, output_bytes, sets_required
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
    """One run of one case. A set's bytes are exact; a device loop may take more sets than `sets`.

    `pool_bytes` counts the inputs and outputs of all `sets`, and `fits` goes by it.
    Launches are the plan's minima. `sol_ns` bounds one launch from below at the test's clock (the
    product's peak tensor clock unless the plan fixes one); `shortest_s` bounds one run, compilation
    left out. Null: the device's figures are not known.
    """

    id: str
    flops: int
    input_bytes_per_set: int
    output_bytes_per_set: int
    sets: int | None
    pool_bytes: int | None
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


def _graphics_mhz(plan: RunPlan, row: GpuRow | None) -> int | None:
    if row is None:
        return None
    return plan.test_type.clock_mhz or row.peak_tensor_clock_mhz or row.maximum_graphics_mhz


def _case(plan: RunPlan, case: Case, target: Target, graphics_mhz: int | None) -> CaseEstimate:
    row_format = number_format(case.number_format)
    inputs = input_bytes(case.workload, row_format)
    outputs = output_bytes(case.workload, row_format)
    sets = None if target.cache_bytes is None else sets_required(inputs, target.cache_bytes)
    pool = None if sets is None else sets * (inputs + outputs)
    known = pool is not None and target.memory_bytes is not None
    sol_ns = _sol_ns(case, target.row, graphics_mhz)
    return CaseEstimate(
        id=case.id,
        flops=case.workload.flops,
        input_bytes_per_set=inputs,
        output_bytes_per_set=outputs,
        sets=sets,
        pool_bytes=pool,
        fits=(pool or 0) <= (target.memory_bytes or 0) if known else None,
        warm_up_launches=plan.phases.warm_up_min_launches,
        profiling_launches=plan.phases.profiling_min_launches,
        sol_ns=sol_ns,
        shortest_s=_shortest_s(plan, sol_ns),
    )


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
