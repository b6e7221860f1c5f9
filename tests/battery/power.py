"""Power, energy, temperature and limits."""

from dataclasses import replace

import numpy as np

from battery.forging import columns, document, kernels, runs, scaled, table, under_load
from battery.registry import manipulation
from bundles import slope_by_its_windows, with_plan, with_system
from forgeries import shortened
from kit.stability import level
from kit.timeline import profiling_interval, window_edges
from kit.trace import CLOCKS, ENERGY, POWER, WINDOWS, Table

REGISTERS = ("power_instant_mw", "power_average_mw")
LIMITS = ("limits_before", "limits_after")


@manipulation(
    {"x0.7": "GK411", "x0.9": "GK411", "x0.94": "GK411", "x1.1": "GK406"},
    "M14",
    variants={
        "x0.7": {"factor": 0.7},
        "x0.9": {"factor": 0.9},
        "x0.94": {"factor": 0.94},
        "x1.1": {"factor": 1.1},
    },
)
def power_and_energy_scaled(bundle, factor):
    """Every register of power, and the energy, told lower or higher."""
    return runs(
        bundle, scaled(POWER.file, factor, *REGISTERS), scaled(ENERGY.file, factor, "energy_mj")
    )


@manipulation(
    "GK406",
    "M14",
    variants={
        "average": {"names": REGISTERS[1:]},
        "instant": {"names": REGISTERS[:1]},
        "both": {"names": REGISTERS},
    },
)
def power_registers_scaled(bundle, names):
    """Registers of power told lower by an eighth, the energy as it was."""
    return runs(bundle, scaled(POWER.file, 0.875, *names))


@manipulation("GK406", "M14", variants={"x0.85": {"factor": 0.85}, "x1.15": {"factor": 1.15}})
def energy_scaled(bundle, factor):
    """The energy counter runs at another pace than the power."""
    return runs(bundle, scaled(ENERGY.file, factor, "energy_mj"))


@manipulation(
    "GK411",
    "M20",
    base="guideline",
    variants={
        "idle": {"every": 6, "bits": 0x1},
        "setting": {"every": 6, "bits": 0x2},
        "boost": {"every": 2, "bits": 0x10},
        "display": {"every": 1, "bits": 0x100},
    },
)
def power_of_zeros_with_other_reasons(bundle, every, bits):
    """Power and energy as low as with zeros, and other reasons in some samples and the counter."""
    bundle = runs(
        bundle, scaled(POWER.file, 0.62, *REGISTERS), scaled(ENERGY.file, 0.62, "energy_mj")
    )

    def other(reasons):
        reasons[np.flatnonzero(reasons & 4)[::every]] = bits
        return reasons

    fewer = scaled(POWER.file, 1 - 1 / every, "sw_power_cap_ns")
    return runs(bundle, columns(CLOCKS.file, event_reasons=other), fewer)


def _under_load(run, file, **values):
    loaded = under_load(run, file)
    return columns(
        file, **{name: lambda v, new=new: np.where(loaded, new, v) for name, new in values.items()}
    )(run)


@manipulation("GK409", "M14")
def power_constant(bundle):
    """Both registers stand still under load."""
    return runs(
        bundle,
        lambda run: _under_load(
            run, POWER.file, power_average_mw=690_000, power_instant_mw=690_000
        ),
    )


def _energy_follows(run, watts):
    """The energy counter grows with this power under load."""
    edges = window_edges(run.document.timing, run.tables[WINDOWS.file])

    def follow(found):
        own = found["energy_mj"].astype(float)
        t = found["t_ns"]
        inside = np.clip(t, edges[0], edges[-1]) - edges[0]
        before = np.interp(edges[0], t, own)
        after = own - np.interp(edges[-1], t, own)
        energy = np.where(t < edges[0], own, before + inside * watts * 1e-6)
        energy = np.where(t > edges[-1], energy + after, energy)
        return Table(found.columns | {"energy_mj": np.rint(energy).astype(np.int64)})

    return table(ENERGY.file, follow)(run)


