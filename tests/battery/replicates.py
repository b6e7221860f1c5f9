"""Replicates that are copies, too few, or chosen."""

from dataclasses import replace

import numpy as np

from battery.bases import CLOSED
from battery.forging import columns, end_fits, kernels, lasting, numbered, runs, time_line
from battery.registry import manipulation
from bundles import with_fields, with_plan
from kit.bundle import layout
from kit.timeline import window_edges
from kit.trace import CLOCKS, POWER, PROFILING, WINDOWS


def _copies(bundle, *changes, case=CLOSED):
    """The later runs are the first one at their own times, each changed by `changes(run, n)`."""
    first, *others = bundle.cases[case].runs
    kept = [first]
    for other in others:
        number = other.document.number
        shift = other.document.started_ns - first.document.started_ns
        run = numbered(bundle, time_line(lambda ns, s=shift: ns + s)(first), number)
        for change in changes:
            run = change(run, number)
        # The run's end stays where the journal has it.
        kept.append(
            replace(
                run,
                document=replace(
                    run.document, ended_ns=min(run.document.ended_ns, other.document.ended_ns)
                ),
            )
        )
    return replace(
        bundle, cases=bundle.cases | {case: replace(bundle.cases[case], runs=tuple(kept))}
    )


@manipulation("GK604", "M26", base="closed")
def copied(bundle):
    """Every replicate is the first run at another time."""
    return _copies(bundle)


def _windows(run, number, spread=2e-4):
    draw = np.random.default_rng(number)
    lasted = run.tables[WINDOWS.file]["duration_ns"]
    factor = 1 + draw.normal(2e-4 * number, spread, len(lasted))
    return end_fits(lasting(run, lasted * factor), run)


def _telemetry(run, number, milliwatts=400):
    draw = np.random.default_rng(number + 100)
    clocks, power = run.tables[CLOCKS.file], run.tables[POWER.file]
    step = 15 * draw.integers(-1, 2, len(clocks)) * (draw.random(len(clocks)) < 0.3)
    step[clocks["graphics_mhz"] == clocks["graphics_mhz"].max()] = 0
    run = columns(CLOCKS.file, graphics_mhz=lambda v: v + step, sm_mhz=lambda v: v + step)(run)
    return columns(
        POWER.file,
        power_instant_mw=lambda v: v + draw.integers(-5 * milliwatts, 5 * milliwatts, len(power)),
        power_average_mw=lambda v: v + draw.integers(-milliwatts, milliwatts, len(power)),
    )(run)


def _kernels(run, number):
    return kernels(1 + 2e-4 * number)(run)


@manipulation(
    "GK604",
    "M26",
    base="closed",
    variants={
        "windows": {"changes": (_windows,)},
        "telemetry": {"changes": (_telemetry,)},
        "windows_and_trace": {"changes": (_windows, _kernels)},
    },
)
def copied_and_jittered_in_part(bundle, changes):
    """Copies of the first run, some of their series jittered."""
    return _copies(bundle, *changes)


@manipulation("GK604", "M26", base="closed")
def copied_and_jittered(bundle):
    """Copies of the first run, every series jittered a little."""
    return _copies(bundle, _windows, _telemetry, _kernels)


def _rolled(seconds):
    def change(run, number):
        edges = window_edges(run.document.timing, run.tables[WINDOWS.file])

        def roll(file):
            t_ns = run.tables[file]["t_ns"]
            inside = np.flatnonzero((t_ns >= edges[0] + 3_000_000_000) & (t_ns < edges[-1]))
            rows = round(seconds * (number - 1) * 1e9 / np.median(np.diff(t_ns)))

            def turned(values):
                values[inside] = np.roll(values[inside], rows)
                return values

            return turned

        clock, power = roll(CLOCKS.file), roll(POWER.file)
        run = columns(CLOCKS.file, graphics_mhz=clock, sm_mhz=clock)(run)
        return columns(POWER.file, power_instant_mw=power, power_average_mw=power)(run)

    return change


@manipulation(
    "GK604",
    "M26",
    base="closed",
    variants={"0.7s": {"seconds": 0.7}, "2s": {"seconds": 2.0}},
)
def copied_rolled_and_permuted(bundle, seconds):
    """Copies whose clock and power went round by seconds, and windows in another order."""

    def permuted(run, number):
        lasted = run.tables[WINDOWS.file]["duration_ns"].astype(float)
        profiling = np.flatnonzero(run.tables[WINDOWS.file]["phase"] == PROFILING)
        order = np.random.default_rng(number).permutation(len(profiling))
        lasted[profiling] = lasted[profiling][order]
        return end_fits(lasting(run, lasted), run)

    return _copies(bundle, permuted, _rolled(seconds), _telemetry)


