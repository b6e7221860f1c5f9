import pytest

from bundles import (
    BATCHED,
    DECODE,
    GUIDELINE,
    PLAIN,
    changed,
    device_loop,
    findings,
    honest_cpu,
    honest_gpu,
    outcome,
    with_column,
    with_field,
    with_rows,
    without_table,
)

CODE = "GK308"
FILE = "windows.csv"


def shifted(row):
    def change(values):
        values[row:] += 1
        return values

    return change


@pytest.mark.parametrize(("honest", "case"), [(honest_gpu, GUIDELINE), (honest_cpu, PLAIN)])
@pytest.mark.parametrize("row", [0, 7])
def test_a_gap_in_the_launch_numbers_fails_alone_and_is_named(honest, case, row):
    bundle = with_column(honest(), case, 2, FILE, "first_launch", shifted(row))
    assert changed(bundle) == {CODE: "fail"}
    (finding,) = findings(CODE, bundle)
    assert finding.place.endswith(f"-02/windows.csv: row {row + 1}: first_launch")
    assert "right after the window before" in finding.required


def test_windows_hold_whole_calls():
    def odd(values):
        values[-1] += 1
        return values

    bundle = with_column(honest_gpu(), DECODE, 1, FILE, "launches", odd)
    assert findings(CODE, bundle)[0].required == "whole calls of 2"


def test_single_is_one_gemm_a_call():
    bundle = with_field(honest_gpu(), GUIDELINE, 1, "executable.gemms_per_call", 2)
    assert findings(CODE, bundle)[0].required == "1 for dispatch mode single"


@pytest.mark.parametrize(
    ("gemms", "wanted"), [(37, "pass"), (1, "pass"), (2, "fail"), (36, "fail")]
)
def test_an_unrolled_call_covers_a_share_of_the_sets(gemms, wanted):
    bundle = honest_cpu()
    for number in (1, 2):
        bundle = with_field(bundle, BATCHED, number, "executable.gemms_per_call", gemms)
    found = [f for f in findings(CODE, bundle) if f.place.endswith("gemms_per_call")]
    assert bool(found) == (wanted == "fail")
    assert all(finding.required == "a divisor of 37 sets" for finding in found)


@pytest.mark.parametrize(
    ("gemms", "wanted"), [(32, "pass"), (2, "pass"), (1, "fail"), (31, "fail")]
)
def test_a_device_loop_goes_round_all_sets(gemms, wanted):
    bundle = device_loop()
    for number in (1, 2, 3):
        bundle = with_field(bundle, DECODE, number, "executable.gemms_per_call", gemms)
    found = [f for f in findings(CODE, bundle) if f.place.endswith("gemms_per_call")]
    assert bool(found) == (wanted == "fail")
    assert all(finding.required == "a multiple of 2 sets" for finding in found)


def test_sets_that_are_used_unequally_fail():
    """Every second window left out of a rotation of two: one set is used far oftener."""

    def odd_windows(values):
        values[values % 2 == 0] += 1
        return values

    bundle = with_column(honest_gpu(), GUIDELINE, 1, FILE, "launches", lambda v: v * 0 + 1)
    bundle = with_column(bundle, GUIDELINE, 1, FILE, "first_launch", odd_windows)
    assert any("sets used 0 to 40 times" in finding.found for finding in findings(CODE, bundle))


def test_without_windows_nothing_is_proven():
    assert outcome(CODE, without_table(honest_cpu(), PLAIN, 1, FILE)) == "unproven"
    only_warm_up = with_rows(honest_cpu(), PLAIN, 1, FILE, lambda table: table["phase"] == 0)
    assert outcome(CODE, only_warm_up) == "unproven"
