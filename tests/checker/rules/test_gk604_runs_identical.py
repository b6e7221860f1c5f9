from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bundles import (
    DECODE,
    GUIDELINE,
    PLAIN,
    changed,
    findings,
    honest_cpu,
    honest_gpu,
    outcome,
    with_column,
    with_kernels,
    with_run,
    with_table,
)
from forgeries import jittered
from kit.checker import likeness
from kit.checker.likeness import likenesses
from kit.checker.rules import gk604_runs_identical as gk604
from kit.ruleset import CURRENT, ruleset
from kit.timeline import profiling_interval
from kit.trace import Table

CODE = "GK604"
RULES = ruleset(CURRENT)
TIMES = ("t_ns", "enqueue_start_ns", "enqueue_end_ns")


def copied(bundle, case, file, columns):
    """Run 2 with these columns of run 1, each cut or filled to run 2's own length."""
    source = bundle.cases[case].runs[0].tables[file]

    def take(table):
        new = {name: np.resize(source[name], len(table)) for name in columns}
        return Table(table.columns | new)

    return with_table(bundle, case, 2, file, take)


def repeated(bundle, file, column, values):
    """The column made of `values`, over and over, in 400 rows of every guideline run."""

    def edit(table):
        columns = table.columns | {column: np.resize(values, len(table)).astype(np.int64)}
        return Table({name: series[:400] for name, series in columns.items()})

    for number in (1, 2, 3):
        bundle = with_table(bundle, GUIDELINE, number, file, edit)
    return bundle


@pytest.mark.parametrize("bundle", [honest_gpu(), honest_gpu("closed"), honest_cpu()])
def test_honest(bundle):
    assert outcome(CODE, bundle) == "pass"


def test_windows_of_another_run():
    broken = copied(honest_cpu(), PLAIN, "windows.csv", ["duration_ns"])
    assert changed(broken)[CODE] == "fail"
    (finding,) = findings(CODE, broken)
    assert finding.place == f"data/cases/{PLAIN}/runs/cpu-02/windows.csv"
    assert finding.found == f"duration_ns is that of data/cases/{PLAIN}/runs/cpu-01"


def test_one_nanosecond_makes_another_run():
    def shift(table):
        return Table(
            table.columns | {"duration_ns": table["duration_ns"] + (np.arange(len(table)) == 7)}
        )

    broken = copied(honest_cpu(), PLAIN, "windows.csv", ["duration_ns"])
    assert outcome(CODE, with_table(broken, PLAIN, 2, "windows.csv", shift)) == "pass"


def test_telemetry_of_a_run_of_another_case():
    bundle = honest_gpu()
    source = bundle.cases[GUIDELINE].runs[0].tables["power.csv"]

    def take(run):
        return replace(run, tables=run.tables | {"power.csv": source})

    broken = with_run(bundle, DECODE, 3, take, derive=False)
    found = {finding.found for finding in findings(CODE, broken)}
    assert found == {
        f"{column} {what} data/cases/{GUIDELINE}/runs/gpu-3f0a51c2d9e8-01"
        for column in ("power_instant_mw", "power_average_mw")
        for what in ("is that of", "has a stretch of")
    }


@pytest.mark.parametrize(("rows", "verdict"), [(8, "pass"), (400, "fail")])
def test_a_stretch_of_another_cases_power(rows, verdict):
    """A part of it at another place is known by its steps; eight rows hold too few."""
    source = honest_gpu().cases[GUIDELINE].runs[0].tables["power.csv"]["power_average_mw"]

    def take(values):
        rows_here = min(rows, len(values) - 20)
        values[10 : 10 + rows_here] = source[200 : 200 + rows_here]
        return values

    broken = with_column(honest_gpu(), DECODE, 3, "power.csv", "power_average_mw", take)
    assert outcome(CODE, broken) == verdict