def _going_round(run):
    """Power that repeats its first second of profiling, and windows their first ten, to the end."""
    edges = window_edges(run.document.timing, run.tables[WINDOWS.file])
    profiling = np.flatnonzero(run.tables[WINDOWS.file]["phase"] == PROFILING)
    lasted = run.tables[WINDOWS.file]["duration_ns"].astype(float)
    lasted[profiling] = np.resize(lasted[profiling][:10], len(profiling))
    t_ns = run.tables[POWER.file]["t_ns"]
    inside = np.flatnonzero((t_ns >= edges[profiling[0]]) & (t_ns < edges[-1]))
    since_ns = t_ns[inside] - t_ns[inside[0]]
    source = inside[np.searchsorted(since_ns, since_ns % 1_000_000_000)]

    def round_and_round(values):
        values[inside] = values[source]
        return values

    run = columns(POWER.file, power_instant_mw=round_and_round, power_average_mw=round_and_round)(
        run
    )
    return end_fits(lasting(run, lasted), run)


@manipulation("GK604", "M26", base="closed")
def copied_from_a_run_that_goes_round(bundle):
    """Copies with a breath of noise of a run that is as much like itself a second later."""

    def noisy(run, number):
        return _telemetry(_windows(run, number, 1e-8), number, milliwatts=3)

    return _copies(runs(bundle, _going_round, case=CLOSED), noisy)


@manipulation("GK604", "M26", base="closed")
def copied_shifted_by_a_sample(bundle):
    """Copies of the first run whose series are rotated by one sample."""

    def roll(run, number):
        for file in (CLOCKS.file, POWER.file):
            own = {
                n: lambda v: np.roll(v, number)
                for n in run.tables[file].columns
                if n.endswith(("_mhz", "_mw"))
            }
            run = columns(file, **own)(run)
        return run

    return _copies(bundle, _windows, roll, _kernels)


@manipulation(
    "GK602", "M26", base="closed", variants={"x1.03": {"factor": 1.03}, "x0.97": {"factor": 0.97}}
)
def range_too_wide(bundle, factor):
    """One replicate is slower or faster than the edition lets them differ."""

    def change(run):
        return end_fits(lasting(run, run.tables[WINDOWS.file]["duration_ns"] * factor), run)

    return runs(bundle, change, kernels(factor), numbers=(2,))


@manipulation("GK607", "M26", base="closed")
def programs_differ(bundle):
    """The third replicate launched another program."""
    ((name, text),) = bundle.cases[CLOSED].hlo.items()
    other = text.replace('"selected_algorithm":"0"', '"selected_algorithm":"7"')
    new = layout.hlo_name(other)
    case = bundle.cases[CLOSED]
    changed = tuple(
        replace(run, document=with_fields(run.document, executable__hlo=new))
        if run.document.number == 3
        else run
        for run in case.runs
    )
    return replace(
        bundle,
        cases=bundle.cases | {CLOSED: replace(case, runs=changed, hlo={name: text, new: other})},
    )


@manipulation("GK607", "M26", base="closed")
def tunings_differ(bundle):
    """The third replicate replayed other tuning results."""
    case = bundle.cases[CLOSED]
    other = next(iter(case.autotune.values())) + "\n"
    new = layout.autotune_name(other)

    def change(run):
        options = run.document.executable.options | {"xla_gpu_load_autotune_results_from": new}
        found = with_fields(run.document, executable__autotune=new, executable__options=options)
        return replace(run, document=found)

    changed = tuple(change(run) if run.document.number == 3 else run for run in case.runs)
    return replace(
        bundle,
        cases=bundle.cases
        | {CLOSED: replace(case, runs=changed, autotune=case.autotune | {new: other})},
    )


@manipulation("GK003", "M26", base="closed")
def number_exchanged(bundle):
    """Two runs' documents bear each other's number."""
    first, second, third = bundle.cases[CLOSED].runs
    swapped = (
        replace(first, document=second.document),
        replace(second, document=first.document),
        third,
    )
    return replace(
        bundle, cases=bundle.cases | {CLOSED: replace(bundle.cases[CLOSED], runs=swapped)}
    )


@manipulation("GK602", "M26", base="closed")
def two_replicates(bundle):
    """Two runs of each case, as the plan asks for two."""
    cases = {
        name: replace(c, runs=c.runs[:2], record=replace(c.record, runs=c.record.runs[:2]))
        for name, c in bundle.cases.items()
    }
    found = tuple(e for e in bundle.journal.entries if e.run != 3)
    journal = replace(
        bundle.journal, entries=tuple(replace(e, sequence=i) for i, e in enumerate(found))
    )
    return replace(with_plan(bundle, replicates=2), cases=cases, journal=journal)


@manipulation("GK604", "M26", base="cpu")
def host_runs_copied(bundle):
    """A CPU host's second run of a case is its first one again."""
    return _copies(bundle, case="square_256-fp32-nn")
