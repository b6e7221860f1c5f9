from dataclasses import replace

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
    result,
    with_column,
    with_environment,
    with_plan,
    without_column,
)

CODE = "GK414"
FILE = "energy.csv"


def moved(bundle, more_mj, case=GUIDELINE, number=2):
    """From this run on, the device's counter stands so much higher."""
    runs = sorted(
        (run for found in bundle.cases.values() for run in found.runs),
        key=lambda run: run.document.started_ns,
    )
    seen = False
    for run in runs:
        name = (run.document.case, run.document.number)
        seen |= name == (case, number)
        if seen:
            bundle = with_column(bundle, *name, FILE, "energy_mj", lambda v: v + more_mj)
    return bundle


@pytest.mark.parametrize(
    "bundle", [honest_gpu(), honest_gpu("closed"), fixed_frequency(), fixed_frequency("closed")]
)
def test_honest(bundle):
    assert outcome(CODE, bundle) == "pass"


def test_a_cpu_is_not_judged():
    assert outcome(CODE, honest_cpu()) == "not_applicable"


@pytest.mark.parametrize(("more_mj", "wanted"), [(7_000_000, "pass"), (8_000_000, "fail")])
def test_more_than_the_device_can_draw(more_mj, wanted):
    """14.1 s at 728 W are 10.3 kJ, of which 2.8 kJ were drawn."""
    bundle = moved(honest_gpu("closed"), more_mj)
    assert changed(bundle) == ({CODE: "fail"} if wanted == "fail" else {})


@pytest.mark.parametrize(("more_mj", "wanted"), [(-2_300_000, "pass"), (-2_500_000, "fail")])
def test_less_than_a_device_at_rest_draws(more_mj, wanted):
    """A quarter of 122 W over 14.1 s are 0.43 kJ."""
    assert outcome(CODE, moved(honest_gpu(), more_mj)) == wanted


@pytest.mark.parametrize(("persistent", "wanted"), [(True, "fail"), (False, "pass")])
def test_a_counter_begins_anew_where_the_driver_is_unloaded(persistent, wanted):
    bundle = with_environment(honest_gpu(), device__persistence_enabled=persistent)
    assert outcome(CODE, moved(bundle, -10_000_000)) == wanted


def over_idle(bundle, work_mj, **more):
    """The third decode run begins 100 s later, and this was drawn over idle before it."""
    shift = 100 * 10**9
    for column in ("t_ns",):
        bundle = with_column(bundle, DECODE, 3, FILE, column, lambda t: t + shift)
    runs = [run.tables[FILE] for run in bundle.cases[DECODE].runs[1:]]
    seconds = (int(runs[1]["t_ns"][0]) - int(runs[0]["t_ns"][-1])) * 1e-9
    idle_mj = 124_000 * seconds
    there = int(runs[1]["energy_mj"][0] - runs[0]["energy_mj"][-1])
    return moved(bundle, round(idle_mj + work_mj) - there, DECODE, 3)


@pytest.mark.parametrize(("work_mj", "wanted"), [(4_000_000, "pass"), (7_500_000, "fail")])
def test_another_attempts_work(work_mj, wanted):
    """A decode run draws some 6 kJ over idle."""
    bundle = over_idle(honest_gpu(), work_mj)
    assert outcome(CODE, bundle) == wanted
    assert all("over idle" in found.found for found in findings(CODE, bundle))


def test_an_attempt_that_the_journal_tells_of_excuses_it():
    bundle = over_idle(honest_gpu(), 7_500_000)
    run = bundle.cases[DECODE].runs[2].document
    failed = next(e for e in bundle.journal.entries if e.event == "run_ended")
    failed = replace(
        failed, case=DECODE, run=9, status="timed_out", t_ns=run.started_ns - 1_000_000
    )
    journal = replace(bundle.journal, entries=(*bundle.journal.entries, failed))
    assert outcome(CODE, replace(bundle, journal=journal)) == "pass"


@pytest.mark.parametrize(("attempts", "wanted"), [(0, "fail"), (9, "pass")])
def test_tuning_before_a_case_may_take_more(attempts, wanted):
    bundle = with_plan(honest_gpu(), backend__tuning_attempts=attempts)
    for number in (1, 2, 3):
        bundle = with_column(bundle, DECODE, number, FILE, "t_ns", lambda t: t + 100 * 10**9)
    # Over idle the guideline's runs draw 26 kJ.
    bundle = moved(bundle, 100 * 124_000 + 35_000_000, DECODE, 1)
    assert outcome(CODE, bundle) == wanted


@pytest.mark.parametrize(
    ("attempts", "work_mj", "wanted"),
    [(1, 38_500_000, "pass"), (1, 40_000_000, "fail"), (0, 27_000_000, "fail")],
)
def test_a_final_before_a_case_may_take_more(attempts, work_mj, wanted):
    """1.1 times the 27.7 kJ of a guideline run, and 18 s at the 534 W over idle of a decode run."""
    bundle = with_plan(honest_gpu(), backend__tuning_attempts=attempts)
    for number in (1, 2, 3):
        bundle = with_column(bundle, DECODE, number, FILE, "t_ns", lambda t: t + 100 * 10**9)
    bundle = moved(bundle, 100 * 124_000 + work_mj, DECODE, 1)
    assert outcome(CODE, bundle) == wanted
    if attempts and wanted == "fail":
        (finding,) = findings(CODE, bundle)
        assert finding.required.endswith("and 9607 J of a final")


def test_without_a_counter_nothing_is_proven():
    found = result(CODE, without_column(honest_gpu(), GUIDELINE, 2, FILE, "energy_mj"))
    assert found.outcome == "unproven"
    assert found.reason.endswith("-02")