@pytest.mark.parametrize(("row", "verdict"), [(3, "pass"), (4, "fail")])
@pytest.mark.parametrize(("honest", "case"), [(honest_gpu, GUIDELINE), (honest_cpu, PLAIN)])
def test_four_windows_that_stand_there_twice(honest, case, row, verdict):
    def repeat(values):
        values[-row:] = values[-2 * row : -row]
        return values

    broken = with_column(honest(), case, 1, "windows.csv", "duration_ns", repeat)
    assert outcome(CODE, broken) == verdict


def test_windows_that_never_differ_repeat_nothing():
    """A coarse clock may give one value, or two, throughout."""

    def flat(values):
        return np.where(np.arange(len(values)) % 2, 10_000_000, 10_000_100)

    broken = with_column(honest_cpu(), PLAIN, 1, "windows.csv", "duration_ns", flat)
    assert outcome(CODE, broken) == "pass"


@pytest.mark.parametrize(
    ("values", "verdict"),
    [([1500], "pass"), ([345, 1500], "pass"), ([345, 1500, 1485, 1515, 1470], "fail")],
)
def test_clocks_that_hardly_move_tell_nothing(values, verdict):
    assert outcome(CODE, repeated(honest_gpu(), "clocks.csv", "graphics_mhz", values)) == verdict


@pytest.mark.parametrize(("rows", "verdict"), [(20, "pass"), (21, "fail")])
def test_short_series_tell_nothing(rows, verdict):
    bundle = honest_gpu()
    recorded = bundle.cases[GUIDELINE].runs[0].tables["power.csv"]
    place = np.arange(len(recorded))
    series = recorded.rows((place >= 200) & (place < 200 + rows))
    assert len(set(series["power_instant_mw"].tolist())) >= 5

    def take(run):
        return replace(run, tables=run.tables | {"power.csv": series})

    for number in (1, 2):
        bundle = with_run(bundle, GUIDELINE, number, take, derive=False)
    assert outcome(CODE, bundle) == verdict


def test_kernels_of_another_run():
    first = honest_gpu().cases[DECODE].runs[0]
    bundle = with_kernels(
        honest_gpu(), DECODE, 3, lambda _: (first.trace, first.tables["kernels.csv"])
    )
    (finding,) = findings(CODE, bundle)
    assert finding.place.endswith("-03/kernels.csv")
    assert finding.found.startswith("start_ns is that of ")


@given(st.lists(st.integers(0, 6), min_size=1, max_size=60))
def test_a_series_tells_a_run_by_five_values_in_more_than_twenty_readings(values):
    told = gk604._tells(np.array(values, np.int64), RULES)
    assert told == (len(values) > 20 and len(set(values)) >= 5)


def replicate_of_the_first(bundle, seed):
    """Run 2 with the series of run 1 and noise on top of each, moved to its own time."""
    first, second = bundle.cases[GUIDELINE].runs[:2]
    by_ns = second.document.timing.start.before_ns - first.document.timing.start.before_ns

    def moved(table):
        times = {name: table[name] + by_ns for name in TIMES if name in table}
        return Table(table.columns | times)

    def take(run):
        copy = {file: moved(first.tables[file]) for file in ("windows.csv", "clocks.csv")}
        copy["power.csv"] = moved(first.tables["power.csv"])
        return jittered(replace(run, tables=run.tables | copy), seed)

    return with_run(bundle, GUIDELINE, 2, take, derive=False)


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_noise_does_not_make_a_copy_a_run(seed):
    bundle = replicate_of_the_first(honest_gpu(), seed)
    assert outcome(CODE, bundle) == "fail"
    (finding,) = findings(CODE, bundle)
    assert finding.place.endswith("-02")
    assert "move as in" in finding.found


def test_the_limit_is_the_edge():
    """What two honest runs and a copy correlate by lies far to both sides of it."""
    honest = honest_gpu().cases[GUIDELINE].runs
    anything = replace(RULES, run_correlation=-2.0, run_correlation_certain=-2.0)
    assert all(like.correlation < 0.5 for like in likenesses(honest, anything))
    copied_runs = replicate_of_the_first(honest_gpu(), 1).cases[GUIDELINE].runs[:2]
    (like,) = likenesses(copied_runs, replace(RULES, run_correlation=0.0))
    assert like.correlation > 0.9
    below = replace(RULES, run_correlation=like.correlation - 1e-6)
    assert list(likenesses(copied_runs, below))
    assert not list(likenesses(copied_runs, replace(RULES, run_correlation=like.correlation)))


