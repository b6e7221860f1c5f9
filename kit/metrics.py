"""The headline figures, derived from raw series. Runner, checker and reports all call this."""

import math
from statistics import median

import numpy as np
from numpy.typing import NDArray

from kit.evidence import CaseMetrics, DeviceFacts, KernelTrace, Run, RunMetrics
from kit.execution import execution
from kit.gpu_table import GpuRow, row_for
from kit.kernels import kernel_figures
from kit.number_format import number_format
from kit.plan import Case
from kit.remembered import remembered
from kit.sol import RATES, SpeedOfLight, speed_of_light
from kit.timeline import device_span_ns, launches_of, profiling_interval, rows_of_phase
from kit.trace import CLOCKS, ENERGY, POWER, PROFILING, WINDOWS, Table, rows_within

MINIMUM_SAMPLES = 2


def derive_run(  # noqa: PLR0913, PLR0917 - all that a run's figures come from
    case: Case,
    device: DeviceFacts,
    document: Run,
    tables: dict[str, Table],
    hlo: str | None,
    trace: KernelTrace | None = None,
) -> RunMetrics:
    """Figures of one run from its windows, its telemetry, its program and its kernel trace.

    The mean period is the profiling windows' total device time over their launches. Telemetry is
    averaged over exactly the profiling windows. Speed of light is that of the arithmetic which the
    program (None: not there) executed, whatever was asked for.

    Raises:
        ValueError: there is no profiling window.
    """
    windows = tables[WINDOWS.file]
    profiling = rows_of_phase(windows, PROFILING)
    if not len(profiling):
        raise ValueError("no profiling window")
    launches = launches_of(profiling)
    mean_period_ns = device_span_ns(profiling) / launches
    periods = profiling["duration_ns"] / profiling["launches"]
    start_ns, end_ns = profiling_interval(document.timing, windows)

    def mean(table: str, column: str) -> float | None:
        return time_mean(tables.get(table), column, start_ns, end_ns)

    graphics_mhz = mean(CLOCKS.file, "graphics_mhz")
    memory_mhz = mean(CLOCKS.file, "memory_mhz")
    row = row_for(device)
    flops_per_s = case.workload.flops / (mean_period_ns * 1e-9)
    ran = execution(hlo, number_format(case.number_format), device.compute_capability)
    sol = _speed_of_light(case, row, ran.executed, graphics_mhz, memory_mhz)
    highest = (device.maximum_graphics_mhz, device.maximum_memory_mhz)
    fastest = _speed_of_light(case, row, ran.executed, *highest)
    sheet = row and row.datasheet_flops_per_s(RATES.get(ran.executed, ()))
    energy_mw = energy_power_mw(tables.get(ENERGY.file), start_ns, end_ns)
    kernels = kernel_figures(trace, tables)
    kernel_ns = kernels.kernel_ns if kernels and kernels.kernel_ns > 0 else None
    return RunMetrics(
        device=device.id,
        number=document.number,
        launches=launches,
        mean_period_ns=mean_period_ns,
        median_period_ns=median(periods.tolist()),
        spread=float(np.std(periods) / np.mean(periods)),
        flops_per_s=flops_per_s,
        executed=ran.executed,
        native=ran.native,
        graphics_mhz=graphics_mhz,
        memory_mhz=memory_mhz,
        power_average_mw=mean(POWER.file, "power_average_mw"),
        power_instant_mw=mean(POWER.file, "power_instant_mw"),
        power_energy_mw=energy_mw,
        gpu_c=mean(POWER.file, "gpu_c"),
        memory_c=mean(POWER.file, "memory_c"),
        sol_row=row.product if sol and row else None,
        sol_ns=sol.total_ns if sol else None,
        sol_fraction=sol.total_ns / mean_period_ns if sol else None,
        kernel_ns=kernel_ns,
        period_over_kernel=mean_period_ns / kernel_ns if kernel_ns else None,
        sol_fraction_at_maximum_clock=fastest.total_ns / mean_period_ns if fastest else None,
        datasheet_fraction=flops_per_s / sheet if sheet else None,
        energy_per_gemm_j=None if energy_mw is None else energy_mw * mean_period_ns * 1e-12,
        flops_per_s_per_watt=flops_per_s / (energy_mw * 1e-3) if energy_mw else None,
    )


