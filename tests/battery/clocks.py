"""Clocks scaled, smoothed, shifted, or not held."""

from dataclasses import replace

import numpy as np

from battery.forging import columns, runs, scaled, table
from battery.registry import manipulation
from bundles import with_plan
from kit.timeline import profiling_interval
from kit.trace import CLOCKS, WINDOWS, Table

BOTH = ("graphics_mhz", "sm_mhz")


@manipulation(
    {"x0.95": "GK412", "x0.9": "GK412", "x0.85": "GK502"},
    "M12",
    variants={
        "x0.95": {"factor": 0.95},
        "x0.9": {"factor": 0.9},
        "x0.85": {"factor": 0.85},
    },
)
def clocks_scaled(bundle, factor):
    """Clocks told lower, which raises the share of speed of light."""
    bundle = runs(bundle, scaled(CLOCKS.file, factor, *BOTH))
    return runs(
        bundle,
        lambda run: replace(
            run, trace=replace(run.trace, graphics_mhz=run.trace.graphics_mhz * factor)
        ),
    )


@manipulation("GK502", "M12", variants={"x0.95": {"factor": 0.95}, "x0.9": {"factor": 0.9}})
def clocks_scaled_on_the_grid(bundle, factor):
    """Clocks told lower on the device's own steps of 15 MHz."""
    return runs(
        bundle,
        columns(CLOCKS.file, **{name: lambda v: np.rint(v * factor / 15) * 15 for name in BOTH}),
    )


@manipulation("GK409", "M12")
def clocks_beyond_the_maximum(bundle):
    """Clocks told higher than the device can go."""
    return runs(bundle, scaled(CLOCKS.file, 1.1, *BOTH))


@manipulation("GK412", "M12")
def graphics_clock_unlike_sm_clock(bundle):
    """Only the graphics clock is told lower; the SMs run at another."""
    return runs(bundle, scaled(CLOCKS.file, 0.9, "graphics_mhz"))


@manipulation("GK412", "M12")
def clocks_off_their_grid(bundle):
    """Clocks between the device's steps of 15 MHz, the same for both columns."""

    def change(run):
        draw = np.random.default_rng(7).integers(-7, 8, len(run.tables[CLOCKS.file]))
        draw[run.tables[CLOCKS.file]["graphics_mhz"] >= 1965] = 0
        return columns(CLOCKS.file, **dict.fromkeys(BOTH, lambda v: v + draw))(run)

    return runs(bundle, change)


def _inside(run):
    start, end = profiling_interval(run.document.timing, run.tables[WINDOWS.file])
    t_ns = run.tables[CLOCKS.file]["t_ns"]
    return (t_ns >= start) & (t_ns < end)


@manipulation("GK412", "M12", variants={"mean": {"mhz": None}, "low": {"mhz": 1410}})
def clocks_constant(bundle, mhz):
    """One clock all through profiling, while the power cap was at work."""

    def change(run):
        inside = _inside(run)
        level = (
            mhz or int(np.rint(run.tables[CLOCKS.file]["graphics_mhz"][inside].mean() / 15)) * 15
        )
        return columns(CLOCKS.file, **dict.fromkeys(BOTH, lambda v: np.where(inside, level, v)))(
            run
        )

    return runs(bundle, change)


@manipulation("GK412", "M12")
def clocks_smoothed(bundle):
    """Clocks replaced by their moving mean over a second."""

    def smooth(values):
        padded = np.pad(values.astype(float), 25, mode="edge")
        return np.convolve(padded, np.ones(51) / 51, "valid")

    return runs(bundle, columns(CLOCKS.file, **dict.fromkeys(BOTH, smooth)))


@manipulation("GK318", "M12", variants={"early": {"shift": -3}, "late": {"shift": 3}})
def clocks_shifted(bundle, shift):
    """The clock series belongs to another moment, three seconds away."""
    by = shift * 50

    def change(found):
        moved = {
            name: values if name in ("t_ns", "burst_ns") else np.roll(values, by)
            for name, values in found.columns.items()
        }
        return Table(moved)

    return runs(bundle, table(CLOCKS.file, change))


@manipulation("GK402", "M15", base="closed")
def clock_drifts(bundle):
    """The clock falls by a twentieth during profiling."""

    def change(run):
        inside = _inside(run)
        ramp = np.ones(len(inside))
        ramp[inside] = np.linspace(1.0, 0.95, inside.sum())
        return columns(CLOCKS.file, **dict.fromkeys(BOTH, lambda v: np.rint(v * ramp / 15) * 15))(
            run
        )

    return runs(bundle, change)


@manipulation("GK402", "M15", base="closed")
def clock_swings(bundle):
    """The clock swings by a twelfth, once in two seconds."""

    def change(run):
        inside = _inside(run)
        wave = 1 + 0.04 * np.sin(run.tables[CLOCKS.file]["t_ns"] / 2e9 * 2 * np.pi) * inside
        return columns(
            CLOCKS.file,
            **dict.fromkeys(BOTH, lambda v: np.minimum(1980, np.rint(v * wave / 15) * 15)),
        )(run)

    return runs(bundle, change)


@manipulation("GK412", "M12", variants={"half": {"factor": 0.5}, "most": {"factor": 0.9}})
def memory_clock_lowered(bundle, factor):
    """The memory clock is told lower, which raises the share of speed of light in decode."""
    return runs(bundle, scaled(CLOCKS.file, factor, "memory_mhz"))


def _other_bits(run, bits):
    inside = _inside(run)
    return columns(CLOCKS.file, event_reasons=lambda v: np.where(inside, v | bits, v))(run)


@manipulation(
    "GK405",
    "M10",
    variants={
        "sw_thermal": {"bits": 0x20},
        "hw_thermal": {"bits": 0x40},
        "power_brake": {"bits": 0x80},
        "hw_slowdown": {"bits": 0x08},
    },
)
def slowdown_during_profiling(bundle, bits):
    """The device slowed down during profiling and says so."""
    return runs(bundle, lambda run: _other_bits(run, bits))


@manipulation("GK405", "M08", base="held")
def power_cap_at_a_held_clock(bundle):
    """The power cap was at work in a test at a fixed frequency."""
    return runs(bundle, lambda run: _other_bits(run, 0x04))


@manipulation(
    "GK408",
    "M08",
    base="held",
    variants={
        "one": {"share": 0.01},
        "all": {"share": 1.1},
    },
)
def clock_not_held(bundle, share):
    """Samples of another clock than the one that was to be held."""

    def change(run):
        inside = _inside(run)
        draw = np.random.default_rng(3).random(len(inside)) < share
        return columns(
            CLOCKS.file, **dict.fromkeys(BOTH, lambda v: np.where(inside & draw, v - 45, v))
        )(run)

    return runs(bundle, change)


@manipulation("GK408", "M08", base="held")
def clock_asked_for_after_the_fact(bundle):
    """The plan asks for a lower clock than the one that was held."""
    return with_plan(bundle, test_type__clock_mhz=1500)