@manipulation("GK412", "M14", variants={"600W": {"watts": 600}, "690W": {"watts": 690}})
def power_and_energy_constant(bundle, watts):
    """One reading but for a milliwatt, and an energy that grows evenly."""

    def change(run):
        run = _under_load(
            run, POWER.file, power_average_mw=watts * 1000, power_instant_mw=watts * 1000
        )
        first = int(np.flatnonzero(under_load(run, POWER.file))[0])

        def nudge(values):
            values[first] += 1
            return values

        return _energy_follows(columns(POWER.file, power_average_mw=nudge)(run), watts)

    return runs(bundle, change)


@manipulation("GK412", "M14")
def power_noise_of_a_generator(bundle):
    """Power under load is drawn anew at every sample, though the registers step every 100 ms."""

    def change(run):
        draw = np.random.default_rng(1)
        loaded = under_load(run, POWER.file)
        noise = {
            n: np.where(loaded, draw.normal(690_000, s, len(loaded)), 0)
            for n, s in zip(REGISTERS, (9_000, 900), strict=True)
        }
        return columns(
            POWER.file, **{n: lambda v, n=n: np.where(loaded, noise[n], v) for n in REGISTERS}
        )(run)

    return runs(bundle, change)


@manipulation("GK318", "M14")
def instant_power_is_the_average(bundle):
    """One register is a copy of the other."""
    return runs(
        bundle,
        table(POWER.file, lambda t: Table(t.columns | {"power_instant_mw": t["power_average_mw"]})),
    )


@manipulation(
    {"2s": "GK318", "10s": "GK411"}, "M14", variants={"2s": {"seconds": 2}, "10s": {"seconds": 10}}
)
def power_ends_before_the_windows(bundle, seconds):
    """The power falls to rest seconds before the last window ended."""
    by = seconds * 20

    def change(found):
        return Table(
            {
                name: values
                if name in ("t_ns", "burst_ns")
                else np.append(values[by:], [values[-1]] * by)
                for name, values in found.columns.items()
            }
        )

    return runs(bundle, table(POWER.file, change))


@manipulation(
    "GK321", "M11", base="prefill",
    variants={
        f"{rest:.2f}-{'counted' if counted else 'told'}": {"rest": rest, "counted": counted}
        for rest in (0.7, 0.94)
        for counted in (False, True)
    },
)  # fmt: skip
def rest_told_like_the_load(bundle, rest, counted):
    """A load that ends early, where the device is said to draw so much of it at rest too."""

    def change(run):
        interval = profiling_interval(run.document.timing, run.tables[WINDOWS.file])
        load_mw = level(run.tables[POWER.file], *interval).power_mw
        run = slope_by_its_windows(shortened(run, 0.95, with_cool_down=True))
        phases = run.document.phases
        idle = run.tables[POWER.file]["t_ns"] < run.document.timing.start.before_ns
        after = run.tables[POWER.file]["t_ns"] >= phases.cool_down_start_ns

        def told(values):
            steps = (values - np.median(values[idle])) * 0.3
            return np.where(idle | after, rest * load_mw + np.clip(steps, -2000, 2000), values)

        def more(energy_mj):
            t_ns = run.tables[ENERGY.file]["t_ns"]
            rest_mw = level(
                run.tables[POWER.file], phases.idle_start_ns, phases.idle_end_ns
            ).power_mw
            idle_s = (np.minimum(t_ns, phases.idle_end_ns) - t_ns[0]) * 1e-9
            return energy_mj + (rest * load_mw - rest_mw) * idle_s

        changed = columns(POWER.file, power_instant_mw=told, power_average_mw=told)(run)
        return columns(ENERGY.file, energy_mj=more)(changed) if counted else changed

    return runs(bundle, change, kernels(0.95))