def _speed_of_light(
    case: Case,
    row: GpuRow | None,
    executed: str,
    graphics_mhz: float | None,
    memory_mhz: float | None,
) -> SpeedOfLight | None:
    if row is None or graphics_mhz is None or memory_mhz is None:
        return None
    row_format = number_format(case.number_format)
    return speed_of_light(case.workload, row_format, row, graphics_mhz, memory_mhz, executed)


def derive_case(case_id: str, runs: tuple[RunMetrics, ...]) -> CaseMetrics:
    """A case's headline: median of its runs' mean periods, and their range over that median."""
    if not runs:
        return CaseMetrics(case_id, (), None, None, None)
    periods = sorted(run.mean_period_ns for run in runs)
    middle = median(periods)
    flops = runs[0].flops_per_s * runs[0].mean_period_ns
    spread = (periods[-1] - periods[0]) / middle if len(periods) > 1 else None
    return CaseMetrics(case_id, runs, middle, flops / middle, spread)


def time_mean(table: Table | None, column: str, start_ns: int, end_ns: int) -> float | None:
    """Time-weighted mean of a sampled column over [start, end).

    Each sample stands for the time until the next one, the last for the time to the interval's
    end. Exact for clocks: the cycles in an interval are the integral of the clock. None if the
    column is absent or fewer than two samples lie inside.
    """
    if table is None or column not in table:
        return None
    return _time_mean(table, column, start_ns, end_ns)


@remembered
def _time_mean(table: Table, column: str, start_ns: int, end_ns: int) -> float | None:
    inside = rows_within(table, start_ns, end_ns)
    if inside.stop - inside.start < MINIMUM_SAMPLES:
        return None
    weights = _lasted_ns(table, start_ns, end_ns)
    return float((table[column][inside] * weights).sum() / weights.sum())


@remembered
def _lasted_ns(table: Table, start_ns: int, end_ns: int) -> NDArray[np.float64]:
    """For how long each sample in [start, end), of which there are some, stands."""
    t_ns = table["t_ns"][rows_within(table, start_ns, end_ns)]
    lasted_ns = np.empty(len(t_ns))
    lasted_ns[:-1] = t_ns[1:] - t_ns[:-1]
    lasted_ns[-1] = end_ns - t_ns[-1]
    return lasted_ns


def energy_power_mw(table: Table | None, start_ns: int, end_ns: int) -> float | None:
    """Mean power from the first to the last step of the energy counter inside [start, end).

    The counter stands still between its steps, about 100 ms apart on an H200, so only a reading
    that differs from the one before it says when its energy had been used.
    """
    if table is None or "energy_mj" not in table:
        return None
    return _energy_power_mw(table, start_ns, end_ns)


@remembered
def _energy_power_mw(table: Table, start_ns: int, end_ns: int) -> float | None:
    inside, energy_mj = rows_within(table, start_ns, end_ns), table["energy_mj"]
    before = max(0, inside.start - 1)
    steps = before + 1 + np.flatnonzero(np.diff(energy_mj[before : inside.stop]))
    if len(steps) < MINIMUM_SAMPLES:
        return None
    ends = steps[[0, -1]]
    # The counter is read somewhere within the burst; its end is the better stamp, since a burst
    # that waited for the driver returns the value of its end.
    first_ns, last_ns = (table["t_ns"][ends] + table["burst_ns"][ends]).tolist()
    first_mj, last_mj = energy_mj[ends].tolist()
    elapsed_s = (last_ns - first_ns) * 1e-9
    return (last_mj - first_mj) / elapsed_s if elapsed_s > 0 else None


def same(claimed: float | None, derived: float | None) -> bool:
    """Whether a claimed figure is the derived one, but for the last digits of platforms."""
    if claimed is None or derived is None:
        return claimed is derived
    return math.isclose(claimed, derived, rel_tol=1e-9, abs_tol=0.0)
