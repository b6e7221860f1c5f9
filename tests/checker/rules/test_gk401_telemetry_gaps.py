from dataclasses import replace

import numpy as np
import pytest

from bundles import (
    DECODE,
    GUIDELINE,
    changed,
    findings,
    honest_cpu,
    honest_gpu,
    outcome,
    result,
    with_column,
    with_field,
    with_plan,
    with_rows,
    with_run,
    without_column,
    without_table,
)
from kit.timeline import profiling_interval
from kit.trace import Table

CODE = "GK401"


def profiling(case):
    run = honest_gpu().cases[case].runs[0]
    return profiling_interval(run.document.timing, run.tables["windows.csv"])


def without_samples(case, file, first_ns, last_ns):
    """Run 1 without the samples in [first, last)."""
    return with_rows(
        honest_gpu(), case, 1, file, lambda t: (t["t_ns"] < first_ns) | (t["t_ns"] >= last_ns)
    )


@pytest.mark.parametrize("file", ["clocks.csv", "power.csv"])
@pytest.mark.parametrize("where", ["start", "middle", "end"])
def test_a_second_without_samples_fails_wherever_it_is(file, where):
    start, end = profiling(GUIDELINE)
    second = 10**9
    first = {"start": start - second // 2, "middle": start + second, "end": end - second // 2}[
        where
    ]
    bundle = without_samples(GUIDELINE, file, first, first + second)
    found = [finding for finding in findings(CODE, bundle) if file in finding.place]
    assert len(found) == 1
    assert "without a sample" in found[0].found
    longest_ns = 250_000_000 if file == "clocks.csv" else 300_000_000  # or 5 periods of 60 ms
    assert found[0].required == f"at most {longest_ns} ns"


def test_it_fails_alone():
    start, _ = profiling(GUIDELINE)
    bundle = without_samples(GUIDELINE, "clocks.csv", start + 10**9, start + 2 * 10**9)
    assert changed(bundle) == {CODE: "fail"}


@pytest.mark.parametrize(("missing", "wanted"), [(11, "pass"), (13, "fail")])
def test_a_quarter_second_is_the_edge(missing, wanted):
    """Samples come about 20 ms apart, so 11 missing ones leave 240 ms and 13 leave 280 ms."""
    start, _ = profiling(GUIDELINE)
    table = honest_gpu().cases[GUIDELINE].runs[0].tables["clocks.csv"]
    first = int(np.searchsorted(table["t_ns"], start + 10**9))
    dropped = set(range(first, first + missing))
    bundle = with_rows(
        honest_gpu(), GUIDELINE, 1, "clocks.csv",
        lambda t: np.array([row not in dropped for row in range(len(t))]),
    )  # fmt: skip
    assert outcome(CODE, bundle) == wanted


@pytest.mark.parametrize(("samples", "wanted"), [(50, "pass"), (49, "fail")])
def test_fifty_clock_samples_are_the_edge(samples, wanted):
    """A sampler as slow as it says leaves no gap, but too few samples."""
    start, end = profiling(DECODE)
    table = honest_gpu().cases[DECODE].runs[0].tables["clocks.csv"]
    inside = np.flatnonzero((table["t_ns"] >= start) & (table["t_ns"] < end))
    kept = set(inside[np.linspace(0, len(inside) - 1, samples).astype(int)].tolist())
    period_ns = (end - start) // samples
    inside = set(inside.tolist())
    bundle = with_rows(
        honest_gpu(), DECODE, 1, "clocks.csv",
        lambda t: np.array([row not in inside or row in kept for row in range(len(t))]),
    )  # fmt: skip

    def evenly(t_ns):
        held = (t_ns >= start) & (t_ns < end)
        t_ns[held] = start + period_ns // 2 + period_ns * np.arange(samples)
        return t_ns

    bundle = with_column(bundle, DECODE, 1, "clocks.csv", "t_ns", evenly)

    def slower(health):
        return tuple(
            replace(entry, period_ns=period_ns) if entry.table == "clocks.csv" else entry
            for entry in health
        )

    bundle = with_field(bundle, DECODE, 1, "telemetry.health", slower)
    assert outcome(CODE, bundle) == wanted
    assert [f.required for f in findings(CODE, bundle)] == ["at least 50"] * (wanted == "fail")


