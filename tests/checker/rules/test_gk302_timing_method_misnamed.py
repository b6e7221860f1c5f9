from bundles import (
    GUIDELINE,
    changed,
    findings,
    honest_cpu,
    honest_gpu,
    in_every_run,
    outcome,
    with_field,
    with_plan,
)

CODE = "GK302"


def test_another_method_than_the_plans_fails():
    bundle = with_field(honest_gpu(), GUIDELINE, 2, "timing.method", "host_clock")
    found = findings(CODE, bundle)
    assert {finding.severity for finding in found} == {"fail", "warn"}
    assert found[0].place.endswith("-02/run.json: timing.method")
    assert found[0].required == "cuda_events, as data/plan.json"


def test_events_on_a_cpu_always_fail():
    bundle = with_plan(honest_cpu(), timing__method="cuda_events")
    bundle = in_every_run(bundle, with_field, "timing.method", "cuda_events")
    assert outcome(CODE, bundle) == "fail"
    assert {finding.found for finding in findings(CODE, bundle)} == {"cuda_events on a CPU"}


def test_a_host_clock_on_a_gpu_departs_from_the_methodology():
    for division, severity in (("open", "warn"), ("closed", "fail")):
        bundle = with_plan(honest_gpu(division), timing__method="host_clock")
        bundle = in_every_run(bundle, with_field, "timing.method", "host_clock")
        bundle = in_every_run(bundle, with_field, "loops.drains", 140)
        assert outcome(CODE, bundle) == severity
        assert len(findings(CODE, bundle)) == 6


def test_only_this_rule_and_those_of_the_host_clock_change():
    bundle = with_field(honest_gpu(), GUIDELINE, 1, "timing.method", "host_clock")
    assert set(changed(bundle)) == {CODE, "GK303"}  # a host clock has to drain each window


def under_a_profiler(bundle):
    bundle = with_plan(bundle, timing__method="external_profiler")
    bundle = in_every_run(bundle, with_field, "timing.method", "external_profiler")
    return in_every_run(bundle, with_field, "loops.drains", 1)


def test_an_external_profiler_is_a_departure_and_never_closed():
    assert changed(under_a_profiler(honest_gpu())) == {CODE: "warn"}
    assert changed(under_a_profiler(honest_gpu("closed"))) == {CODE: "fail", "GK603": "fail"}


def test_an_external_profiler_drains_exactly_once():
    bundle = in_every_run(under_a_profiler(honest_gpu()), with_field, "loops.drains", 0)
    assert changed(bundle) == {CODE: "warn", "GK303": "fail"}
