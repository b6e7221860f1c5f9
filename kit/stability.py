"""When is a series steady? The one test that ends a warm-up and that the checker repeats.

Power is judged on the device's 1 s average, clocks on their moving mean over one second. A
power-capped H200 keeps its 1 s power average level by swinging its clock once a second, by up to
±2.5 % and for ever; over whole seconds that swing cancels, wherever the seconds begin. At a fixed
frequency there is a clock to hold, so there every sample counts.
"""

import math
from bisect import bisect_left
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kit.held_clock import HeldClock, held_clock
from kit.remembered import remembered
from kit.ruleset import Ruleset
from kit.trace import Table, rows_within

SETTLE_NS = 2_000_000_000
"""Length of the stretch, ending where profiling begins, that must be steady."""

IDLE_NS = 500_000_000
"""Length of the stretch, ending with the cool-down, that must be idle."""


@dataclass(frozen=True, slots=True)
class Steadiness:
    """How much a series moves within an interval of `seconds`, as fractions of its mean.

    `mean_range` is the range of the moving mean, `spread` that of the samples.
    """

    samples: int
    seconds: float
    halves_difference: float
    mean_range: float
    spread: float

    @property
    def mean_text(self) -> str:
        """The halves' and the moving mean's movement, for a person."""
        return f"halves {self.halves_difference:.2%} apart, moving mean over {self.mean_range:.2%}"

    @property
    def spread_text(self) -> str:
        """The halves' and the samples' movement, for a person."""
        return f"halves {self.halves_difference:.2%} apart, samples over {self.spread:.2%}"


def steadiness(
    t_ns: NDArray[np.int64],
    values: NDArray[np.int64],
    start_ns: int,
    end_ns: int,
    mean_ns: int,
) -> Steadiness | None:
    """Measure a series over [start, end); None if either half holds no sample or the mean is 0.

    The moving mean looks back over `mean_ns` and is taken at every sample that has so much before
    it, at least at the last one.
    """
    inside = slice(bisect_left(t_ns.data, start_ns), bisect_left(t_ns.data, end_ns))
    t, series = t_ns[inside], values[inside]
    count, half = len(t), bisect_left(t.data, (start_ns + end_ns) // 2)
    # Sums of readings stay below 2^53, so that whole numbers and floats give the same.
    sums = np.zeros(count + 1, np.int64)
    np.cumsum(series, out=sums[1:])
    total, first = int(sums[-1]), int(sums[half])
    if not 0 < half < count or not total:
        return None
    mean = total / count
    begin = min(bisect_left(t.data, start_ns + mean_ns), count - 1)
    before = np.searchsorted(t, t[begin:] - mean_ns, side="right")
    means = (sums[begin + 1 :] - sums[before]) / (np.arange(begin + 1, count + 1) - before)
    return Steadiness(
        count,
        (end_ns - start_ns) * 1e-9,
        abs((total - first) / (count - half) - first / half) / mean,
        float(means.max() - means.min()) / mean,
        int(series.max() - series.min()) / mean,
    )


def power_is_steady(found: Steadiness, rules: Ruleset, slack: float = 1.0) -> bool:
    """Whether the average-power series holds its level, within `slack` times the limits."""
    return (
        found.halves_difference <= slack * rules.power_halves_difference
        and found.spread <= slack * rules.power_spread
    )


def clock_halves_limit(found: Steadiness, rules: Ruleset) -> float:
    """How far a clock's halves may lie apart: noise averages out with the root of the time."""
    return rules.clock_halves_difference * math.sqrt(max(1.0, rules.clock_halves_s / found.seconds))


def clock_is_steady(found: Steadiness, rules: Ruleset, slack: float = 1.0) -> bool:
    """Whether the clock's moving mean holds its level, within `slack` times the limits."""
    return (
        found.halves_difference <= slack * clock_halves_limit(found, rules)
        and found.mean_range <= slack * rules.clock_mean_range
    )


@dataclass(frozen=True, slots=True)
class Settling:
    """Power and clock over one interval; None where the series is not there.

    `held` compares the clock with the one that a fixed-frequency test asked for.
    """

    power: Steadiness | None
    clock: Steadiness | None
    held: HeldClock | None


def settling(  # noqa: PLR0913 - two series, an interval, a request and its rules
    clocks: Table | None,
    power: Table | None,
    start_ns: int,
    end_ns: int,
    rules: Ruleset,
    *,
    clock_mhz: int | None = None,
) -> Settling:
    """Measure graphics clock and average power over [start, end).

    `clock_mhz` is the clock that a fixed-frequency test asked for, None at a fixed power.
    """
    mean_ns = int(rules.clock_mean_s * 1e9)

    def of(table: Table | None, column: str) -> Steadiness | None:
        if table is None or column not in table:
            return None
        return steadiness(table["t_ns"], table[column], start_ns, end_ns, mean_ns)

    held = None
    if clock_mhz is not None and clocks is not None and "graphics_mhz" in clocks:
        inside = (clocks["t_ns"] >= start_ns) & (clocks["t_ns"] < end_ns)
        held = held_clock(clocks["graphics_mhz"][inside], clock_mhz, rules.clock_step_mhz)
    return Settling(of(power, "power_average_mw"), of(clocks, "graphics_mhz"), held)


def is_settled(found: Settling, rules: Ruleset, slack: float = 1.0) -> bool:
    """Whether power and clock are there and steady, within `slack` times the limits.

    A clock that was asked for must also be there in every sample; no slack widens that.
    """
    return (
        found.power is not None
        and found.clock is not None
        and power_is_steady(found.power, rules, slack)
        and clock_is_steady(found.clock, rules, slack)
        and (found.held is None or found.held.held)
    )


@dataclass(frozen=True, slots=True)
class Level:
    """Plain means of power and GPU temperature over one stretch; None where there is no sample."""

    power_mw: float | None
    gpu_c: float | None

    @property
    def text(self) -> str:
        """Both, for a person."""
        power = "unknown power" if self.power_mw is None else f"{self.power_mw / 1000:.1f} W"
        return power if self.gpu_c is None else f"{power} and {self.gpu_c:.1f} °C"


def level(power: Table | None, start_ns: int, end_ns: int) -> Level:
    """Measure one stretch. Instantaneous power where there is one: the average lags by a second."""
    return Level(None, None) if power is None else _level(power, start_ns, end_ns)


@remembered
def _level(power: Table, start_ns: int, end_ns: int) -> Level:
    inside = rows_within(power, start_ns, end_ns)

    def mean(*columns: str) -> float | None:
        column = next((name for name in columns if name in power), None)
        samples: int = inside.stop - inside.start
        if column is None or not samples:
            return None
        return int(power[column][inside].sum()) / samples

    return Level(mean("power_instant_mw", "power_average_mw"), mean("gpu_c"))


def is_idle(
    baseline_mw: float,
    baseline_c: float | None,
    power_mw: float,
    temperature_c: float | None,
    rules: Ruleset,
) -> bool:
    """Whether power and temperature are back near the idle baseline (clause M23)."""
    allowed_mw = baseline_mw + max(
        baseline_mw * rules.idle_power_excess, rules.idle_power_excess_mw
    )
    if power_mw > allowed_mw:
        return False
    if baseline_c is None or temperature_c is None:
        return True
    return temperature_c <= baseline_c + rules.idle_temperature_excess_c
