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
    with_field,
)
from kit.ruleset import ruleset

CODE = "GK305"
SHARE = ruleset("2026.1").dispatch_headroom


@pytest.mark.parametrize(("division", "severity"), [("open", "warn"), ("closed", "fail")])
def test_a_slow_host_departs_from_the_methodology(division, severity):
    bundle = with_field(honest_gpu(division), GUIDELINE, 3, "dispatch.pilot_enqueue_ns", 4_000_000)
    assert changed(bundle) == {CODE: severity}
    (finding,) = findings(CODE, bundle)
    assert finding.place.endswith("-03/run.json: dispatch.pilot_enqueue_ns")
    assert finding.found.startswith("4000000 ns")


@pytest.mark.parametrize(("case", "gemms"), [(GUIDELINE, 1), (DECODE, 2)])
def test_the_editions_share_of_a_whole_call_is_the_edge(case, gemms):
    bundle = with_field(honest_gpu(), case, 1, "dispatch.pilot_period_ns", 100_000)
    edge = int(SHARE * 100_000 * gemms)
    for enqueue, wanted in ((edge - 1, "pass"), (edge + 1, "warn")):
        broken = with_field(bundle, case, 1, "dispatch.pilot_enqueue_ns", enqueue)
        assert outcome(CODE, broken) == wanted


@pytest.mark.parametrize("name", ["pilot_enqueue_ns", "pilot_period_ns"])
def test_without_a_pilot_nothing_is_proven(name):
    found = result(CODE, with_field(honest_gpu(), GUIDELINE, 1, f"dispatch.{name}", None))
    assert found.outcome == "unproven"
    assert "-01: the pilot's times are missing" in found.reason


def test_a_cpu_is_not_judged():
    assert result(CODE, honest_cpu()).reason.startswith("a CPU host cannot evidence")
