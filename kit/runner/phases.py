"""The loops of one run: warm-up until settled, profiling windows, cool-down until idle.

Nothing here waits for the device between the first warm-up launch and the last profiling one;
the timer decides what marks a boundary.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from kit.backends import Backend
from kit.evidence import Control, CoolDownStop, StopReason
from kit.plan import Phases
from kit.rotation import calls_for
from kit.ruleset import Ruleset
from kit.stability import IDLE_NS, SETTLE_NS, is_idle, is_settled, level, settling
from kit.telemetry.sampler import Sampler
from kit.timing import Clock, Timer
from kit.trace import CLOCKS, POWER, PROFILING, WARM_UP, Table

_WARM_UP_WINDOW_S = 0.1
_LOOK_EVERY_NS = 250_000_000
_LOOKS_IN_A_ROW = 2
"""A series at the edge of steadiness must pass twice, a quarter second apart."""


@dataclass(slots=True)
class Windows:
    """Rows of `kit.trace.WINDOWS` as they happen; durations follow from the timer at the end."""

    rows: list[tuple[int, int, int, int, int]]
    launches: int = 0

    def table(self, durations_ns: list[int]) -> Table:
        """The finished table."""
        columns = np.array(self.rows, np.int64).reshape(len(self.rows), 5).T
        phase, first_launch, launches, start_ns, end_ns = columns
        return Table(
            {
                "phase": phase,
                "first_launch": first_launch,
                "launches": launches,
                "duration_ns": np.array(durations_ns, np.int64),
                "enqueue_start_ns": start_ns,
                "enqueue_end_ns": end_ns,
            }
        )


@dataclass(slots=True)
class Loop:
    """What the loops of one run share."""

    backend: Backend
    timer: Timer
    clock: Clock
    per_call: int
    windows: Windows
    last_output: Any = None

    def window(self, phase: int, calls: int) -> None:
        """Launch one window and mark its end."""
        start_ns = self.clock()
        self.last_output = self.backend.enqueue(calls)
        end_ns = self.clock()
        self.timer.boundary(self.last_output)
        launches = calls * self.per_call
        self.windows.rows.append((phase, self.windows.launches, launches, start_ns, end_ns))
        self.windows.launches += launches


Settled = Callable[[int], bool]


def settled_by(
    telemetry: Sampler,
    rules: Ruleset,
    clock_mhz: int | None,
    report: Callable[[str], None] = lambda _: None,
) -> Settled:
    """Whether power and clocks are steady over the stretch that ends at a host time.

    `clock_mhz` is the clock that a fixed-frequency test must show in every sample, None at a fixed
    power. `report` is told what they are each time.
    """

    def judge(now_ns: int) -> bool:
        clocks, power = telemetry.read(CLOCKS.file), telemetry.read(POWER.file)
        report(
            f"warm-up: {_latest(power, 'power_instant_mw', 1000, 'W')}"
            f"{_latest(clocks, 'graphics_mhz', 1, 'MHz')}"
            f"{'' if clock_mhz is None else f'of {clock_mhz} MHz '}"
        )
        found = settling(clocks, power, now_ns - SETTLE_NS, now_ns, rules, clock_mhz=clock_mhz)
        return is_settled(found, rules)

    return judge


def _latest(table: Table, column: str, divisor: int, unit: str) -> str:
    if column not in table or not len(table):
        return ""
    return f"{table[column][-1] / divisor:.0f} {unit} "


def warm_up(
    loop: Loop, phases: Phases, period_ns: float, settled: Settled | None
) -> tuple[StopReason, float]:
    """Launch until counts, seconds and steadiness are reached; (why it ended, period in ns).

    Without telemetry to settle on, counts and seconds alone end it. The period is the host's
    estimate over the whole warm-up.
    """
    calls = calls_for(_WARM_UP_WINDOW_S * 1e9 / period_ns, loop.per_call)
    start_ns = loop.clock()
    look_ns, in_a_row = start_ns, 0
    while True:
        loop.window(WARM_UP, calls)
        now_ns = loop.clock()
        elapsed_s = (now_ns - start_ns) * 1e-9
        period_ns = (now_ns - start_ns) / loop.windows.launches
        if loop.windows.launches < phases.warm_up_min_launches or elapsed_s < phases.warm_up_min_s:
            continue
        if settled is None:
            return "seconds", period_ns
        if now_ns >= look_ns:
            look_ns = now_ns + _LOOK_EVERY_NS
            in_a_row = in_a_row + 1 if settled(now_ns) else 0
        if in_a_row >= _LOOKS_IN_A_ROW:
            return "settled", period_ns
        if elapsed_s >= phases.warm_up_max_s:
            return "cap", period_ns


def profile(loop: Loop, phases: Phases, windows: int, period_ns: float, rules: Ruleset) -> int:
    """Launch the profiling windows; returns their launches, fixed before the first of them."""
    wanted = max(
        phases.profiling_min_launches,
        rules.profiling_margin * phases.profiling_min_s * 1e9 / period_ns,
    )
    calls = calls_for(wanted / windows, loop.per_call)
    launches = calls * loop.per_call * windows
    loop.timer.open_control(loop.last_output)
    for _ in range(windows):
        loop.window(PROFILING, calls)
    loop.timer.close_control(loop.last_output, launches)
    return launches


def host_slope(loop: Loop, period_ns: float, rules: Ruleset) -> Control:
    """T(2N) - T(N) by the host clock: the constant start-up and wake-up cancel."""
    calls = calls_for(rules.slope_s * 1e9 / period_ns, loop.per_call)

    def span_ns(calls: int) -> int:
        loop.backend.drain()
        start_ns = loop.clock()
        loop.backend.wait_for(loop.backend.enqueue(calls))
        return loop.clock() - start_ns

    # The device has rested since the last window, and a rested device is faster at first: the two
    # spans must both follow a busy one.
    span_ns(calls)
    short_ns = span_ns(calls)
    return Control("host_slope", calls * loop.per_call, max(0, span_ns(2 * calls) - short_ns))


def cool_down(
    clock: Clock,
    phases: Phases,
    telemetry: Sampler,
    idle: tuple[int, int],
    rules: Ruleset,
) -> CoolDownStop:
    """Wait until the device is idle again as it was in `idle`; says what ended the wait."""
    start_ns = clock()
    baseline = level(telemetry.read(POWER.file), *idle)
    while True:
        time.sleep(0.05)
        now_ns = clock()
        elapsed_s = (now_ns - start_ns) * 1e-9
        if elapsed_s < phases.cool_down_min_s:
            continue
        if baseline.power_mw is None:
            return "seconds"
        now = level(telemetry.read(POWER.file), now_ns - IDLE_NS, now_ns)
        if now.power_mw is not None and is_idle(
            baseline.power_mw, baseline.gpu_c, now.power_mw, now.gpu_c, rules
        ):
            return "idle"
        if elapsed_s >= phases.cool_down_max_s:
            return "cap"
