from dataclasses import replace

import pytest

from bundles import (
    GUIDELINE,
    findings,
    honest_cpu,
    honest_gpu,
    outcome,
    result,
    with_column,
    with_environment,
    with_hlo,
    with_run,
)

CODE = "GK502"


def at_share(share):
    """The guideline case's second run at this share of speed of light."""
    honest = honest_gpu().claims.cases[0].runs[1].sol_fraction

    def speed_up(durations):
        return (durations * (honest / share)).astype("i8")

    return with_column(honest_gpu(), GUIDELINE, 2, "windows.csv", "duration_ns", speed_up)


def test_honest():
    assert outcome(CODE, honest_gpu()) == "pass"
    assert outcome(CODE, honest_cpu()) == "not_applicable"


def test_faster():
    broken = at_share(1.10)
    assert outcome(CODE, broken) == "fail"
    (finding,) = findings(CODE, broken)
    assert finding.place.endswith("-02")
    assert finding.required == "at most 100.5%"
    share = float(finding.found.partition("%")[0])
    # The shorter windows end earlier, so that they cover a little less telemetry.
    assert share == pytest.approx(110, abs=2)


def test_boundary():
    bundle = at_share(1.004)
    period = bundle.claims.cases[0].runs[1]
    assert outcome(CODE, at_share(1.004 / period.sol_fraction * 1.0045)) == "pass"
    assert outcome(CODE, at_share(1.004 / period.sol_fraction * 1.0065)) == "fail"


@pytest.mark.parametrize(
    ("bundle", "reason"),
    [
        (with_environment(honest_gpu(), device__sm_count=131), "no one product"),
        (
            with_column(honest_gpu(), GUIDELINE, 1, "clocks.csv", "graphics_mhz", lambda _: None),
            "was not sampled",
        ),
    ],
)
def test_unknown_light(bundle, reason):
    found = result(CODE, bundle)
    assert found.outcome == "unproven"
    assert reason in found.reason


def test_unknown_rate():
    bundle = honest_gpu()
    (case, *rest) = bundle.plan.cases
    plan = replace(bundle.plan, cases=(replace(case, number_format="int8"), *rest))
    broken = with_environment(
        replace(bundle, plan=plan),
        device__compute_capability="10.3",
        device__sm_count=1,
    )
    assert outcome(CODE, broken) == "unproven"


def test_a_fault_is_not_hidden_by_a_run_without_clocks():
    def blind(run):
        return replace(run, tables={k: v for k, v in run.tables.items() if k != "clocks.csv"})

    broken = with_run(at_share(1.10), GUIDELINE, 3, blind, derive=False)
    assert outcome(CODE, broken) == "fail"


def test_an_emulated_format_is_held_to_what_was_executed():
    """A bf16 figure of 87 % of light is 174 % of it if the products were tf32."""
    broken = with_hlo(honest_gpu(), GUIDELINE, lambda text: text.replace("bf16[", "f32["))
    assert outcome(CODE, broken) == "fail"


def test_a_program_that_cannot_be_read_has_no_light():
    found = result(CODE, with_hlo(honest_gpu(), GUIDELINE, lambda _: "nothing"))
    assert found.outcome == "unproven"
    assert "the arithmetic of its program is unknown" in found.reason
