import tracemalloc
from dataclasses import replace

import numpy as np
import pytest

from bundles import (
    DECODE,
    GUIDELINE,
    findings,
    honest_cpu,
    honest_gpu,
    honest_on_gpus,
    outcome,
    result,
    with_column,
    with_environment,
    with_field,
    with_rows,
    with_run,
    without_column,
    without_table,
)
from forgeries import shortened
from forms import SUBMISSIONS
from kit.bundle.reader import parse, read_container
from kit.stability import level
from kit.timeline import profiling_interval
from kit.trace import Table

CODE = "GK321"
SUITE = SUBMISSIONS / "closed/gemm-kit/h200-sxm/2026-11-30-square"


@pytest.mark.parametrize("bundle", honest_on_gpus())
def test_honest(bundle):
    assert outcome(CODE, bundle) == "pass"


def test_a_cpu_is_not_judged():
    assert outcome(CODE, honest_cpu()) == "not_applicable"


@pytest.mark.parametrize("division", ["open", "closed"])
@pytest.mark.parametrize("share", [0.9, 0.96])
def test_windows_that_end_earlier_with_the_cool_down_behind_them(division, share):
    def change(run):
        return shortened(run, share, with_cool_down=True)

    bundle = with_run(honest_gpu(division), DECODE, 2, change)
    assert outcome(CODE, bundle) == "fail"
    (finding,) = findings(CODE, bundle)
    assert finding.place.endswith("-02/energy.csv: column energy_mj")
    assert "s of load" in finding.found


@pytest.mark.parametrize(
    ("later_ms", "wanted"), [(-70, "fail"), (-65, "pass"), (135, "pass"), (140, "fail")]
)
def test_the_cool_down_begins_where_the_energy_says(later_ms, wanted):
    bundle = with_field(
        honest_gpu(), GUIDELINE, 1, "phases.cool_down_start_ns", lambda t: t + later_ms * 1_000_000
    )
    assert outcome(CODE, bundle) == wanted


@pytest.mark.parametrize(("later_ms", "wanted"), [(50, "pass"), (130, "fail")])
def test_the_load_begins_where_the_energy_says(later_ms, wanted):
    def later(start):
        moved = later_ms * 1_000_000
        return replace(start, before_ns=start.before_ns + moved, after_ns=start.after_ns + moved)

    bundle = with_field(honest_gpu(), GUIDELINE, 1, "timing.start", later)
    assert outcome(CODE, bundle) == wanted


@pytest.mark.parametrize(("share", "wanted"), [(0.999, "pass"), (0.99, "fail")])
def test_windows_and_slope_last_as_long_as_the_energy_says(share, wanted):
    """Windows that were cut between marks that stay where they were."""
    bundle = with_column(
        honest_gpu(),
        GUIDELINE,
        1,
        "windows.csv",
        "duration_ns",
        lambda ns: (ns * share).astype("i8"),
    )
    assert outcome(CODE, bundle) == wanted
    assert all("as by windows and slope" in found.required for found in findings(CODE, bundle))


@pytest.mark.parametrize(("later_s", "wanted"), [(-0.1, "pass"), (-0.3, "fail"), (0.3, "fail")])
def test_a_load_that_draws_a_third_more_than_rest_has_a_length_too(later_s, wanted):
    """256 cubed on an H200: 175 W, and 133 W at rest."""
    bundle = parse(read_container(SUITE))
    case = "square_256-bf16-nn"
    moved = with_field(
        bundle, case, 1, "phases.cool_down_start_ns", lambda t: t + round(later_s * 1e9)
    )
    assert outcome(CODE, moved) == wanted


def weaker(run, share, idle=1.0):
    """The run with a load that draws so little over the device at rest, the idle phase `idle`."""
    phases = run.document.phases
    power, energy = run.tables["power.csv"], run.tables["energy.csv"]
    rest_mw = level(power, phases.idle_start_ns, phases.idle_end_ns).power_mw
    factor = share * rest_mw / (level(power, *under_load(run)).power_mw - rest_mw)
    drawn = rest_mw + factor * (power["power_instant_mw"] - rest_mw)
    drawn[power["t_ns"] < phases.idle_end_ns] *= idle
    spent = energy["energy_mj"] - energy["energy_mj"][0]
    rested = rest_mw * (energy["t_ns"] - energy["t_ns"][0]) * 1e-9
    idle_s = (np.minimum(energy["t_ns"], phases.idle_end_ns) - energy["t_ns"][0]) * 1e-9
    warmer = (idle - 1) * rest_mw * idle_s
    columns = {"energy_mj": rested + factor * (spent - rested) + warmer}
    return replace(
        run,
        tables=run.tables
        | {
            "power.csv": Table(power.columns | {"power_instant_mw": drawn.astype(np.int64)}),
            "energy.csv": Table(
                energy.columns | {name: v.astype(np.int64) for name, v in columns.items()}
            ),
        },
    )


def under_load(run):
    return profiling_interval(run.document.timing, run.tables["windows.csv"])