@manipulation("GK411", "M14", base="prefill", variants={"x0.95": {"factor": 0.95}})
def power_over_rest_scaled(bundle, factor):
    """What the load draws beyond the device at rest is told lower, by every register."""

    def change(run):
        phases, energy = run.document.phases, run.tables[ENERGY.file]
        rest_mw = level(run.tables[POWER.file], phases.idle_start_ns, phases.idle_end_ns).power_mw
        rested = rest_mw * (energy["t_ns"] - energy["t_ns"][0]) * 1e-9

        def lower(mw):
            return np.where(mw > rest_mw, rest_mw + (mw - rest_mw) * factor, mw)

        def less(energy_mj):
            spent = energy_mj - energy_mj[0]
            return energy_mj[0] + rested + (spent - rested) * factor

        run = columns(POWER.file, power_instant_mw=lower, power_average_mw=lower)(run)
        return columns(ENERGY.file, energy_mj=less)(run)

    return runs(bundle, change)


@manipulation("GK318", "M23")
def power_outlasts_the_windows(bundle):
    """The load goes on for two seconds after the last window: more was launched than is told."""
    by = 40

    def change(found):
        return Table(
            {
                name: values
                if name in ("t_ns", "burst_ns")
                else np.append([values[0]] * by, values[:-by])
                for name, values in found.columns.items()
            }
        )

    return runs(bundle, table(POWER.file, change))


@manipulation("GK406", "M10")
def power_over_its_limit(bundle):
    """The limit is told to be 600 W while the device draws 690."""
    return _limits(with_system(bundle, hw_notes="power limit 600 W"), enforced=600_000)


def _limits(bundle, when=LIMITS, **values):
    return runs(
        bundle,
        document(
            **{f"{name}__power_{kind}_mw": value for name in when for kind, value in values.items()}
        ),
    )


@manipulation("GK404", "M10", base="closed")
def limit_lowered_silently(bundle):
    """The limit was 690 W, other than the product's own, and nobody says so."""
    return _limits(bundle, enforced=690_000)


@manipulation(
    "GK404",
    "M10",
    variants={
        "enforced": {"values": {"enforced": 600_000}},
        "default": {"values": {"default": 600_000}},
        "maximum": {"values": {"maximum": 750_000}},
        "minimum": {"values": {"minimum": 100_000}},
    },
)
def limit_changed_during_the_run(bundle, values):
    """A power limit is another one after the run."""
    return _limits(bundle, ("limits_after",), **values)


@manipulation("GK404", "M10")
def limit_outside_its_range(bundle):
    """The enforced limit lies above the largest that the device takes."""
    return _limits(with_system(bundle, hw_notes="power limit 800 W"), enforced=800_000)


@manipulation("GK411", "M10")
def limit_of_another_product(bundle):
    """The product's own limit is told to be 1000 W, as another product's is."""
    return _limits(bundle, enforced=1_000_000, default=1_000_000, maximum=1_000_000)


@manipulation("GK404", "M10", base="closed")
def limits_not_read(bundle):
    """The power limits are missing, with a reason."""
    fields = {}
    for name in LIMITS:
        for kind in ("enforced", "default", "minimum", "maximum"):
            fields[f"{name}__power_{kind}_mw"] = None
        fields[f"{name}__missing"] = dict.fromkeys(
            (f"power_{k}_mw" for k in ("enforced", "default", "minimum", "maximum")),
            "no permission",
        )
    return runs(bundle, document(**fields))


@manipulation(
    "GK409",
    "M14",
    variants={
        "zero": {"change": lambda v: v * 0},
        "boiling": {"change": lambda v: v + 90},
    },
)
def temperature_impossible(bundle, change):
    """Temperatures that no working device has."""
    return runs(bundle, columns(POWER.file, gpu_c=change))


@manipulation("GK413", "M14", variants={"constant": {"flat": True}, "upside_down": {"flat": False}})
def temperature_ignores_the_load(bundle, flat):
    """The temperature stands still, or falls under load, while 690 W heat the device."""
    return runs(
        bundle, columns(POWER.file, gpu_c=lambda v: v * 0 + v[0] if flat else v.max() + v[0] - v)
    )


