import numpy as np
import pytest

from bundles import (
    DECODE,
    GUIDELINE,
    NVFP4,
    PLAIN,
    changed,
    findings,
    honest_cpu,
    honest_gpu,
    outcome,
    scaled,
    with_column,
    without_table,
)

CODE = "GK306"
FILE = "buffers.csv"


def with_address(bundle, case, row, address, columns=("address_before", "address_after")):
    def change(values):
        values[row] = address
        return values

    for column in columns:
        bundle = with_column(bundle, case, 1, FILE, column, change)
    return bundle


@pytest.mark.parametrize(("honest", "case"), [(honest_gpu, GUIDELINE), (honest_cpu, PLAIN)])
def test_two_sets_in_one_place_fail_alone_and_are_named(honest, case):
    first = int(honest().cases[case].runs[0].tables[FILE]["address_before"][0])
    bundle = with_address(honest(), case, 1, first)
    assert changed(bundle) == {CODE: "fail"}
    (finding,) = findings(CODE, bundle)
    assert finding.found == "A, set 1 begins inside A, set 0"


@pytest.mark.parametrize(("overlap", "wanted"), [(0, "pass"), (1, "fail")])
def test_buffers_may_touch_and_not_overlap_by_a_byte(overlap, wanted):
    table = honest_gpu().cases[DECODE].runs[0].tables[FILE]
    # A is 8 x 8192 bf16: 131,072 bytes, so set 1 may begin right behind set 0.
    end_of_first = int(table["address_before"][0]) + 8 * 8192 * 2
    bundle = with_address(honest_gpu(), DECODE, 1, end_of_first - overlap)
    assert outcome(CODE, bundle) == wanted


def test_an_output_inside_an_operand_fails():
    table = honest_gpu().cases[DECODE].runs[0].tables[FILE]
    bundle = with_address(honest_gpu(), DECODE, 4, int(table["address_before"][2]) + 4096)
    (finding,) = findings(CODE, bundle)
    assert finding.found == "D, set 0 begins inside B, set 0"


def test_a_buffer_that_moved_fails_alone():
    table = honest_gpu().cases[GUIDELINE].runs[0].tables[FILE]
    elsewhere = int(table["address_before"][5]) + 256
    bundle = with_address(honest_gpu(), GUIDELINE, 5, elsewhere, ("address_after",))
    assert changed(bundle) == {CODE: "fail"}
    (finding,) = findings(CODE, bundle)
    assert finding.place.endswith("-01/buffers.csv: row 6 (D, set 1)")
    assert finding.found.startswith(str(elsewhere))


def test_scales_rotate_too():
    """Each set has scales of its own, beside its operands and behind none of the other sets."""
    assert outcome(CODE, scaled()) == "pass"
    table = scaled().cases[NVFP4].runs[0].tables[FILE]
    first, second = np.flatnonzero(table["operand"] == 4)[:2]
    bundle = with_address(scaled(), NVFP4, second, int(table["address_before"][first]))
    assert changed(bundle) == {CODE: "fail"}
    (finding,) = findings(CODE, bundle)
    assert finding.found == "scales of B, set 1 begins inside scales of B, set 0"


@pytest.mark.parametrize(("overlap", "wanted"), [(0, "pass"), (1, "fail")])
def test_four_bit_elements_are_packed(overlap, wanted):
    table = scaled().cases[NVFP4].runs[0].tables[FILE]
    end_of_first = int(table["address_before"][0]) + 64 * 128 // 2
    bundle = with_address(scaled(), NVFP4, 1, end_of_first - overlap)
    assert outcome(CODE, bundle) == wanted


def test_without_the_table_nothing_is_proven():
    assert outcome(CODE, without_table(honest_cpu(), PLAIN, 1, FILE)) == "unproven"


@pytest.mark.parametrize(("times", "wanted"), [(3.99, "pass"), (4.01, "fail")])
def test_buffers_lie_within_the_device(times, wanted):
    memory = honest_gpu().environment.devices[0].memory_bytes
    last = len(honest_gpu().cases[GUIDELINE].runs[0].tables[FILE]) - 1
    bundle = with_address(honest_gpu(), GUIDELINE, last, int(times * memory))
    assert changed(bundle) == ({CODE: "fail"} if wanted == "fail" else {})


def test_a_hosts_allocations_may_lie_anywhere():
    last = len(honest_cpu().cases[PLAIN].runs[0].tables[FILE]) - 1
    assert outcome(CODE, with_address(honest_cpu(), PLAIN, last, 2**46)) == "pass"
