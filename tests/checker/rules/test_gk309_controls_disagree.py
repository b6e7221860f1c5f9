from dataclasses import replace

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
    with_column,
    with_field,
)

CODE = "GK309"


def with_control(bundle, name, case=GUIDELINE, **changes):
    """One control of run 1 changed; values may be functions of the old value."""

    def change(controls):
        return tuple(
            replace(
                control,
                **{k: v(getattr(control, k)) if callable(v) else v for k, v in changes.items()},
            )
            if control.name == name
            else control
            for control in controls
        )

    return with_field(bundle, case, 1, "timing.controls", change)


def total_ns(case=GUIDELINE):
    windows = honest_gpu().cases[case].runs[0].tables["windows.csv"]
    return int(windows["duration_ns"][windows["phase"] == 1].sum())


@pytest.mark.parametrize("sign", [-1, 1])
def test_the_dlpack_control_agrees_within_half_a_percent(sign):
    for difference, wanted in ((0.0049, "pass"), (0.0051, "fail")):
        duration = int(total_ns() * (1 + sign * difference))
        bundle = with_control(honest_gpu(), "dlpack_events", duration_ns=duration)
        assert outcome(CODE, bundle) == wanted
    assert changed(bundle) == {CODE: "fail"}
    (finding,) = findings(CODE, bundle)
    assert finding.place.endswith("-01/run.json: timing.controls.dlpack_events")


@pytest.mark.parametrize("launches", [3999, 4001])
def test_the_dlpack_control_covers_exactly_the_profiling(launches):
    bundle = with_control(honest_gpu(), "dlpack_events", launches=launches)
    assert changed(bundle) == {CODE: "fail"}


@pytest.mark.parametrize("sign", [-1, 1])
def test_the_hosts_slope_agrees_within_two_and_a_half_percent(sign):
    mean_ns = total_ns() / 4000
    for difference, wanted in ((0.0245, "pass"), (0.0255, "fail")):
        slope = int(1000 * mean_ns * (1 + sign * difference))
        bundle = with_control(honest_gpu(), "host_slope", launches=1000, duration_ns=slope)
        assert outcome(CODE, bundle) == wanted
    (finding,) = findings(CODE, bundle)
    assert "ns per launch" in finding.found


@pytest.mark.parametrize(
    ("method", "wanted"),
    [("host_clock", "pass"), ("external_profiler", "pass"), ("cuda_events", "fail")],
)
def test_a_short_slope_is_a_fault_beside_events(method, wanted):
    """A tenth of a second at the windows' own period is enough."""
    launches = 32
    for duration_ns, found in ((99_999_999, wanted), (100_000_001, "pass")):
        bundle = with_control(
            honest_gpu(), "host_slope", launches=launches, duration_ns=duration_ns
        )
        bundle = with_field(bundle, GUIDELINE, 1, "timing.method", method)
        assert outcome(CODE, bundle) == found


@pytest.mark.parametrize("duration_ns", [0, 1])
def test_a_slope_that_was_emptied_fails(duration_ns):
    bundle = with_control(honest_gpu(), "host_slope", duration_ns=duration_ns)
    assert changed(bundle) == {CODE: "fail"}
    (finding,) = findings(CODE, bundle)
    assert finding.required == "1 s of launches; at least 0.1 s"


def test_a_slope_of_no_launches_fails():
    bundle = with_control(honest_gpu(), "host_slope", launches=0)
    assert outcome(CODE, bundle) == "fail"


def test_windows_fill_the_time_between_the_anchors():
    """The span may be off by 0.1 % and by both anchors' widths."""
    span = int(honest_gpu().cases[DECODE].runs[0].tables["windows.csv"]["duration_ns"].sum())
    allowed = int(0.001 * span)
    for late, wanted in ((allowed - 100_000, "pass"), (allowed + 200_000, "fail")):
        bundle = with_field(
            honest_gpu(), DECODE, 1, "timing.end.before_ns", lambda t, late=late: t + late
        )
        bundle = with_field(bundle, DECODE, 1, "timing.end.after_ns", lambda t, late=late: t + late)
        assert outcome(CODE, bundle) == wanted
    (finding,) = findings(CODE, bundle)
    assert finding.place.endswith("-01/run.json: timing.end")


def test_a_wide_anchor_is_allowed_its_width():
    wider = with_field(honest_cpu(), PLAIN, 1, "timing.end.after_ns", lambda t: t + 40_000_000)
    assert outcome(CODE, wider) == "pass"  # off by half of what it is wider by


@pytest.mark.parametrize(
    ("field", "value"),
    [("end.after_ns", lambda t: t + 60_000_000), ("end.before_ns", lambda _: 2)],
)
def test_an_anchor_cannot_buy_its_own_tolerance(field, value):
    bundle = with_field(honest_gpu(), DECODE, 1, f"timing.{field}", value)
    assert outcome(CODE, bundle) == "fail"
    assert "wide" in findings(CODE, bundle)[0].found


def test_windows_that_were_shortened_on_a_cpu_fail():
    bundle = with_column(
        honest_cpu(), PLAIN, 1, "windows.csv", "duration_ns", lambda ns: ns * 99 // 100
    )
    assert changed(bundle) == {CODE: "fail"}


@pytest.mark.parametrize("name", ["dlpack_events", "host_slope"])
def test_a_missing_control_is_unproven_on_a_gpu(name):
    bundle = with_field(
        honest_gpu(),
        GUIDELINE,
        1,
        "timing.controls",
        lambda controls: tuple(control for control in controls if control.name != name),
    )
    found = result(CODE, bundle)
    assert found.outcome == "unproven"
    assert f"control {name} is missing" in found.reason
    assert outcome(CODE, honest_cpu()) == "pass"


def widened(width_ns, late_ns=0):
    """The last moment known less well, its middle `late_ns` later."""
    end = honest_gpu().cases[DECODE].runs[0].document.timing.end
    middle = (end.before_ns + end.after_ns) // 2 + late_ns
    bundle = with_field(honest_gpu(), DECODE, 1, "timing.end.before_ns", middle - width_ns // 2)
    return with_field(bundle, DECODE, 1, "timing.end.after_ns", middle + width_ns // 2)


def test_a_wide_anchor_on_a_gpu_is_remarked_on_and_explains_a_millisecond():
    assert outcome(CODE, widened(1_000_000)) == "pass"
    assert outcome(CODE, widened(1_000_002)) == "warn"
    span = int(honest_gpu().cases[DECODE].runs[0].tables["windows.csv"]["duration_ns"].sum())
    allowed = int(0.001 * span) + 1_000_000
    assert outcome(CODE, widened(49_000_000, allowed - 200_000)) == "warn"
    assert outcome(CODE, widened(49_000_000, allowed + 200_000)) == "fail"
