from dataclasses import replace

import pytest

from bundles import (
    DECODE,
    GUIDELINE,
    PLAIN,
    findings,
    honest_cpu,
    honest_gpu,
    in_every_run,
    outcome,
    result,
    with_column,
    with_environment,
    with_hlo,
    with_run,
    without_column,
)
from forgeries import launches_inflated

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


@pytest.mark.parametrize("name", ["NVIDIA H200", "Somebody's GPU"])
def test_one_sm_less_does_not_hide_ten_times_the_launches(name):
    bundle = with_environment(honest_gpu(), device__sm_count=131, device__name=name)
    assert outcome(CODE, bundle) == "unproven"
    broken = with_run(bundle, GUIDELINE, 1, lambda run: launches_inflated(run, 10))
    assert outcome(CODE, broken) == "fail"
    (finding,) = findings(CODE, broken)
    assert finding.found.startswith("6892 TFLOP/s")
    assert ("ceiling of H200 SXM or H200 NVL" in finding.required) == (name == "NVIDIA H200")


@pytest.mark.parametrize(("factor", "wanted"), [(1.14, "unproven"), (1.18, "fail")])
def test_the_ceiling_of_a_known_name_is_its_light(factor, wanted):
    """86.9 % of an H200's light at the sampled clock."""
    bundle = with_environment(honest_gpu(), device__sm_count=131)
    for number in (1, 2, 3):
        bundle = with_run(bundle, GUIDELINE, number, lambda run: launches_inflated(run, factor))
    assert outcome(CODE, bundle) == wanted


@pytest.mark.parametrize(("cores", "wanted"), [(4, "not_applicable"), (1, "not_applicable")])
def test_a_cpu_has_a_ceiling_too(cores, wanted):
    bundle = with_environment(honest_cpu(), cpu_logical_cores=cores)
    assert outcome(CODE, bundle) == wanted
    broken = with_run(bundle, PLAIN, 1, lambda run: launches_inflated(run, 1_000_000))
    assert outcome(CODE, broken) == "fail"
    assert f"the ceiling of {cores} cores" in findings(CODE, broken)[0].required


@pytest.mark.parametrize("column", ["graphics_mhz", "memory_mhz"])
@pytest.mark.parametrize(("factor", "wanted"), [(1, "unproven"), (10, "fail")])
def test_a_clock_left_out_does_not_hide_ten_times_the_launches(column, factor, wanted):
    bundle = in_every_run(honest_gpu(), without_column, "clocks.csv", column)
    bundle = with_run(bundle, GUIDELINE, 1, lambda run: launches_inflated(run, factor))
    assert outcome(CODE, bundle) == wanted
    if wanted == "fail":
        assert findings(CODE, bundle)[0].required.endswith("the ceiling of H200 SXM")


@pytest.mark.parametrize(("factor", "wanted"), [(1.17, "unproven"), (1.2, "fail")])
def test_memory_is_a_ceiling_where_a_clock_is_missing(factor, wanted):
    """The decode case moves its operands at 84.6 % of the light of 3,201 MHz."""
    bundle = in_every_run(honest_gpu(), without_column, "clocks.csv", "memory_mhz")
    bundle = with_run(bundle, DECODE, 1, lambda run: launches_inflated(run, factor))
    assert outcome(CODE, bundle) == wanted


@pytest.mark.parametrize(
    ("name", "sms", "factor", "wanted"),
    [
        ("NVIDIA H200", 1319, 10, "fail"),
        ("Acme X1", 376, 6.5, "unproven"),
        ("Acme X1", 100_000, 6.5, "unproven"),
        ("Acme X1", 100_000, 6.7, "fail"),
    ],
)
def test_invented_sms_grant_no_more_than_twice_the_largest_product(name, sms, factor, wanted):
    """376 SMs of the fastest product do 4.5 PFLOP/s at the sampled 1,466 MHz: 6.56 times that."""
    bundle = with_environment(honest_gpu(), device__sm_count=sms, device__name=name)
    bundle = with_run(bundle, GUIDELINE, 1, lambda run: launches_inflated(run, factor))
    assert outcome(CODE, bundle) == wanted


@pytest.mark.parametrize(("cores", "shown"), [(2048, 2048), (65_535, 2048)])
def test_invented_cores_grant_no_more_than_a_large_host(cores, shown):
    bundle = with_environment(honest_cpu(), cpu_logical_cores=cores)
    broken = with_run(bundle, PLAIN, 1, lambda run: launches_inflated(run, 100_000_000))
    assert f"the ceiling of {shown} cores" in findings(CODE, broken)[0].required


@pytest.mark.parametrize(("call_ns", "wanted"), [(1_010, "not_applicable"), (990, "fail")])
def test_a_call_takes_time(call_ns, wanted):
    bundle = with_environment(honest_cpu(), cpu_logical_cores=2048)
    period_ns = bundle.claims.cases[0].runs[0].mean_period_ns
    broken = with_run(bundle, PLAIN, 1, lambda run: launches_inflated(run, period_ns / call_ns))
    assert outcome(CODE, broken) == wanted
