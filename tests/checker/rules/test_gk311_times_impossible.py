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
    with_column,
    with_field,
    without_table,
)
from kit.timeline import window_edges
from kit.trace import WARM_UP

CODE = "GK311"


@pytest.mark.parametrize(
    ("path", "anchor"),
    [
        ("phases.idle_start_ns", "started_ns"),
        ("phases.idle_end_ns", "phases.idle_start_ns"),
        ("timing.start.before_ns", "phases.idle_end_ns"),
        ("timing.start.after_ns", "timing.start.before_ns"),
        ("phases.cool_down_start_ns", "timing.end.after_ns"),
        ("phases.cool_down_end_ns", "phases.cool_down_start_ns"),
        ("ended_ns", "phases.cool_down_end_ns"),
    ],
)
@pytest.mark.parametrize(("honest", "case"), [(honest_gpu, DECODE), (honest_cpu, PLAIN)])
def test_each_moment_follows_the_one_before(honest, case, path, anchor):
    document = honest().cases[case].runs[0].document
    before = document
    for name in anchor.split("."):
        before = getattr(before, name)
    bundle = with_field(honest(), case, 1, path, before - 1)
    places = {finding.place.partition("run.json: ")[2] for finding in findings(CODE, bundle)}
    assert path in places


@pytest.mark.parametrize("path", ["phases.idle_start_ns", "phases.cool_down_start_ns"])
def test_moments_may_coincide(path):
    """The idle phase may begin with the run, the cool-down with the last drained moment."""
    document = honest_gpu().cases[DECODE].runs[0].document
    earliest = {"phases.idle_start_ns": document.started_ns,
                "phases.cool_down_start_ns": document.timing.end.after_ns}[path]  # fmt: skip
    assert outcome(CODE, with_field(honest_gpu(), DECODE, 1, path, earliest)) == "pass"


def test_a_cool_down_before_the_last_drained_moment_fails():
    run = honest_gpu().cases[GUIDELINE].runs[1]
    early = run.document.timing.end.after_ns - 1_000_000
    bundle = with_field(honest_gpu(), GUIDELINE, 2, "phases.cool_down_start_ns", early)
    assert changed(bundle) == {CODE: "fail", "GK318": "fail", "GK321": "fail"}
    (finding,) = findings(CODE, bundle)
    assert finding.required.startswith("timing.end.after_ns")


@pytest.mark.parametrize("column", ["enqueue_start_ns", "enqueue_end_ns"])
def test_launches_are_handed_over_in_order(column):
    def change(values):
        values[20] = values[21] + 10**9
        return values

    bundle = with_column(honest_gpu(), GUIDELINE, 1, "windows.csv", column, change)
    assert changed(bundle) == {CODE: "fail"}
    assert "enqueue columns" in findings(CODE, bundle)[0].place


@pytest.mark.parametrize(
    ("calls", "wanted"), [(0, "pass"), (-1, "fail"), (48, "pass"), (49, "fail")]
)
@pytest.mark.parametrize("first", [True, False])
def test_a_window_is_handed_over_before_it_ends_and_not_too_early(first, calls, wanted):
    """In the warm-up too, by which the plan reckons the launches of profiling."""
    run = honest_gpu().cases[GUIDELINE].runs[0]
    windows, timing = run.tables["windows.csv"], run.document.timing
    row = int(np.flatnonzero(windows["phase"] == WARM_UP)[60]) if first else len(windows) - 2
    end_ns = int(window_edges(timing, windows)[row + 1])

    def change(values):
        values[row] = end_ns - calls * 3_190_824
        return values

    bundle = with_column(honest_gpu(), GUIDELINE, 1, "windows.csv", "enqueue_end_ns", change)
    found = [entry for entry in findings(CODE, bundle) if "enqueue_end_ns" in entry.place]
    assert bool(found) == (wanted == "fail")


def handed_over(bundle, ends_ns):
    """The guideline's first run whose windows are handed over then; the host's clock otherwise."""
    return with_column(bundle, GUIDELINE, 1, "windows.csv", "enqueue_end_ns", lambda _: ends_ns)


