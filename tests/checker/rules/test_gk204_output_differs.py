import numpy as np
import pytest

from bundles import (
    BATCHED,
    DECODE,
    GUIDELINE,
    PLAIN,
    changed,
    findings,
    fixed_frequency,
    honest_cpu,
    honest_gpu,
    outcome,
    result,
    with_column,
    with_field,
    with_plan,
    with_rows,
    without_table,
)
from kit.checker.rules import gk204_output_differs
from kit.fill import Operands
from kit.number_format import number_format
from kit.numerics import compare, output_bits, sample_of

CODE = "GK204"
FILE = "outputs.csv"


def set_row(row, value):
    def change(values):
        values[row] = value(int(values[row]))
        return values

    return change


@pytest.mark.parametrize("case", [GUIDELINE, DECODE])
def test_one_output_with_another_exponent_fails_alone_and_is_named(case):
    table = honest_gpu().cases[case].runs[1].tables[FILE]
    bundle = with_column(honest_gpu(), case, 2, FILE, "bits_low", set_row(5, lambda b: b ^ 0x100))
    assert changed(bundle) == {CODE: "fail"}
    (finding,) = findings(CODE, bundle)
    where = ", ".join(f"{name} {table[name][5]}" for name in ("set", "batch", "row", "column"))
    assert finding.place.endswith(f"-02/outputs.csv: row 6 ({where})")
    assert "within" in finding.required


@pytest.mark.parametrize("case", [PLAIN, BATCHED])
def test_the_allowed_error_is_the_edge(case):
    """Outputs moved just inside and just outside of what the format allows."""
    bundle = honest_cpu()
    run = bundle.cases[case].runs[0]
    row = number_format(bundle.plan.case(case).number_format)
    workload = bundle.plan.case(case).workload
    operands = Operands(workload, row, "uniform", run.document.fill_seed)
    sets = run.document.rotation.sets
    found = compare(sample_of(operands, sets, run.document.sample_seed), run.tables[FILE])
    for share, wanted in ((0.99, "pass"), (1.01, "fail")):
        value = np.array([found.reference[0] + share * found.allowed[0]], row.output)
        bits = int(output_bits(value)[0])
        changed_low = with_column(
            bundle, case, 1, FILE, "bits_low", set_row(0, lambda _, b=bits: b & 0xFFFFFFFF)
        )
        broken = with_column(
            changed_low, case, 1, FILE, "bits_high", set_row(0, lambda _, b=bits: b >> 32)
        )
        assert outcome(CODE, broken) == wanted


def test_nan_and_infinity_fail():
    for bits in (0x7FC0, 0x7F80):
        bundle = with_column(
            honest_gpu(), GUIDELINE, 1, FILE, "bits_low", set_row(0, lambda _, b=bits: b)
        )
        assert changed(bundle) == {CODE: "fail"}


def test_a_pattern_wider_than_the_type_fails():
    bundle = with_column(honest_gpu(), GUIDELINE, 1, FILE, "bits_low", set_row(0, lambda _: 2**17))
    (finding,) = findings(CODE, bundle)
    assert finding.found == "a bit pattern is wider than bfloat16"


def test_other_positions_than_the_drawn_ones_fail():
    bundle = with_column(honest_gpu(), GUIDELINE, 1, FILE, "row", set_row(0, lambda row: row ^ 1))
    assert changed(bundle) == {CODE: "fail"}
    (finding,) = findings(CODE, bundle)
    assert "positions" in finding.found


def test_a_missing_sample_fails():
    bundle = with_rows(
        honest_gpu(), GUIDELINE, 1, FILE, lambda table: np.arange(len(table)) < len(table) - 1
    )
    assert changed(bundle) == {CODE: "fail"}


def test_fewer_samples_than_buffers_fail_before_anything_is_computed():
    bundle = with_field(honest_gpu(), GUIDELINE, 1, "rotation.sets", 1_000_000)
    (finding,) = findings(CODE, bundle)
    assert finding.required == "samples of each of 1000000 buffers"


def test_outputs_of_another_seed_fail():
    assert outcome(CODE, with_plan(honest_gpu(), seed=1)) == "fail"


def test_all_zero_outputs_of_a_zero_fill_pass_and_anything_else_fails():
    assert outcome(CODE, fixed_frequency()) == "pass"
    bundle = with_column(fixed_frequency(), DECODE, 1, FILE, "bits_low", set_row(3, lambda _: 1))
    assert outcome(CODE, bundle) == "fail"


def test_without_the_table_nothing_is_proven():
    assert outcome(CODE, without_table(honest_cpu(), PLAIN, 2, FILE)) == "unproven"


def test_a_problem_of_absurd_size_is_left_unproven_and_ends_at_once():
    case = honest_gpu().plan.cases[0]
    for size in ({"k": 2**31 - 1}, {"m": 2**31 - 1, "n": 2**31 - 1, "batch": 2**31 - 1}):
        fields = {name: getattr(case.workload, name) for name in ("m", "n", "k", "batch")} | size
        workload = type(case.workload)(case.workload.name, *fields.values(), case.workload.layout)
        plan_case = type(case)(case.id, workload, case.number_format)
        bundle = with_plan(honest_gpu(), cases=(plan_case, honest_gpu().plan.cases[1]))
        found = result(CODE, bundle)
        assert found.outcome == "unproven"
        assert "larger than this kit recomputes" in found.reason


def test_runs_that_are_too_much_together_are_left_unproven(monkeypatch):
    """Each alone is little; what all of them take is bounded for the bundle."""
    monkeypatch.setattr(gk204_output_differs, "_SHARE_OF_A_RUN", 1)
    monkeypatch.setattr(gk204_output_differs, "_MOST_ELEMENTS", 2**18)
    found = result(CODE, honest_gpu())
    assert found.outcome == "unproven"
    assert "more than this kit recomputes for a bundle" in found.reason