def test_a_copy_that_begins_three_steps_later_is_found_too():
    bundle = replicate_of_the_first(honest_gpu(), 1)

    def later(table):
        return Table(table.columns | {"t_ns": table["t_ns"] + 300_000_000})

    for file in ("clocks.csv", "power.csv"):
        bundle = with_table(bundle, GUIDELINE, 2, file, later)
    assert outcome(CODE, bundle) == "fail"


@pytest.mark.parametrize(
    ("late_s", "wanted"),
    [(0.7, "fail"), (-1.4, "fail"), (5.9, "fail"), (-5.9, "fail"), (6.3, "pass")],
)
def test_six_seconds_are_the_edge_of_a_moved_copy(late_s, wanted):
    """Its windows in another order, clock and power moved, each with noise of its own."""
    bundle = replicate_of_the_first(honest_gpu(), 1)

    def moved(run):
        def later(table):
            return Table(table.columns | {"t_ns": table["t_ns"] + round(late_s * 1e9)})

        windows = run.tables["windows.csv"]
        lasted = windows["duration_ns"].copy()
        profiling = np.flatnonzero(windows["phase"] == 1)
        lasted[profiling] = np.random.default_rng(1).permutation(lasted[profiling])
        shuffled = Table(windows.columns | {"duration_ns": lasted})
        tables = {name: later(run.tables[name]) for name in ("clocks.csv", "power.csv")}
        return replace(run, tables=run.tables | tables | {"windows.csv": shuffled})

    bundle = with_run(bundle, GUIDELINE, 2, moved, derive=False)
    found = [entry for entry in findings(CODE, bundle) if "move as in" in entry.found]
    assert bool(found) == (wanted == "fail")


def swinging(run, seed, noise):
    """The run with a power that swings every 0.7 s, and noise of its own, in parts of the swing."""

    def change(table):
        steps = table["t_ns"] // 100_000_000  # as its register shows it
        own = np.random.default_rng(seed).normal(size=steps.max() - steps.min() + 1)
        swing = np.sin(2 * np.pi * (steps / 7 + seed / 5)) + noise * own[steps - steps.min()]
        power = {"power_instant_mw": 10_000 * swing, "power_average_mw": 1_000 * swing}
        return Table(
            table.columns
            | {name: np.rint(300_000 + values).astype(np.int64) for name, values in power.items()}
        )

    return replace(run, tables=run.tables | {"power.csv": change(run.tables["power.csv"])})


def test_two_runs_that_swing_at_a_period_of_their_own_are_no_copies():
    """As two of 256^3 on an H200 did: each is as much like itself a period later."""
    runs = [
        swinging(run, number, 0.05)
        for number, run in enumerate(honest_gpu().cases[GUIDELINE].runs[:2])
    ]
    assert not list(likenesses(runs, RULES))
    (like,) = likenesses(runs, replace(RULES, run_correlation_beyond_own=-2.0))
    assert set(like.series) == {"power_instant_mw", "power_average_mw"}


def test_a_copy_that_repeats_itself_is_one():
    """Both runs' power goes round every second: the copy's equals it nearly wholly."""
    first, copy = (
        swinging(run, 1, noise)
        for run, noise in zip(honest_gpu().cases[GUIDELINE].runs, (0.0, 0.001), strict=False)
    )
    (like,) = likenesses([first, copy], RULES)
    assert like.correlation > RULES.run_correlation_certain