def test_a_hosts_clock_that_is_slewed_moves_no_lead():
    """By 500 in a million, as a time service does: 8 ms of 17 s, with a lead of 20 us."""
    run = honest_gpu().cases[GUIDELINE].runs[0]
    edges = window_edges(run.document.timing, run.tables["windows.csv"])
    late_ns = np.rint((edges - edges[0]) * 5e-4).astype(np.int64)
    bundle = handed_over(honest_gpu(), edges[1:] + late_ns[1:] - 20_000)
    assert found_leads(bundle)

    def slewed(end):
        by_ns = int(late_ns[-1])
        return replace(end, before_ns=end.before_ns + by_ns, after_ns=end.after_ns + by_ns)

    assert not found_leads(with_field(bundle, GUIDELINE, 1, "timing.end", slewed))


def test_only_events_tell_how_far_ahead_the_host_was():
    run = honest_gpu().cases[GUIDELINE].runs[0]
    edges = window_edges(run.document.timing, run.tables["windows.csv"])
    bundle = handed_over(honest_gpu(), edges[1:] + 1_000_000)
    assert found_leads(bundle)
    assert not found_leads(with_field(bundle, GUIDELINE, 1, "timing.method", "host_clock"))


def found_leads(bundle):
    return [found for found in findings(CODE, bundle) if "before the device ended" in found.found]


def test_the_first_launch_follows_the_drained_moment():
    def change(values):
        values[0] -= 1_000_000
        return values

    bundle = with_column(honest_gpu(), GUIDELINE, 1, "windows.csv", "enqueue_start_ns", change)
    assert findings(CODE, bundle)[0].place.endswith("first enqueue of windows.csv")


@pytest.mark.parametrize("file", ["clocks.csv", "power.csv", "energy.csv"])
@pytest.mark.parametrize("shift_ns", [-3_600 * 10**9, 3_600 * 10**9])
def test_telemetry_of_another_hour_fails(file, shift_ns):
    bundle = with_column(honest_gpu(), DECODE, 3, file, "t_ns", lambda t: t + shift_ns)
    found = findings(CODE, bundle)
    assert [finding.place.rpartition("/")[2] for finding in found] == [f"{file}: column t_ns"]


@pytest.mark.parametrize(("beyond", "wanted"), [(0, "pass"), (1, "fail")])
def test_the_last_burst_ends_with_the_run_at_the_latest(beyond, wanted):
    ended = honest_gpu().cases[DECODE].runs[0].document.ended_ns

    def change(bursts):
        start = honest_gpu().cases[DECODE].runs[0].tables["power.csv"]["t_ns"][-1]
        bursts[-1] = ended - start + beyond
        return bursts

    bundle = with_column(honest_gpu(), DECODE, 1, "power.csv", "burst_ns", change)
    assert outcome(CODE, bundle) == wanted


def test_the_device_cannot_have_worked_longer_than_the_run_lasted():
    bundle = with_column(honest_gpu(), DECODE, 1, "windows.csv", "duration_ns", lambda ns: ns * 4)
    assert any("at most the run's" in finding.required for finding in findings(CODE, bundle))


def test_durations_that_wrap_an_int64_are_still_too_long():
    bundle = with_column(
        honest_cpu(), PLAIN, 1, "windows.csv", "duration_ns", lambda ns: ns * 0 + 2**62
    )
    found = [f for f in findings(CODE, bundle) if "duration_ns" in f.place]
    assert found[0].found == f"{30 * 2**62} ns"


def test_an_anchor_that_runs_backwards_fails():
    bundle = with_field(honest_gpu(), DECODE, 1, "timing.end.before_ns", lambda t: t + 10**9)
    assert outcome(CODE, bundle) == "fail"


def test_without_windows_nothing_is_proven():
    assert outcome(CODE, without_table(honest_cpu(), PLAIN, 1, "windows.csv")) == "unproven"
