import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from bundles import (
    BATCHED,
    DECODE,
    GUIDELINE,
    MXFP8,
    PLAIN,
    changed,
    findings,
    fixed_frequency,
    honest_cpu,
    honest_gpu,
    in_every_run,
    outcome,
    result,
    scaled,
    with_column,
    with_field,
    with_plan,
    with_rows,
    with_run,
    with_table,
    without_table,
)
from honest import buffers_table
from kit.bundle.reader import Auditor, parse, read_container
from kit.checker.rules import gk203_buffer_contents_differ
from kit.checker.runs import measured_runs
from kit.distribution import buffer_statistics, uniform_shares
from kit.fill import Operands, fill_seed
from kit.number_format import number_format
from kit.surfaces import elements, inputs

CODE = "GK203"
FILE = "buffers.csv"
DEEP = Auditor(deep=True, going_on=lambda: None)
SUBMISSIONS = Path(__file__).parents[3] / "submissions"


def set_cell(row, value):
    def change(values):
        values[row] = value(values[row]) if callable(value) else value
        return values

    return change


def everywhere(bundle, column, change):
    """The same change in every run, as one wrong fill would give."""
    return in_every_run(bundle, with_column, FILE, column, change)


def moved(bundle, case, count, *, row=0, source="bin_3", target="bin_4"):
    """`count` elements of one buffer moved from a bin to another, in all runs of the case."""
    for run in bundle.cases[case].runs:
        number = run.document.number
        bundle = with_column(bundle, case, number, FILE, source, set_cell(row, lambda n: n - count))
        bundle = with_column(bundle, case, number, FILE, target, set_cell(row, lambda n: n + count))
    return bundle


@pytest.mark.parametrize("case", [GUIDELINE, DECODE])
def test_a_column_that_is_not_uniform_fails_alone_and_names_buffer_and_bin(case):
    bundle = moved(honest_gpu(), case, 4_000_000, row=2)
    assert changed(bundle) == {CODE: "fail"}
    found = findings(CODE, bundle)
    assert {finding.place.partition("row ")[2] for finding in found} == {
        "3 (B, set 0): bin_3",
        "3 (B, set 0): bin_4",
    }


