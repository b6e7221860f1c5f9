import numpy as np
import pytest

from bundles import (
    DECODE,
    GUIDELINE,
    changed,
    findings,
    fixed_frequency,
    honest_cpu,
    honest_gpu,
    outcome,
    with_column,
    without_column,
)

CODE = "GK413"


def warm(bundle, case, change):
    return with_column(bundle, case, 1, "power.csv", "gpu_c", change)


@pytest.mark.parametrize(
    "bundle", [honest_gpu(), honest_gpu("closed"), fixed_frequency(), fixed_frequency("closed")]
)
def test_honest(bundle):
    assert outcome(CODE, bundle) == "pass"


def test_a_cpu_is_not_judged():
    assert outcome(CODE, honest_cpu()) == "not_applicable"


@pytest.mark.parametrize("case", [GUIDELINE, DECODE])
@pytest.mark.parametrize(
    "change", [lambda c: c * 0 + c[0], lambda c: c.max() + c[0] - c], ids=["flat", "upside down"]
)
def test_a_temperature_that_is_not_the_devices(case, change):
    assert changed(warm(honest_gpu(), case, change)) == {CODE: "fail"}


@pytest.mark.parametrize(("rise_c", "wanted"), [(0, "fail"), (1, "pass")])
def test_a_degree_is_the_edge(rise_c, wanted):
    """The recorded idle phase is at 38 °C throughout."""
    bundle = warm(honest_gpu(), GUIDELINE, lambda c: np.minimum(c, 38 + rise_c))
    assert outcome(CODE, bundle) == wanted
    assert all("°C at the end of a load" in found.found for found in findings(CODE, bundle))


@pytest.mark.parametrize(("load_mw", "wanted"), [(180_000, "pass"), (190_000, "fail")])
def test_a_load_that_draws_little_need_not_warm(load_mw, wanted):
    """Idle is at 122.4 W: half as much again is 183.6 W."""
    bundle = warm(honest_gpu(), GUIDELINE, lambda c: c * 0 + 38)
    bundle = with_column(
        bundle, GUIDELINE, 1, "power.csv", "power_instant_mw", lambda p: np.minimum(p, load_mw)
    )
    assert outcome(CODE, bundle) == wanted


@pytest.mark.parametrize("column", ["gpu_c"])
def test_without_a_sensor_nothing_is_proven(column):
    assert outcome(CODE, without_column(honest_gpu(), GUIDELINE, 1, "power.csv", column)) == (
        "unproven"
    )
