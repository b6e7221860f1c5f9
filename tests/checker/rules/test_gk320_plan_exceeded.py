import pytest

from bundles import (
    GUIDELINE,
    changed,
    findings,
    honest_cpu,
    honest_gpu,
    honest_on_gpus,
    outcome,
    with_field,
    with_plan,
)

CODE = "GK320"


@pytest.mark.parametrize("bundle", honest_on_gpus())
def test_honest(bundle):
    assert outcome(CODE, bundle) == "pass"


def test_a_cpus_period_is_not_steady_enough():
    assert outcome(CODE, honest_cpu()) == "not_applicable"


@pytest.mark.parametrize(
    ("least", "wanted"), [(3921, "pass"), (3920, "fail"), (4040, "pass"), (4041, "fail")]
)
def test_launches_are_rounded_up_and_may_be_one_off_in_each_of_forty_windows(least, wanted):
    bundle = with_plan(honest_gpu(), phases__profiling_min_launches=least)
    assert outcome(CODE, bundle) == wanted


@pytest.mark.parametrize(
    ("seconds", "refused"), [(11.9, False), (11.8, True), (12.1, False), (12.3, True)]
)
def test_seconds_of_profiling_count_by_the_hosts_period(seconds, refused):
    """4,000 launches took 12.76 s: about 1.05 times 12 s."""
    bundle = with_plan(
        honest_gpu(), phases__profiling_min_launches=1, phases__profiling_min_s=seconds
    )
    places = [finding.place for finding in findings(CODE, bundle)]
    assert any(GUIDELINE in place for place in places) == refused


@pytest.mark.parametrize(("idle_s", "wanted"), [(1.4, "pass"), (1.39, "fail"), (1.501, "fail")])
def test_the_idle_phase_is_the_plans(idle_s, wanted):
    """It lasted 1.499 s."""
    bundle = with_plan(honest_gpu("closed"), phases__idle_s=idle_s)
    assert changed(bundle) == ({CODE: "fail"} if wanted == "fail" else {})


def test_one_run_alone_is_named():
    bundle = with_field(honest_gpu(), GUIDELINE, 2, "phases.idle_start_ns", lambda t: t - 2 * 10**9)
    (finding,) = findings(CODE, bundle)
    assert finding.place.endswith("-02/run.json: phases.idle_end_ns")