@manipulation(
    "GK405",
    "M10",
    variants={
        name: {"name": name} for name in ("sw_thermal_ns", "hw_thermal_ns", "hw_power_brake_ns")
    },
)
def slowdown_counter_grew(bundle, name):
    """The device spent a second of profiling in a slowdown, by its own counter."""

    def change(run):
        t_ns = run.tables[POWER.file]["t_ns"]
        end = run.document.timing.end.before_ns
        return columns(
            POWER.file, **{name: lambda v: v + np.clip(t_ns - end + 2 * 10**9, 0, 10**9)}
        )(run)

    return runs(bundle, change)


@manipulation(
    "GK409",
    "M14",
    variants={
        name: {"name": name, "file": file}
        for name, file in (("sw_power_cap_ns", POWER.file), ("energy_mj", ENERGY.file))
    },
)
def counter_falls(bundle, name, file):
    """A counter that only grows falls once."""

    def change(values):
        values[len(values) // 2 :] -= values[len(values) // 2] - values[0]
        values[len(values) // 2] -= 1
        return values

    return runs(bundle, columns(file, **{name: change}))


@manipulation("GK412", "M14", variants={"x1.1": {"factor": 1.1}, "x2": {"factor": 2.0}})
def counter_outruns_time(bundle, factor):
    """The power cap's counter of nanoseconds grows faster than time does."""
    return runs(bundle, scaled(POWER.file, factor, "sw_power_cap_ns"))


@manipulation("GK411", "M14")
def cap_counter_still_while_the_bit_is_set(bundle):
    """Every clock sample shows the power cap, and its counter stands still."""
    return runs(bundle, columns(POWER.file, sw_power_cap_ns=lambda v: v * 0 + v[0]))


@manipulation("GK411", "M15", base="closed")
def power_drifts(bundle):
    """The average power falls by a twentieth during profiling."""

    def change(run):
        edges = window_edges(run.document.timing, run.tables[WINDOWS.file])
        t_ns = run.tables[POWER.file]["t_ns"]
        ramp = 1 - 0.05 * np.clip((t_ns - edges[0]) / (edges[-1] - edges[0]), 0, 1)
        return columns(POWER.file, **dict.fromkeys(REGISTERS, lambda v: v * ramp))(run)

    return runs(bundle, change)


@manipulation(
    "GK406",
    "M14",
    variants={"instant": {"names": REGISTERS[:1]}, "average": {"names": REGISTERS[1:]}},
)
def power_of_an_idle_device(bundle, names):
    """A register shows rest throughout."""

    def rest(values):
        return values[: len(values) // 20].mean() + np.arange(len(values)) % 7

    return runs(bundle, columns(POWER.file, **dict.fromkeys(names, rest)))


@manipulation("GK411", "M14", variants={"x0.85": {"factor": 0.85}})
def clocks_and_power_scaled_together(bundle, factor):
    """Clocks, power and energy all told lower: a tale of a cooler, slower clocked device."""
    return runs(
        bundle,
        scaled(POWER.file, factor, *REGISTERS),
        scaled(ENERGY.file, factor, "energy_mj"),
        columns(
            CLOCKS.file,
            **{n: lambda v: np.rint(v * 0.93 / 15) * 15 for n in ("graphics_mhz", "sm_mhz")},
        ),
    )


@manipulation("GK411", "M10")
def declared_limit_with_power_scaled(bundle):
    """A limit of 500 W is declared, and power and energy are scaled to respect it."""
    bundle = _limits(with_system(bundle, hw_notes="power limit 500 W"), enforced=500_000)
    return runs(bundle, scaled(POWER.file, 0.6, *REGISTERS), scaled(ENERGY.file, 0.6, "energy_mj"))


@manipulation("GK408", "M07", base="closed")
def fixed_power_sold_as_fixed_frequency(bundle):
    """A test under its power cap is called one at a fixed frequency."""
    return with_plan(bundle, test_type__name="fixed_frequency", test_type__clock_mhz=1485)


@manipulation("GK410", "M14", base="closed")
def power_sampler_late(bundle):
    """A tenth of the power readings came late."""
    return runs(
        bundle,
        document(
            telemetry__health=lambda h: tuple(
                replace(e, overruns=e.bursts // 10) if e.table == POWER.file else e for e in h
            )
        ),
    )