@pytest.mark.parametrize(
    ("share", "later_s", "wanted"),
    [(0.1, 0.15, "pass"), (0.1, 0.25, "fail"), (0.3, 0.15, "fail"), (0.07, 0.0, "unproven")],
)
def test_a_weaker_load_is_known_less_exactly(share, later_s, wanted):
    """By a hundredth of the power at rest over what the load draws beyond it, in seconds."""
    case = "square_256-bf16-nn"
    bundle = with_run(
        parse(read_container(SUITE)), case, 1, lambda run: weaker(run, share), derive=False
    )
    moved = with_field(
        bundle, case, 1, "phases.cool_down_start_ns", lambda t: t + round(later_s * 1e9)
    )
    assert outcome(CODE, moved) == wanted


def test_an_idle_phase_that_draws_as_much_as_the_load_proves_nothing():
    bundle = with_run(
        parse(read_container(SUITE)), "square_256-bf16-nn", 1,
        lambda run: weaker(run, 0.1, idle=1.12), derive=False,
    )  # fmt: skip
    found = result(CODE, bundle)
    assert (found.outcome, "draws as much" in found.reason) == ("unproven", True)


def test_without_a_slope_the_windows_tell_no_length():
    bundle = with_field(honest_gpu(), DECODE, 1, "timing.controls", lambda controls: controls[:1])
    assert "host_slope is missing" in result(CODE, bundle).reason


@pytest.mark.parametrize("ahead_mj", [60_000, -60_000])
@pytest.mark.parametrize("is_early", [True, False])
def test_a_register_that_is_ahead_of_itself_for_two_steps_is_honest(ahead_mj, is_early):
    """As an H200's was just after the first second of load, by 90 ms of its 700 W."""
    bundle = honest_gpu()
    run = bundle.cases[GUIDELINE].runs[0]
    start_ns, end_ns = run.document.timing.start.after_ns, run.document.phases.cool_down_start_ns
    first_ns = start_ns + 1_000_000_000 if is_early else end_ns - 700_000_000
    first = int(np.searchsorted(run.tables["energy.csv"]["t_ns"], first_ns))

    def disturbed(energy_mj):
        energy_mj[first : first + 2] += ahead_mj
        return energy_mj

    changed = with_column(bundle, GUIDELINE, 1, "energy.csv", "energy_mj", disturbed)
    assert outcome(CODE, changed) == "pass"


def test_a_register_that_skips_a_step_is_honest():
    """An H200's counter stands still for a step now and then, and makes up for it."""

    def skipped(energy_mj):
        energy_mj[100] = energy_mj[99]
        return energy_mj

    bundle = with_column(honest_gpu(), GUIDELINE, 1, "energy.csv", "energy_mj", skipped)
    assert outcome(CODE, bundle) == "pass"


def test_a_counter_with_thousands_of_steps_is_judged_as_quickly():
    """Each of the steps of two seconds is held against every other one."""

    def finer(run):
        energy = run.tables["energy.csv"]
        t_ns = np.arange(int(energy["t_ns"][0]), int(energy["t_ns"][-1]), 200_000)
        columns = {"t_ns": t_ns, "burst_ns": np.ones_like(t_ns)}
        columns["energy_mj"] = np.interp(t_ns, energy["t_ns"], energy["energy_mj"]).astype(np.int64)
        return replace(run, tables=run.tables | {"energy.csv": Table(columns)})

    bundle = with_run(honest_gpu(), GUIDELINE, 1, finer)
    tracemalloc.start()
    assert outcome(CODE, bundle) == "pass"
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert most < 100e6


def test_without_energy_or_with_too_little_of_it_nothing_is_proven():
    found = result(CODE, without_column(honest_gpu(), GUIDELINE, 1, "energy.csv", "energy_mj"))
    assert found.outcome == "unproven"
    assert "lacks energy_mj" in found.reason
    start_ns = honest_gpu().cases[GUIDELINE].runs[0].document.timing.start.before_ns
    sparse = with_rows(
        honest_gpu(), GUIDELINE, 1, "energy.csv",
        lambda table: (table["t_ns"] > start_ns) | (np.arange(len(table)) < 1),
    )  # fmt: skip
    found = result(CODE, sparse)
    assert found.outcome == "unproven"
    assert "too seldom" in found.reason


def read_every(bundle, period_ms):
    """The counter of 100 ms as if it had been read so often."""

    def sampled(run):
        energy = run.tables["energy.csv"]
        t_ns = np.arange(int(energy["t_ns"][0]), int(energy["t_ns"][-1]), period_ms * 1_000_000)
        steps = t_ns // 100_000_000 * 100_000_000
        columns = {"t_ns": t_ns, "burst_ns": np.ones_like(t_ns)}
        columns["energy_mj"] = np.interp(steps, energy["t_ns"], energy["energy_mj"]).astype("i8")
        return replace(run, tables=run.tables | {"energy.csv": Table(columns)})

    def told(health):
        return tuple(
            replace(entry, period_ns=period_ms * 1_000_000)
            if entry.table == "energy.csv"
            else entry
            for entry in health
        )

    bundle = with_run(bundle, GUIDELINE, 1, sampled)
    return with_field(bundle, GUIDELINE, 1, "telemetry.health", told)


