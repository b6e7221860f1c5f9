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
    result,
    with_field,
    with_table,
    without_table,
)
from kit.trace import Table

CODE = "GK407"


@pytest.mark.parametrize(("seconds", "wanted"), [(1.001, "pass"), (0.999, "fail")])
def test_one_second_is_the_edge(seconds, wanted):
    bundle = honest_gpu("closed")
    end = bundle.cases[GUIDELINE].runs[0].document.phases.cool_down_end_ns
    start = end - int(seconds * 1e9)
    bundle = with_field(bundle, GUIDELINE, 1, "phases.cool_down_start_ns", start)
    assert outcome(CODE, bundle) == wanted


def test_a_short_cool_down_on_a_cpu_warns():
    start = honest_cpu().cases[PLAIN].runs[1].document.phases.cool_down_start_ns
    bundle = with_field(honest_cpu(), PLAIN, 2, "phases.cool_down_end_ns", start + 300_000_000)
    assert changed(bundle) == {CODE: "warn"}
    (finding,) = findings(CODE, bundle)
    assert finding.found == "0.300 s after the start"


@pytest.mark.parametrize("stop", ["cap", "seconds"])
@pytest.mark.parametrize(("division", "severity"), [("open", "warn"), ("closed", "fail")])
def test_a_cool_down_that_did_not_end_idle(stop, division, severity):
    bundle = with_field(honest_gpu(division), DECODE, 3, "phases.cool_down_stop", stop)
    assert changed(bundle) == {CODE: severity}


def at_the_end(column, value):
    """The last half second of run 1's cool-down in the decode case shows `value`."""
    end = honest_gpu().cases[DECODE].runs[0].document.phases.cool_down_end_ns

    def change(table):
        last = (table["t_ns"] >= end - 500_000_000) & (table["t_ns"] < end)
        return Table(table.columns | {column: np.where(last, value, table[column])})

    return with_table(honest_gpu(), DECODE, 1, "power.csv", change)


def idle_level(column):
    run = honest_gpu().cases[DECODE].runs[0]
    table, phases = run.tables["power.csv"], run.document.phases
    inside = (table["t_ns"] >= phases.idle_start_ns) & (table["t_ns"] < phases.idle_end_ns)
    return float(table[column][inside].mean())


@pytest.mark.parametrize(("share", "wanted"), [(1.099, "pass"), (1.101, "warn")])
def test_a_tenth_above_idle_power_is_the_edge(share, wanted):
    bundle = at_the_end("power_instant_mw", int(share * idle_level("power_instant_mw")))
    assert outcome(CODE, bundle) == wanted
    assert all("before the load" in finding.required for finding in findings(CODE, bundle))


@pytest.mark.parametrize(("warmer", "wanted"), [(11, "pass"), (13, "warn")])
def test_twelve_degrees_are_the_edge(warmer, wanted):
    bundle = at_the_end("gpu_c", int(idle_level("gpu_c")) + warmer)
    assert outcome(CODE, bundle) == wanted


def idle_phase(bundle, change):
    """Run 1's instantaneous power in the idle phase becomes `change(seconds into it, power)`."""
    phases = bundle.cases[DECODE].runs[0].document.phases

    def edit(table):
        seconds = (table["t_ns"] - phases.idle_start_ns) * 1e-9
        inside = (seconds >= 0) & (table["t_ns"] < phases.idle_end_ns)
        power = table["power_instant_mw"]
        values = np.where(inside, change(seconds, power), power).astype(np.int64)
        return Table(table.columns | {"power_instant_mw": values})

    return with_table(bundle, DECODE, 1, "power.csv", edit)


@pytest.mark.parametrize(("extra_mw", "wanted"), [(10_000, "pass"), (30_000, "fail")])
def test_a_baseline_that_still_cools_is_none(extra_mw, wanted):
    """The pilot's heat in the first half of the idle phase."""
    bundle = idle_phase(
        honest_gpu("closed"), lambda t, power: power + np.where(t < 0.7, extra_mw, 0)
    )
    assert outcome(CODE, bundle) == wanted
    for finding in findings(CODE, bundle):
        assert finding.required == "a level idle phase"


@pytest.mark.parametrize(("seconds", "wanted"), [(1.01, "pass"), (0.99, "fail")])
def test_the_idle_phase_lasts_a_second(seconds, wanted):
    phases = honest_gpu().cases[DECODE].runs[0].document.phases
    start = phases.idle_end_ns - int(seconds * 1e9)
    bundle = with_field(honest_gpu("closed"), DECODE, 1, "phases.idle_start_ns", start)
    assert outcome(CODE, bundle) == wanted


def test_without_power_nothing_is_proven():
    assert outcome(CODE, without_table(honest_gpu(), DECODE, 1, "power.csv")) == "unproven"
    run = honest_gpu().cases[DECODE].runs[0]
    bundle = with_table(
        honest_gpu(), DECODE, 1, "power.csv",
        lambda table: table.rows(table["t_ns"] > run.document.phases.idle_end_ns),
    )  # fmt: skip
    assert "idle phase" in result(CODE, bundle).reason