@pytest.mark.parametrize(("samples", "wanted"), [(542, "pass"), (540, "fail")])
def test_as_many_samples_as_the_period_makes(samples, wanted):
    """638 samples 20 ms apart over 12.764 s; 0.85 of them, and one at an edge, are enough."""
    start, end = profiling(GUIDELINE)
    table = honest_gpu().cases[GUIDELINE].runs[0].tables["clocks.csv"]
    inside = np.flatnonzero((table["t_ns"] >= start) & (table["t_ns"] < end))
    kept = set(inside[np.linspace(0, len(inside) - 1, samples).astype(int)].tolist())
    inside = set(inside.tolist())
    bundle = with_rows(
        honest_gpu(), GUIDELINE, 1, "clocks.csv",
        lambda t: np.array([row not in inside or row in kept for row in range(len(t))]),
    )  # fmt: skip
    assert outcome(CODE, bundle) == wanted
    assert all("one every 20000000 ns" in found.required for found in findings(CODE, bundle))


@pytest.mark.parametrize("file", ["clocks.csv", "power.csv"])
def test_a_missing_table_proves_nothing(file):
    found = result(CODE, without_table(honest_gpu(), GUIDELINE, 1, file))
    assert found.outcome == "unproven"
    assert f"{file} is missing" in found.reason


@pytest.mark.parametrize(
    ("file", "column"),
    [
        ("clocks.csv", "graphics_mhz"),
        ("clocks.csv", "memory_mhz"),
        ("clocks.csv", "event_reasons"),
        ("power.csv", "gpu_c"),
    ],
)
def test_a_missing_column_proves_nothing(file, column):
    found = result(CODE, without_column(honest_gpu(), GUIDELINE, 1, file, column))
    assert found.outcome == "unproven"
    assert f"{file} lacks {column}" in found.reason


def test_one_kind_of_power_is_enough():
    bundle = without_column(honest_gpu(), GUIDELINE, 1, "power.csv", "power_instant_mw")
    assert outcome(CODE, bundle) == "pass"
    bundle = without_column(bundle, GUIDELINE, 1, "power.csv", "power_average_mw")
    assert outcome(CODE, bundle) == "unproven"


def test_without_a_period_gaps_are_unproven():
    bundle = with_field(honest_gpu(), GUIDELINE, 1, "telemetry.health", ())
    assert "sampling period" in result(CODE, bundle).reason


def test_a_cpu_is_not_judged():
    assert outcome(CODE, honest_cpu()) == "not_applicable"


@pytest.mark.parametrize(("times", "wanted"), [(4, "pass"), (5, "fail")])
def test_a_period_far_from_the_plans_is_no_measure_of_gaps(times, wanted):
    def slower(health):
        return tuple(
            replace(entry, period_ns=entry.period_ns * times)
            if entry.table == "clocks.csv"
            else entry
            for entry in health
        )

    bundle = with_field(honest_gpu(), GUIDELINE, 1, "telemetry.health", slower)
    bundle = with_rows(
        bundle, GUIDELINE, 1, "clocks.csv", lambda table: np.arange(len(table)) % times == 0
    )
    assert outcome(CODE, bundle) == wanted