def test_a_copy_of_a_swinging_run_is_more_like_it_than_it_is_like_itself():
    """Its power alone is copied, with noise; windows and clock are another run's."""
    runs = honest_gpu().cases[GUIDELINE].runs
    first = swinging(runs[0], 1, 0.2)
    power, draw = first.tables["power.csv"], np.random.default_rng(2)
    starts = [profiling_interval(run.document.timing, run.tables["windows.csv"])[0] for run in runs]
    by_ns = starts[1] - starts[0]
    theirs = {
        "t_ns": power["t_ns"] + by_ns,
        "power_instant_mw": power["power_instant_mw"] + draw.integers(-200, 201, len(power)),
        "power_average_mw": power["power_average_mw"] + draw.integers(-20, 21, len(power)),
    }
    tables = runs[1].tables | {"power.csv": Table(power.columns | theirs)}
    copy = replace(runs[1], tables=tables)
    (like,) = likenesses([first, copy], RULES)
    assert set(like.series) == {"power_instant_mw", "power_average_mw"}


@pytest.mark.parametrize(("over", "wanted"), [(-1e-3, True), (1e-3, False)])
def test_two_runs_share_the_geometric_mean_of_their_swings(over, wanted, monkeypatch):
    runs = replicate_of_the_first(honest_gpu(), 1).cases[GUIDELINE].runs[:2]
    rules = replace(RULES, run_correlation=0.0, run_correlation_certain=2.0)
    monkeypatch.setattr(likeness, "_own_correlations", lambda *_: np.zeros(2))
    (like,) = likenesses(runs, rules)
    mean = like.correlation - RULES.run_correlation_beyond_own + over
    monkeypatch.setattr(
        likeness, "_own_correlations", lambda *_: np.array([mean / 1.05, mean * 1.05])
    )
    found = list(likenesses(runs, rules))
    assert any(entry.correlation == like.correlation for entry in found) == wanted


def test_one_register_under_two_names_is_one_series():
    runs = []
    for run in honest_gpu().cases[GUIDELINE].runs[:2]:
        power = run.tables["power.csv"]
        both = Table(power.columns | {"power_average_mw": power["power_instant_mw"]})
        runs.append(replace(run, tables=run.tables | {"power.csv": both}))
    anything = replace(RULES, run_correlation=-0.99, run_correlation_certain=-2.0)
    (like,) = likenesses(runs, anything)
    assert not set(like.series) >= {"power_instant_mw", "power_average_mw"}


def drifting(run, by_ns, noise):
    """The run with a power that drifts smoothly, in all alike but for smooth noise."""
    power = run.tables["power.csv"]
    steps = (power["t_ns"] - by_ns) // 100_000_000
    draws = np.random.default_rng(7).normal(size=(3, 2_000))
    smooth = [np.convolve(draw, np.bartlett(14), "same").cumsum() for draw in draws]
    drift, *own = (series[steps - steps.min()] for series in smooth)
    columns = {
        name: np.rint(300_000 + size * (drift + noise * each)).astype(np.int64)
        for name, size, each in zip(
            ("power_instant_mw", "power_average_mw"), (1_000, 900), own, strict=True
        )
    }
    return replace(run, tables=run.tables | {"power.csv": Table(power.columns | columns)})


def test_a_smooth_copy_is_like_itself_at_once_and_no_less_a_copy():
    """A step later a run as smooth is itself by 0.97: that is no swing."""
    runs = honest_gpu().cases[GUIDELINE].runs[:2]
    starts = [profiling_interval(run.document.timing, run.tables["windows.csv"])[0] for run in runs]
    copies = [
        drifting(run, start, noise)
        for run, start, noise in zip(runs, starts, (0.0, 0.2), strict=True)
    ]
    (like,) = likenesses(copies, RULES)
    assert set(like.series) == {"power_instant_mw", "power_average_mw"}


@given(st.lists(st.floats(-1, 1), min_size=4, max_size=4))
def test_the_second_of_four(values):
    assert likeness._second(*np.array(values)) == sorted(values)[-2]


def test_three_hundred_runs_are_compared_at_once():
    runs = honest_gpu().cases[GUIDELINE].runs * 100
    assert len(list(likenesses(runs, RULES))) == 3 * 100 * 99 // 2
