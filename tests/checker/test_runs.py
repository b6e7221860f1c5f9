"""How rules go through the runs: all of them, with nothing hidden by what is missing."""

import sys
from dataclasses import replace

import pytest

from bundles import DECODE, GUIDELINE, honest_cpu, honest_gpu, with_plan, with_rows, without_table
from kit.checker.recomputed import recompute
from kit.checker.rule import Finding, NotApplicable, Unproven
from kit.checker.runs import judge_runs, measured_runs, only_on_gpu


def finding_of(run):
    return Finding(run.at("here"), run.case.id, "")


def test_runs_come_in_the_plans_order_with_case_device_and_format():
    found = measured_runs(honest_gpu())
    assert [(run.case.id, run.document.number) for run in found] == [
        (case, number) for case in (GUIDELINE, DECODE) for number in (1, 2, 3)
    ]
    assert {run.device.sm_count for run in found} == {132}
    assert {run.number_format.name for run in found} == {"bf16"}
    assert found[0].at("x", "clocks.csv").endswith("-01/clocks.csv: x")


def test_folders_that_are_not_planned_are_left_to_the_rule_that_names_them():
    bundle = with_plan(honest_gpu(), cases=honest_gpu().plan.cases[:1])
    assert {run.case.id for run in measured_runs(bundle)} == {GUIDELINE}


def test_a_device_that_the_environment_lacks_is_none():
    bundle = honest_gpu()
    bundle = replace(bundle, environment=replace(bundle.environment, devices=()))
    assert {run.device for run in measured_runs(bundle)} == {None}


def test_what_is_unproven_is_said_after_every_finding():
    def judge(run):
        if run.document.number == 2:
            raise Unproven("nothing there")
        yield finding_of(run)

    found = judge_runs(honest_gpu(), judge)
    assert [next(found).found for _ in range(4)] == [GUIDELINE, GUIDELINE, DECODE, DECODE]
    with pytest.raises(Unproven, match=r"-02: nothing there; .*-02: nothing there$"):
        next(found)


def test_only_the_first_reasons_are_told():
    def judge(_run):
        yield from ()
        raise Unproven("no")

    with pytest.raises(Unproven) as why:
        list(judge_runs(honest_gpu(), judge))
    assert str(why.value).count(": no") == 3
    assert str(why.value).endswith("and 3 more runs")


def test_no_run_at_all_is_never_a_pass():
    bundle = honest_cpu()
    empty = {case: replace(found, runs=()) for case, found in bundle.cases.items()}
    for nothing in (replace(bundle, cases={}), replace(bundle, cases=empty)):
        with pytest.raises(Unproven, match="no measured run"):
            list(judge_runs(nothing, lambda run: iter([finding_of(run)])))


def test_missing_tables_and_windows_prove_nothing():
    bundle = without_table(honest_gpu(), GUIDELINE, 1, "clocks.csv")
    bundle = with_rows(bundle, GUIDELINE, 1, "windows.csv", lambda table: table["phase"] == 0)
    run = measured_runs(bundle)[0]
    for read in (
        lambda: run.table("clocks.csv"),
        run.profiling_windows,
        run.profiling_interval,
    ):
        with pytest.raises(Unproven):
            read()


def test_a_cpu_bundle_is_left_out_with_a_reason():
    only_on_gpu(honest_gpu(), "anything")
    with pytest.raises(NotApplicable, match="a CPU host cannot evidence a GPC clock"):
        only_on_gpu(honest_cpu(), "a GPC clock")


def test_what_was_worked_out_about_a_bundle_does_not_keep_it():
    """The next one is read while the last one would still take its memory."""
    bundle = replace(honest_gpu())
    before = sys.getrefcount(bundle)
    assert measured_runs(bundle) is measured_runs(bundle)
    assert recompute(bundle) is recompute(bundle)
    assert sys.getrefcount(bundle) == before