@pytest.mark.parametrize("period_ms", [20, 50, 60, 100, 200, 300, 400])
def test_a_counter_read_in_step_with_its_register_is_judged(period_ms):
    assert outcome(CODE, read_every(honest_gpu(), period_ms)) == "pass"


@pytest.mark.parametrize("period_ms", [70, 95, 110, 150, 190, 210])
def test_a_counter_read_out_of_step_proves_nothing(period_ms):
    found = result(CODE, read_every(honest_gpu(), period_ms))
    assert found.outcome == "unproven"
    assert f"read every {period_ms} ms, which beats" in found.reason


def test_a_gpu_with_unknown_registers_is_not_judged():
    bundle = with_environment(honest_gpu(), device__compute_capability="8.9", device__name="X")
    moved = with_field(bundle, GUIDELINE, 1, "phases.cool_down_start_ns", lambda t: t - 10**9)
    assert outcome(CODE, moved) == "pass"
    assert outcome(CODE, without_table(moved, GUIDELINE, 1, "energy.csv")) == "pass"


def rest_said_higher(run, factor, *, counted):
    """The power at rest, before and after the load, is another one, by the counter too or not."""
    phases = run.document.phases
    power, energy = run.tables["power.csv"], run.tables["energy.csv"]
    t_ns, drawn = power["t_ns"], power["power_instant_mw"]
    rests = (t_ns < phases.idle_end_ns) | (t_ns > phases.cool_down_start_ns)
    higher = np.where(rests, drawn * factor, drawn).astype(np.int64)
    tables = {"power.csv": Table(power.columns | {"power_instant_mw": higher})}
    if counted:
        rest_mw = level(power, phases.idle_start_ns, phases.idle_end_ns).power_mw
        idle_s = (np.minimum(energy["t_ns"], phases.idle_end_ns) - energy["t_ns"][0]) * 1e-9
        more = (energy["energy_mj"] + (factor - 1) * rest_mw * idle_s).astype(np.int64)
        tables["energy.csv"] = Table(energy.columns | {"energy_mj": more})
    return replace(run, tables=run.tables | tables)


@pytest.mark.parametrize(
    ("factor", "counted", "wanted"),
    [
        (1.005, False, None),
        (1.02, False, "by energy.csv"),
        (0.98, False, "by energy.csv"),
        (1.8, True, None),
        (2.3, True, "at most 35% of the 700000 mW that it may draw"),
    ],
)
def test_the_power_at_rest_is_what_the_counter_says_and_no_loads(factor, counted, wanted):
    """118 W; else a load could be hidden in it, and end wherever it is said to."""
    bundle = with_run(
        honest_gpu(),
        GUIDELINE,
        1,
        lambda run: rest_said_higher(run, factor, counted=counted),
        derive=False,
    )
    required = [found.required for found in findings(CODE, bundle) if "idle phase" in found.place]
    assert len(required) == (wanted is not None)
    assert all(wanted in text for text in required)


def drawn_more(run, factor, start_ns, end_ns):
    """The device draws more in between, by its register and by the counter."""
    power, energy = run.tables["power.csv"], run.tables["energy.csv"]
    inside = (power["t_ns"] >= start_ns) & (power["t_ns"] < end_ns)
    drawn = np.where(inside, power["power_instant_mw"] * factor, power["power_instant_mw"])
    more_mw = (factor - 1) * float(np.mean(power["power_instant_mw"][inside]))
    lasted_s = (np.clip(energy["t_ns"], start_ns, end_ns) - start_ns) * 1e-9
    spent = energy["energy_mj"] + more_mw * lasted_s
    tables = {
        "power.csv": Table(power.columns | {"power_instant_mw": drawn.astype(np.int64)}),
        "energy.csv": Table(energy.columns | {"energy_mj": spent.astype(np.int64)}),
    }
    return replace(run, tables=run.tables | tables)


def test_a_device_at_rest_may_draw_more_at_one_moment_than_at_another():
    def later(run):
        phases = run.document.phases
        middle_ns = (phases.idle_start_ns + phases.idle_end_ns) // 2
        return drawn_more(run, 1.05, middle_ns, phases.idle_end_ns)

    bundle = with_run(honest_gpu(), GUIDELINE, 1, later, derive=False)
    assert outcome(CODE, bundle) == "pass"


@pytest.mark.parametrize(("factor", "wanted"), [(1.04, "pass"), (1.12, "unproven")])
def test_a_device_may_draw_a_little_more_behind_a_weak_load(factor, wanted):
    def behind(run):
        phases = run.document.phases
        return drawn_more(run, factor, phases.cool_down_start_ns, phases.cool_down_end_ns)

    bundle = with_run(parse(read_container(SUITE)), "square_256-bf16-nn", 1, behind, derive=False)
    assert outcome(CODE, bundle) == wanted
