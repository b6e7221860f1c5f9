"""Honest products of every format are accepted, and what only looks like them is not.

Products are real: XLA on this machine's processor multiplies the format's own operands, with the
format's rounding where a processor has none.
"""

import ml_dtypes
import numpy as np
import pytest

from kit.number_format import FORMATS, number_format
from kit.numerics import compare, sample_of
from kit.workload import Workload
from products import (
    SAMPLE_SEED,
    SETS,
    agrees,
    honest,
    keep_bits,
    matrices,
    multiply,
    operands_of,
    outputs_of,
    workload,
)


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("k", [16, 512, 4096])
def test_an_honest_product_agrees(name, k):
    assert agrees(operands_of(workload(name, k), name), honest(name))


@pytest.mark.parametrize("layout", ["nn", "nt", "tn", "tt"])
def test_every_layout_and_matrix_of_a_batch_agrees(layout):
    operands = operands_of(workload("fp32", 64, layout, batch=3), "fp32")
    assert agrees(operands, honest("fp32"), sets=9)


@pytest.mark.parametrize("name", FORMATS)
def test_the_operands_of_another_seed_do_not_agree(name):
    operands = operands_of(workload(name), name)
    other = operands_of(workload(name), name, seed="7766554433221100")
    outputs = outputs_of(other, honest(name))
    assert not compare(sample_of(operands, SETS, SAMPLE_SEED), outputs).agrees


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("operand", [0, 1])
def test_a_transposed_operand_does_not_agree(name, operand):
    row = number_format(name)
    operands = operands_of(Workload("w", 64, 64, 64, 1, row.default_layout), name)

    def product(a, b, _set):
        pair = [a, b]
        pair[operand] = np.swapaxes(pair[operand], 1, 2)
        return multiply(*pair, name)

    assert not agrees(operands, product)


@pytest.mark.parametrize("name", FORMATS)
def test_a_dropped_block_of_k_does_not_agree(name):
    operands = operands_of(workload(name, 4096), name)
    assert not agrees(operands, lambda a, b, _: multiply(a[..., :-128], b[:, :-128], name))


@pytest.mark.parametrize("name", FORMATS)
def test_one_set_that_was_never_written_does_not_agree(name):
    operands = operands_of(workload(name), name)
    assert not agrees(operands, lambda a, b, i: multiply(a, b, name) * np.int8(i != 1))


@pytest.mark.parametrize("name", FORMATS)
def test_the_sets_in_another_order_do_not_agree(name):
    operands = operands_of(workload(name), name)
    assert not agrees(
        operands, lambda _a, _b, i: multiply(*matrices(operands, (i + 1) % SETS), name)
    )


@pytest.mark.parametrize(("name", "bits"), [("fp32", 10), ("fp32", 7), ("tf32", 7)])
@pytest.mark.parametrize("k", [64, 4096])
def test_operands_rounded_more_coarsely_do_not_agree(name, bits, k):
    """tf32 (10 bits) and bfloat16 (7) in place of fp32, bfloat16 in place of tf32."""
    operands = operands_of(workload(name, k), name)

    def product(a, b, _set):
        a, b = (keep_bits(np.ascontiguousarray(x), bits) for x in (a, b))
        return multiply(a, b, "fp32")

    assert not agrees(operands, product)


def test_an_fp32_output_rounded_to_bfloat16_does_not_agree():
    operands = operands_of(workload("fp32"), "fp32")

    def product(a, b, _set):
        return multiply(a, b, "fp32").astype(ml_dtypes.bfloat16).astype(np.float32)

    assert not agrees(operands, product)


@pytest.mark.parametrize("k", [512, 4096])
def test_float16_accumulation_does_not_agree(k):
    operands = operands_of(workload("fp16", k), "fp16")

    def product(a, b, _set):
        total = np.zeros((1, a.shape[1], b.shape[2]), np.float16)
        for i in range(a.shape[2]):
            total = (total + a[:, :, i : i + 1] * b[:, i : i + 1]).astype(np.float16)
        return total

    assert not agrees(operands, product)


def test_an_integer_that_is_off_by_one_does_not_agree():
    operands = operands_of(workload("int8"), "int8")
    assert not agrees(operands, lambda a, b, _: multiply(a, b, "int8") + np.int32(1))


def test_int8_sums_that_saturate_do_not_agree():
    operands = operands_of(workload("int8"), "int8")
    assert not agrees(operands, lambda a, b, _: np.clip(multiply(a, b, "int8"), -127, 127))


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_no_allowance_covers_what_is_no_number(value):
    operands = operands_of(workload("fp32"), "fp32")
    outputs = outputs_of(operands, lambda a, b, _: np.full_like(multiply(a, b, "fp32"), value))
    found = compare(sample_of(operands, SETS, SAMPLE_SEED), outputs)
    assert not found.agrees
    assert not np.isfinite(found.values[found.worst])


def test_the_worst_element_is_the_one_farthest_off():
    operands = operands_of(workload("fp32"), "fp32")
    outputs = outputs_of(operands, honest("fp32"))
    outputs["bits_low"][7] ^= 1 << 23
    assert compare(sample_of(operands, SETS, SAMPLE_SEED), outputs).worst == 7


@pytest.mark.parametrize("column", ["set", "batch", "row", "column"])
def test_positions_other_than_the_drawn_ones_are_refused(column):
    operands = operands_of(workload("fp32"), "fp32")
    outputs = outputs_of(operands, honest("fp32"))
    outputs[column][3] += 1
    with pytest.raises(ValueError, match="positions are not those"):
        compare(sample_of(operands, SETS, SAMPLE_SEED), outputs)


def test_a_missing_set_is_refused():
    operands = operands_of(workload("fp32"), "fp32")
    outputs = outputs_of(operands, honest("fp32"))
    with pytest.raises(ValueError, match="positions are not those"):
        compare(sample_of(operands, SETS, SAMPLE_SEED), outputs.rows(outputs["set"] < SETS - 1))