@pytest.mark.parametrize(("deviations", "wanted"), [(6.9, "pass"), (7.1, "fail")])
def test_a_bin_may_be_off_by_seven_standard_deviations_and_no_more(deviations, wanted):
    share = uniform_shares(number_format("bf16"), "a").bins[3]
    elements = 8192 * 16384
    target = elements * share + deviations * np.sqrt(elements * share * (1 - share)) + 6
    missing = int(target) - int(honest_gpu().cases[GUIDELINE].runs[0].tables[FILE]["bin_3"][0])
    bundle = moved(honest_gpu(), GUIDELINE, -(missing // 2), target="bin_9")
    bundle = moved(bundle, GUIDELINE, -(missing - missing // 2), target="bin_10")
    assert outcome(CODE, bundle) == wanted
    assert {finding.place.rpartition(" ")[2] for finding in findings(CODE, bundle)} <= {"bin_3"}


def test_zeros_of_a_truncating_cast_fail():
    elements = 8192 * 16384
    bundle = everywhere(honest_gpu(), "zeros", set_cell(0, elements))
    assert any(
        finding.place.endswith("row 1 (A, set 0): zeros") and finding.found == str(elements)
        for finding in findings(CODE, bundle)
    )


def test_values_outside_the_range_are_missing_from_the_bins():
    bundle = everywhere(honest_cpu(), "bin_5", set_cell(3, lambda count: count - 1))
    places = [finding.place for finding in findings(CODE, bundle)]
    assert any(place.endswith("row 4 (A, set 3): bins") for place in places)


def test_two_buffers_with_one_content_fail():
    def repeat(values):
        values[1] = values[0]
        return values

    bundle = honest_gpu()
    for number in (1, 2, 3):
        for column in ("checksum", "zeros", *(f"bin_{index}" for index in range(16))):
            bundle = with_column(bundle, GUIDELINE, number, FILE, column, repeat)
    assert changed(bundle) == {CODE: "fail"}
    assert {finding.required for finding in findings(CODE, bundle)} == {"no two buffers alike"}


def of_few_scales(bundle, sets, change=lambda columns: None):
    """A case of 16 x 16 x 32 in so many sets, whose 16 scales agree by chance now and then."""
    (case,) = (case for case in bundle.plan.cases if case.id == MXFP8)
    small = replace(case, workload=replace(case.workload, m=16, n=16, k=32))
    cases = tuple(small if entry.id == MXFP8 else entry for entry in bundle.plan.cases)
    bundle = with_plan(bundle, cases=cases)
    seed = fill_seed(bundle.plan.seed, None, MXFP8)
    operands = Operands(small.workload, number_format("mxfp8"), "uniform", seed)
    table = buffers_table(operands, sets)
    change(table.columns)
    for run in bundle.cases[MXFP8].runs:
        number = run.document.number
        bundle = with_field(bundle, MXFP8, number, "rotation.sets", sets)
        bundle = with_table(bundle, MXFP8, number, FILE, lambda _: table)
    return bundle


def test_buffers_that_the_seed_makes_alike_are_honest():
    bundle = of_few_scales(scaled(), 1000)
    checksums = bundle.cases[MXFP8].runs[0].tables[FILE]["checksum"][3000:]
    assert len(np.unique(checksums)) < len(checksums)
    assert outcome(CODE, bundle) == "pass"


CONTENTS = ("checksum", "zeros", *(f"bin_{index}" for index in range(16)))


@pytest.mark.parametrize(("row", "source"), [(3017, 3016), (3016, 3017)])
def test_a_small_buffer_that_the_seed_does_not_make_alike_fails(row, source):
    """Whichever of the two holds what it should."""

    def repeat(columns):
        for name in CONTENTS:
            columns[name][row] = columns[name][source]

    (finding, *_) = findings(CODE, of_few_scales(scaled(), 1000, repeat))
    place = f"row {row + 1} (scales of A, set {row - 3000}): checksum and bins"
    assert finding.place.endswith(place)
    assert finding.required == "no two buffers alike"


def test_half_of_the_buffers_copied_from_their_neighbours_fail():
    def repeat(columns):
        for name in CONTENTS:
            columns[name][1:998:2] = columns[name][2:999:2]

    found = findings(CODE, of_few_scales(scaled(), 1000, repeat))
    sets = {int(re.search(r"set (\d+)", finding.place)[1]) for finding in found}
    assert sets >= set(range(1, 100, 2))
    assert not any(number % 2 == 0 for number in sets)


def test_more_alike_buffers_than_are_recomputed_prove_nothing(monkeypatch):
    monkeypatch.setattr(gk203_buffer_contents_differ, "_MOST_ALIKE", 10)
    found = result(CODE, of_few_scales(scaled(), 1000))
    assert found.outcome == "unproven"
    assert "more buffers are alike" in found.reason


@pytest.mark.parametrize("column", ["checksum", "zeros", "bin_7"])
def test_a_small_buffer_of_set_0_is_recomputed_exactly(column):
    bundle = everywhere(honest_cpu(), column, set_cell(0, lambda value: value ^ 1))
    assert changed(bundle) == {CODE: "fail"}
    exact = [f for f in findings(CODE, bundle) if "recomputed from the seed" in f.required]
    assert {finding.place.partition("csv: ")[2] for finding in exact} == {
        f"row 1 (A, set 0): {column}"
    }
    assert len(exact) == 4  # two cases of two runs


def test_the_other_sets_are_recomputed_only_when_the_auditor_goes_deep():
    bundle = everywhere(honest_cpu(), "checksum", set_cell(5, lambda value: value ^ 1))
    assert outcome(CODE, bundle) == "pass"
    assert outcome(CODE, replace(bundle, auditor=DEEP)) == "fail"
    assert outcome(CODE, replace(honest_cpu(), auditor=DEEP)) == "pass"


def test_the_a_buffer_of_the_decode_case_has_just_the_size_that_is_recomputed():
    bundle = honest_gpu()
    for number in (1, 2, 3):
        bundle = with_column(bundle, DECODE, number, FILE, "checksum", set_cell(0, 12345))
    (finding, *_) = findings(CODE, bundle)
    assert finding.found == "12345"
    assert "A, set 0" in finding.place
    assert "recomputed from the seed" in finding.required


def test_runs_of_one_case_must_hold_the_same():
    bundle = with_column(honest_gpu(), GUIDELINE, 2, FILE, "checksum", set_cell(3, 99))
    assert changed(bundle) == {CODE: "fail"}
    (finding,) = findings(CODE, bundle)
    assert finding.place.endswith("-02/buffers.csv: column checksum")


def test_rows_must_be_all_sets_in_order():
    def swap(run):
        table = run.tables[FILE]
        order = np.arange(len(table))
        order[[0, 1]] = order[[1, 0]]
        columns = {name: values[order] for name, values in table.columns.items()}
        return replace(run, tables=run.tables | {FILE: replace(table, columns=columns)})

    (finding,) = findings(CODE, with_run(honest_gpu(), GUIDELINE, 1, swap))
    assert finding.required == "2 sets of A, then of B, then of D"
    short = with_rows(honest_gpu(), GUIDELINE, 1, FILE, lambda table: table["operand"] < 2)
    assert outcome(CODE, short) == "fail"


def test_a_zero_fill_holds_nothing_but_zeros():
    assert outcome(CODE, fixed_frequency()) == "pass"
    for column, value in (("zeros", 65535), ("checksum", 1)):
        bundle = with_column(fixed_frequency(), DECODE, 1, FILE, column, set_cell(0, value))
        (finding, *_) = findings(CODE, bundle)
        assert finding.required == "65536 zeros, checksum 0"


@pytest.mark.parametrize("fill", ["uniform", "zero"])
def test_scales_are_filled_as_the_seed_says_to_the_last_set(fill):
    assert outcome(CODE, replace(scaled(fill), auditor=DEEP)) == "pass"
    assert outcome(CODE, scaled(fill)) == "pass"


@pytest.mark.parametrize(("code", "name"), [(3, "scales of A"), (4, "scales of B")])
def test_a_scale_that_differs_is_found_and_named(code, name):
    operand = scaled().cases[MXFP8].runs[0].tables[FILE]["operand"]
    row = int(np.flatnonzero(operand == code)[0])
    bundle = everywhere(scaled(), "checksum", set_cell(row, lambda value: value ^ 1))
    assert changed(bundle) == {CODE: "fail"}
    assert {
        f"({name}, set 0): checksum" in finding.place for finding in findings(CODE, bundle)
    } == {True}


def test_scales_of_one_are_no_uniform_fill_and_others_no_zero_fill():
    assert outcome(CODE, with_plan(scaled("zero"), test_type__fill="uniform")) == "fail"
    assert outcome(CODE, with_plan(scaled(), test_type__fill="zero")) == "fail"
    operand = scaled("zero").cases[MXFP8].runs[0].tables[FILE]["operand"]
    row = int(np.flatnonzero(operand == 3)[0])
    bundle = with_column(scaled("zero"), MXFP8, 1, FILE, "checksum", set_cell(row, 5))
    # 127 is the pattern of one in float8_e8m0fnu; place j counts 2j + 1 times, n^2 in all.
    elements = 64 * 128 // 32
    checksum = 127 * 0x9E3779B1 * elements**2 % 2**32
    assert findings(CODE, bundle)[0].required == f"0 zeros, checksum {checksum}"


def test_scales_are_part_of_the_order_of_rows():
    short = with_rows(scaled(), MXFP8, 1, FILE, lambda table: table["operand"] < 3)
    (finding, *_) = findings(CODE, short)
    wanted = "A, then of B, then of D, then of scales of A, then of scales of B"
    assert finding.required.endswith(wanted)


def test_a_uniform_fill_called_zero_fails_and_the_other_way_round():
    assert outcome(CODE, with_plan(honest_gpu(), test_type__fill="zero")) == "fail"
    assert outcome(CODE, with_plan(fixed_frequency(), test_type__fill="uniform")) == "fail"


@pytest.mark.parametrize("case", [PLAIN, BATCHED])
def test_without_the_table_nothing_is_proven(case):
    assert outcome(CODE, without_table(honest_cpu(), case, 1, FILE)) == "unproven"


def test_going_deep_into_an_absurd_size_ends_at_once():
    case = honest_cpu().plan.cases[0]
    huge = replace(case, workload=replace(case.workload, m=2**31 - 1, k=2**31 - 1))
    bundle = with_plan(
        replace(honest_cpu(), auditor=DEEP), cases=(huge, honest_cpu().plan.cases[1])
    )
    found = result(CODE, bundle)
    assert found.outcome == "fail"  # for its bins; nothing was recomputed
    assert not any("recomputed" in finding.required for finding in found.findings)


def recomputed(monkeypatch):
    """The buffers that are recomputed from here on, each with whether it gives signs of life."""
    made = []

    def count(operands, surface, buffer_set, going_on=None):
        made.append((surface, buffer_set, going_on is not None))
        return buffer_statistics(operands, surface, buffer_set, going_on)

    monkeypatch.setattr(gk203_buffer_contents_differ, "buffer_statistics", count)
    return made


def all_elements(bundle):
    """What `--deep` recomputes: each case once, however many runs it has."""
    total = 0
    for case in bundle.plan.cases:
        sets = bundle.cases[case.id].runs[0].document.rotation.sets
        row = number_format(case.number_format)
        total += sets * sum(elements(case.workload, row, name) for name in inputs(row))
    return total


def test_the_elements_of_all_cases_together_are_bounded(monkeypatch):
    bundle = replace(honest_cpu(), auditor=DEEP)
    total = all_elements(bundle)
    monkeypatch.setattr(gk203_buffer_contents_differ, "_MOST_ELEMENTS", total)
    assert outcome(CODE, bundle) == "pass"
    monkeypatch.setattr(gk203_buffer_contents_differ, "_MOST_ELEMENTS", total - 1)
    made = recomputed(monkeypatch)
    found = result(CODE, bundle)
    assert found.outcome == "unproven"
    limit = f"--deep recomputes {total - 1} elements of a bundle; its buffers hold {total}"
    assert limit in found.reason
    # What every check recomputes still is, within the time that every bundle has.
    assert {entry[1:] for entry in made} == {(0, False)}
    wrong = everywhere(bundle, "checksum", set_cell(0, lambda value: value ^ 1))
    assert outcome(CODE, wrong) == "fail"


def test_the_run_with_the_most_sets_counts(monkeypatch):
    bundle = replace(honest_cpu(), auditor=DEEP)
    monkeypatch.setattr(gk203_buffer_contents_differ, "_MOST_ELEMENTS", all_elements(bundle))
    sets = bundle.cases[PLAIN].runs[1].document.rotation.sets
    larger = with_field(bundle, PLAIN, 2, "rotation.sets", sets + 1)
    assert "its buffers hold" in result(CODE, larger).reason


def test_more_than_the_devices_memory_is_not_recomputed(monkeypatch):
    bundle = replace(honest_cpu(), auditor=DEEP)
    (device,) = bundle.environment.devices
    small = replace(bundle.environment, devices=(replace(device, memory_bytes=1000),))
    made = recomputed(monkeypatch)
    found = result(CODE, replace(bundle, environment=small))
    assert found.outcome == "unproven"
    assert re.search(r"buffers of \d+ bytes are not recomputed: its device has 1000", found.reason)
    assert {buffer_set for _, buffer_set, _ in made} == {0}


def test_every_committed_bundle_is_recomputed_whole():
    folders = [path.parent for path in SUBMISSIONS.rglob("tagmanifest-sha256.txt")]
    bundles = [parse(read_container(folder)) for folder in folders]
    assert max(map(all_elements, bundles)) * 10 < gk203_buffer_contents_differ._MOST_ELEMENTS
    for bundle in bundles:
        assert not any(map(gk203_buffer_contents_differ._too_large, measured_runs(bundle)))
