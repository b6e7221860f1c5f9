"""What a fixed-frequency test asks of the machine before it runs, and says after each run."""

import time
from contextlib import ExitStack

from kit.evidence import DeviceFacts, TimingRecord
from kit.held_clock import held_clock, remedy
from kit.plan import RunPlan
from kit.ruleset import ruleset
from kit.runner.clock_lock import HeldLock, locked_clock
from kit.system import GpuAddress
from kit.system.clock_lock import require_clock
from kit.timeline import profiling_interval, within
from kit.trace import CLOCKS, WINDOWS, Table


def hold_clocks(
    plan: RunPlan, gpus: tuple[GpuAddress, ...], base_ns: int, until: ExitStack
) -> tuple[HeldLock, ...]:
    """Refuse a clock that a GPU does not have, and lock it where the plan says so.

    Locks end with `until`, or at their `release` before.

    Raises:
        UsageError: a GPU has no such clock.
        MeasurementError: NVML refused a lock; those set before are reset by `until`.
    """
    clock_mhz = plan.test_type.clock_mhz
    if clock_mhz is None:
        return ()
    held = []
    for gpu in gpus:
        if plan.test_type.lock:
            lock = locked_clock(
                gpu.id, gpu.address, clock_mhz, lambda: time.monotonic_ns() - base_ns
            )
            held.append(until.enter_context(lock))
        else:
            require_clock(gpu.address, clock_mhz, among_supported=False)
    return tuple(held)


def frequency_advice(
    plan: RunPlan, device: DeviceFacts, timing: TimingRecord, tables: dict[str, Table]
) -> str:
    """One line for the operator if the run did not hold its clock; empty if it did."""
    clock_mhz, clocks = plan.test_type.clock_mhz, tables.get(CLOCKS.file)
    if clock_mhz is None:
        return ""
    step_mhz = ruleset(plan.edition).clock_step_mhz
    found = None
    if clocks is not None and "graphics_mhz" in clocks:
        interval = profiling_interval(timing, tables[WINDOWS.file])
        found = held_clock(within(clocks, *interval)["graphics_mhz"], clock_mhz, step_mhz)
    if found is None:
        return "no clock sample shows the fixed frequency"
    if found.held:
        return ""
    advice = remedy(found, device.maximum_graphics_mhz, step_mhz)
    return f"the clock did not hold {clock_mhz} MHz ({found.text}); {advice}".removesuffix("; ")
