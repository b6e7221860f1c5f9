from dataclasses import replace

import numpy as np
import pytest

from bundles import (
    DECODE,
    GUIDELINE,
    changed,
    device_loop,
    findings,
    honest_cpu,
    honest_gpu,
    outcome,
    result,
    with_disturbed_host,
    with_field,
    with_kernels,
    with_lead,
    with_run,
)
from forgeries import launches_inflated
from kit.ruleset import ruleset
from kit.timeline import anchored_span_ns, mean_period_ns, rows_of_phase
from kit.trace import PROFILING, Table

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
    bundle = honest_gpu()
    edge = int(SHARE * bundle.cases[case].runs[0].document.dispatch.pilot_period_ns * gemms)
    for enqueue, wanted in ((edge - 1, "pass"), (edge + 1, "warn")):
        broken = with_field(bundle, case, 1, "dispatch.pilot_enqueue_ns", enqueue)
        assert outcome(CODE, broken) == wanted


@pytest.mark.parametrize(
    ("factor", "wanted"), [(0.49, "fail"), (0.51, "pass"), (1.29, "pass"), (1.31, "fail")]
)
@pytest.mark.parametrize("division", ["open", "closed"])
def test_the_pilots_period_is_near_that_of_the_windows(division, factor, wanted):
    def change(period_ns):
        return round(period_ns * factor)

    bundle = with_field(honest_gpu(division), GUIDELINE, 2, "dispatch.pilot_period_ns", change)
    assert outcome(CODE, bundle) == wanted
    if wanted == "fail":
        assert changed(bundle) == {CODE: "fail"}


@pytest.mark.parametrize(("factor", "wanted"), [(0.51, "pass"), (1.29, "pass"), (1.31, "fail")])
def test_the_tuner_saw_the_program_run_as_fast(factor, wanted):
    """Its fastest program took the windows' period; none of the others tells anything."""
    period_ns = mean_period_ns(
        rows_of_phase(honest_gpu().cases[GUIDELINE].runs[1].tables["windows.csv"], PROFILING)
    )

    def change(candidates):
        return tuple(
            replace(entry, period_ns=period_ns * factor * (1 + place))
            for place, entry in enumerate(candidates)
        )

    bundle = with_field(honest_gpu(), GUIDELINE, 2, "dispatch.candidates", change)
    assert outcome(CODE, bundle) == wanted


def ahead(bundle, case, launches):
    """Run 2's host handed the last launch of each window over so many launches before its end."""
    run = bundle.cases[case].runs[1]
    windows, timing = run.tables["windows.csv"], run.document.timing
    profiling = windows["phase"] == 1
    period = windows["duration_ns"][profiling].sum() / windows["launches"][profiling].sum()
    _, width = anchored_span_ns(timing)
    lead = int(launches * period) - width
    return with_lead(bundle, case, 2, lead)


@pytest.mark.parametrize("honest", [honest_gpu, device_loop])
def test_launches_in_flight_have_an_edge(honest):
    assert outcome(CODE, ahead(honest(), DECODE, 16.1)) == "pass"
    bundle = ahead(honest(), DECODE, 15.9)
    assert outcome(CODE, bundle) == "warn"
    (finding,) = findings(CODE, bundle)
    assert finding.place.endswith("-02/windows.csv: column enqueue_end_ns in profiling")
    assert (finding.found, finding.required) == ("15.9 launches ahead of the device", "at least 16")


def test_a_host_that_is_the_slower_one_fails_alone():
    """As an H200 showed it for 256 cubed, whatever the pilot said."""
    assert changed(ahead(honest_gpu("closed"), GUIDELINE, 1.5)) == {CODE: "fail"}


def test_a_host_clock_drains_and_so_is_never_ahead():
    bundle = with_field(
        ahead(honest_gpu(), GUIDELINE, 0.5), GUIDELINE, 2, "timing.method", "host_clock"
    )
    assert outcome(CODE, bundle) == "pass"


@pytest.mark.parametrize("name", ["pilot_enqueue_ns", "pilot_period_ns"])
def test_without_a_pilot_nothing_is_proven(name):
    found = result(CODE, with_field(honest_gpu(), GUIDELINE, 1, f"dispatch.{name}", None))
    assert found.outcome == "unproven"
    assert "-01: the pilot's times are missing" in found.reason


def test_a_cpu_is_not_judged():
    assert result(CODE, honest_cpu()).reason.startswith("a CPU host cannot evidence")


@pytest.mark.parametrize("division", ["open", "closed"])
@pytest.mark.parametrize(("calls", "wanted"), [(34.0, "pass"), (34.2, "fail")])
def test_no_host_is_further_ahead_than_jax_lets_it_be(division, calls, wanted):
    """Launches that were added, or windows that were cut, beside unchanged enqueue times."""
    bundle = with_lead(honest_gpu(division), GUIDELINE, 1, int(calls * 3_190_824))
    assert outcome(CODE, bundle) == wanted


@pytest.mark.parametrize(("share", "wanted"), [(0.05, "pass"), (0.2, "fail")])
def test_a_few_windows_may_seem_further_ahead_than_the_host_can_be(share, wanted):
    bundle = with_disturbed_host(honest_gpu(), GUIDELINE, 1, share, 36)
    assert outcome(CODE, bundle) == wanted


def test_launches_that_were_added_show_in_the_lead():
    bundle = with_run(honest_gpu(), GUIDELINE, 1, lambda run: launches_inflated(run, 1.11))
    assert outcome(CODE, bundle) == "fail"


def with_gaps(bundle, gap_ns, name="Memset 3"):
    """Kernels and memsets of the guideline's traces so far apart; the memsets have another name."""

    def change(held):
        trace, table = held
        columns = {key: values.copy() for key, values in table.columns.items()}
        ends = np.cumsum(columns["duration_ns"] + gap_ns)
        columns["start_ns"] = ends - columns["duration_ns"]
        names = tuple(name if entry.startswith("Memset") else entry for entry in trace.names)
        return replace(trace, names=names), Table(columns)

    for number in (1, 2, 3):
        bundle = with_kernels(bundle, GUIDELINE, number, change)
    return bundle


@pytest.mark.parametrize(("kernels", "wanted"), [(1090, "pass"), (1110, "fail")])
def test_the_driver_queues_a_thousand_kernels(kernels, wanted):
    """Each GEMM of the guideline has a memset; a rule of calls alone would allow a loop 33."""
    bundle = with_field(honest_gpu(), GUIDELINE, 1, "executable.gemms_per_call", 100)
    bundle = with_gaps(bundle, 1700)
    found = [
        finding
        for finding in findings(CODE, with_lead(bundle, GUIDELINE, 1, kernels // 2 * 3_190_824))
        if "as the driver queues" in finding.required
    ]
    assert bool(found) == (wanted == "fail")


@pytest.mark.parametrize(
    "change", [{"gap_ns": 900}, {"gap_ns": 1700, "name": "splitKreduce_kernel"}]
)
def test_kernels_of_a_graph_or_without_a_memset_are_not_queued_one_by_one(change):
    bundle = with_field(honest_gpu(), GUIDELINE, 1, "executable.gemms_per_call", 100)
    far = with_lead(with_gaps(bundle, **change), GUIDELINE, 1, 600 * 3_190_824)
    assert not any("as the driver queues" in found.required for found in findings(CODE, far))
