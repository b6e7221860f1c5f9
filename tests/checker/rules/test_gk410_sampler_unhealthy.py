from dataclasses import replace

import pytest

from bundles import (
    GUIDELINE,
    PLAIN,
    changed,
    findings,
    honest_cpu,
    honest_gpu,
    outcome,
    result,
    with_field,
    with_plan,
)

CODE = "GK410"


def with_health(bundle, case, file, **counts):
    """Counts of one table changed; as many rows as before were kept."""
    more = counts.get("lost", 0) + counts.get("failed", 0)

    def change(health):
        return tuple(
            replace(entry, bursts=entry.bursts + more, **counts) if entry.table == file else entry
            for entry in health
        )

    return with_field(bundle, case, 1, "telemetry.health", change)


@pytest.mark.parametrize("file", ["clocks.csv", "power.csv", "energy.csv"])
@pytest.mark.parametrize(("division", "severity"), [("open", "warn"), ("closed", "fail")])
def test_one_lost_row_departs_from_the_methodology(file, division, severity):
    bundle = with_health(honest_gpu(division), GUIDELINE, file, lost=1)
    assert changed(bundle) == {CODE: severity}
    (finding,) = findings(CODE, bundle)
    assert finding.place.endswith(f"telemetry.health.{file}.lost")
    assert finding.required == "0"


@pytest.mark.parametrize(("failed", "wanted"), [(27, "pass"), (28, "warn")])
def test_a_failed_burst_in_a_hundred_is_the_edge(failed, wanted):
    """2706 bursts gave a row; 27 of 2733 are 0.99 %, 28 of 2734 are 1.02 %."""
    bundle = with_health(honest_gpu(), GUIDELINE, "clocks.csv", failed=failed)
    assert outcome(CODE, bundle) == wanted


@pytest.mark.parametrize(("late", "wanted"), [(135, "pass"), (136, "warn")])
def test_a_late_burst_in_twenty_is_the_edge(late, wanted):
    bundle = with_health(honest_gpu(), GUIDELINE, "clocks.csv", overruns=late)
    assert outcome(CODE, bundle) == wanted


def test_a_hosts_sampler_is_judged_too():
    assert changed(with_health(honest_cpu(), PLAIN, "host.csv", lost=3)) == {CODE: "warn"}


def test_without_a_sampler_a_gpu_proves_nothing_and_a_cpu_need_not():
    bundle = with_field(honest_gpu(), GUIDELINE, 1, "telemetry.health", ())
    assert result(CODE, bundle).outcome == "unproven"
    assert outcome(CODE, with_plan(honest_cpu(), telemetry__source="none")) == "not_applicable"
    assert outcome(CODE, with_plan(honest_gpu(), telemetry__source="none")) == "pass"