@pytest.mark.parametrize("file", ["clocks.csv", "power.csv", "energy.csv"])
@pytest.mark.parametrize(("more", "wanted"), [(1, "pass"), (3, "fail")])
def test_rows_put_in_between_are_more_than_the_sampler_took(file, more, wanted):
    """The middle distance does not show them."""
    start, end = profiling(GUIDELINE)

    def more_rows(table):
        first = int(np.searchsorted(table["t_ns"], (start + end) // 2))
        places = np.sort(np.append(np.arange(len(table)), [first] * more))
        columns = {name: values[places].copy() for name, values in table.columns.items()}
        columns["t_ns"][first : first + more + 1] += np.arange(more + 1)
        return Table(columns)

    def inserted(run):
        return replace(run, tables=run.tables | {file: more_rows(run.tables[file])})

    bundle = with_run(honest_gpu(), GUIDELINE, 1, inserted)
    assert outcome(CODE, bundle) == wanted


def test_a_period_that_was_not_planned_is_one_fault():
    def tiny(health):
        return tuple(
            replace(entry, period_ns=1) if entry.table == "clocks.csv" else entry
            for entry in health
        )

    bundle = with_field(honest_gpu(), GUIDELINE, 1, "telemetry.health", tiny)
    (finding,) = findings(CODE, bundle)
    assert finding.place.endswith("telemetry.health.clocks.csv")


def test_an_energy_counter_that_was_never_read_hides_no_other_fault():
    start, end = profiling(GUIDELINE)
    bundle = without_samples(GUIDELINE, "clocks.csv", start, end)
    bundle = without_table(bundle, GUIDELINE, 1, "energy.csv")
    assert outcome(CODE, bundle) == "fail"


def test_the_energy_counter_was_read_as_planned():
    def doubled(health):
        return tuple(
            replace(entry, period_ns=entry.period_ns * 2) if entry.table == "energy.csv" else entry
            for entry in health
        )

    bundle = with_field(honest_gpu(), GUIDELINE, 1, "telemetry.health", doubled)
    places = [finding.place for finding in findings(CODE, bundle)]
    assert any(place.endswith("energy.csv: column t_ns") for place in places)


@pytest.mark.parametrize(("share", "wanted"), [(0.996, "pass"), (0.994, "fail"), (1.006, "fail")])
@pytest.mark.parametrize("file", ["clocks.csv", "power.csv"])
def test_samples_are_as_far_apart_as_their_period_says(file, share, wanted):
    bundle = with_column(
        honest_gpu(), GUIDELINE, 1, file, "t_ns", lambda t: (t[0] + (t - t[0]) * share).astype("i8")
    )
    assert outcome(CODE, bundle) == wanted


@pytest.mark.parametrize("division", ["open", "closed"])
@pytest.mark.parametrize(
    ("name", "period_ms", "wanted"),
    [("clock", 50, False), ("clock", 51, True), ("power", 60, False), ("power", 61, True)],
)
def test_a_plan_samples_often(division, name, period_ms, wanted):
    bundle = with_plan(honest_gpu(division), **{f"telemetry__{name}_period_ms": period_ms})
    found = [entry for entry in findings(CODE, bundle) if "plan.json" in entry.place]
    assert bool(found) == wanted
    if wanted:
        assert found[0].place == f"data/plan.json: telemetry.{name}_period_ms"
        assert (found[0].found, outcome(CODE, bundle)) == (str(period_ms), "fail")


def test_a_planned_period_of_seconds_hides_no_gap():
    """Nothing sampled for four seconds, as the plan and the sampler say."""
    start, _ = profiling(GUIDELINE)
    bundle = without_samples(GUIDELINE, "clocks.csv", start + 2 * 10**9, start + 6 * 10**9)
    bundle = without_samples_of_power(bundle, start)

    def slower(health):
        return tuple(
            replace(entry, period_ns=4 * 10**9)
            if entry.table in {"clocks.csv", "power.csv"}
            else entry
            for entry in health
        )

    bundle = with_field(bundle, GUIDELINE, 1, "telemetry.health", slower)
    bundle = with_plan(bundle, telemetry__clock_period_ms=4000, telemetry__power_period_ms=4000)
    assert outcome(CODE, bundle) == "fail"


def without_samples_of_power(bundle, start):
    return with_rows(
        bundle, GUIDELINE, 1, "power.csv",
        lambda t: (t["t_ns"] < start + 2 * 10**9) | (t["t_ns"] >= start + 6 * 10**9),
    )  # fmt: skip
