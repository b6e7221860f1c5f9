from dataclasses import replace

import numpy as np
import pytest

from bundles import (
    DECODE,
    GUIDELINE,
    PLAIN,
    changed,
    findings,
    honest_cpu,
    honest_gpu,
    outcome,
    with_field,
    with_plan,
    with_rows,
    with_run,
    without_table,
)

CODE = "GK301"


@pytest.mark.parametrize("phase", ["warm_up", "profiling"])
@pytest.mark.parametrize(("honest", "case"), [(honest_gpu, DECODE), (honest_cpu, PLAIN)])
def test_a_count_that_the_windows_do_not_add_up_to_fails_alone(honest, case, phase):
    bundle = with_field(honest(), case, 1, f"phases.{phase}_launches", lambda count: count + 1)
    assert changed(bundle) == {CODE: "fail"}
    (finding,) = findings(CODE, bundle)
    assert finding.place.endswith(f"-01/run.json: phases.{phase}_launches")
    assert f"the launches of the {phase} windows" in finding.required


def test_a_window_that_was_left_out_fails():
    slowest = honest_gpu().cases[GUIDELINE].runs[1].tables["windows.csv"]["duration_ns"].argmax()
    bundle = with_rows(
        honest_gpu(), GUIDELINE, 2, "windows.csv", lambda table: np.arange(len(table)) != slowest
    )
    assert outcome(CODE, bundle) == "fail"


@pytest.mark.parametrize(
    ("minimum", "launches"),
    [("phases__warm_up_min_launches", 10_000), ("phases__profiling_min_launches", 4_000)],
)
def test_the_plans_minimum_is_the_edge(minimum, launches):
    assert outcome(CODE, with_plan(honest_gpu(), **{minimum: launches})) == "pass"
    bundle = with_plan(honest_gpu(), **{minimum: launches + 1})
    assert changed(bundle) == {CODE: "fail"}
    assert len(findings(CODE, bundle)) == 3  # the guideline case's replicates


def test_the_plans_windows_are_the_edge():
    assert outcome(CODE, with_plan(honest_gpu(), timing__windows=40)) == "pass"
    assert changed(with_plan(honest_gpu(), timing__windows=41)) == {CODE: "fail"}


def test_warm_up_after_profiling_fails():
    def turn(run):
        windows = run.tables["windows.csv"]
        columns = windows.columns | {"phase": windows["phase"][::-1]}
        return replace(run, tables=run.tables | {"windows.csv": replace(windows, columns=columns)})

    found = findings(CODE, with_run(honest_gpu(), GUIDELINE, 1, turn))
    assert found[0].required == "warm-up, then profiling"


@pytest.mark.parametrize("phase", [0, 1])
def test_both_loops_must_be_there(phase):
    bundle = with_rows(honest_cpu(), PLAIN, 1, "windows.csv", lambda table: table["phase"] != phase)
    name = ("warm_up", "profiling")[phase]
    bundle = with_field(bundle, PLAIN, 1, f"phases.{name}_launches", 0)
    bundle = with_plan(bundle, phases__warm_up_min_launches=0)
    found = findings(CODE, bundle)
    assert any(finding.required.startswith("at least") for finding in found)


def test_without_windows_nothing_is_proven():
    assert outcome(CODE, without_table(honest_cpu(), PLAIN, 1, "windows.csv")) == "unproven"


def test_windows_are_exactly_those_of_the_plan():
    """The best half of a run's windows, counts and plan's minima edited along."""
    run = honest_gpu().cases[GUIDELINE].runs[0]
    windows = run.tables["windows.csv"]
    kept = (windows["phase"] == 0) | (np.arange(len(windows)) >= len(windows) - 20)
    bundle = with_rows(honest_gpu(), GUIDELINE, 1, "windows.csv", lambda _: kept)
    bundle = with_field(bundle, GUIDELINE, 1, "phases.profiling_launches", 2000)
    bundle = with_plan(bundle, phases__profiling_min_launches=1000)
    (finding,) = findings(CODE, bundle)
    assert (finding.found, finding.required) == ("20", "40, as data/plan.json")
    assert outcome(CODE, with_plan(bundle, timing__windows=20)) == "fail"  # the other runs have 40


def test_a_windows_launches_are_all_windows_launches():
    def move(table):
        launches = table["launches"].copy()
        launches[-2:] += [1, -1]
        return replace(table, columns=table.columns | {"launches": launches})

    def edit(run):
        return replace(run, tables=run.tables | {"windows.csv": move(run.tables["windows.csv"])})

    (finding,) = findings(CODE, with_run(honest_gpu(), GUIDELINE, 1, edit))
    assert finding.found == "99 to 101 launches"
