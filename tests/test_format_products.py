"""What each format's hardware and backend give is accepted: shorter sums, scales, every layout."""

import jax
import jax.numpy as jnp
import ml_dtypes
import numpy as np
import pytest

from kit.backends.jax_product import array_shape
from kit.backends.jax_product import product as traced
from kit.errors import MeasurementError
from kit.number_format import FORMATS, number_format
from kit.numerics import compare, sample_of
from kit.surfaces import elements, inputs
from products import SAMPLE_SEED, SETS, agrees, multiply, operands_of, outputs_of, whole, workload


def fp8_sums(a, b, fraction_bits=13, step=32):
    """Sums as Hopper's FP8 tensor cores keep them: 14 bits, the rest cut off at every step."""
    total = np.zeros((1, a.shape[1], b.shape[2]), np.float32)
    a, b = a.astype(np.float32), b.astype(np.float32)
    for first in range(0, a.shape[2], step):
        total = total + a[:, :, first : first + step] @ b[:, first : first + step]
        bits = total.view(np.uint32) >> (23 - fraction_bits) << (23 - fraction_bits)
        total = bits.astype(np.uint32).view(np.float32)
    return total


FP8 = ["e4m3", "e4m3_f32", "e5m2_e4m3", "e5m2_e4m3_f32"]


@pytest.mark.parametrize("name", FP8)
@pytest.mark.parametrize("k", [64, 4096, 32_768])
def test_hoppers_shorter_fp8_sums_agree(name, k):
    """On an H200 sums of 4096 e4m3 products were off by 1.2e-3 of their size, of 8192 by 1.9e-3."""
    operands = operands_of(workload(name, k), name)
    output = np.dtype(number_format(name).output)
    outputs = outputs_of(operands, lambda a, b, _: fp8_sums(a, b).astype(output))
    found = compare(sample_of(operands, SETS, SAMPLE_SEED), outputs)
    assert found.agrees
    if k == 4096 and output == np.float32:
        error = np.abs(found.values - found.reference)
        off = np.sqrt(np.mean(error**2) / np.mean(found.reference**2))
        assert 2e-4 < off < 5e-3  # the size that the hardware showed


@pytest.mark.parametrize("name", FP8)
@pytest.mark.parametrize("k", [64, 4096])
def test_fp8_sums_of_eight_bits_do_not_agree(name, k):
    operands = operands_of(workload(name, k), name)
    output = np.dtype(number_format(name).output)
    assert not agrees(operands, lambda a, b, _: fp8_sums(a, b, 5).astype(output))


@pytest.mark.parametrize("name", ["e4m3_f32", "mxfp8"])
@pytest.mark.parametrize("k", [64, 4096])
def test_operands_of_fewer_bits_than_e4m3_do_not_agree(name, k):
    """e5m2 in place of e4m3."""
    operands = operands_of(workload(name, k), name)

    def product(a, b, _set):
        coarse = (x.astype(np.float32).astype(ml_dtypes.float8_e5m2) for x in (a, b))
        return fp8_sums(*coarse).astype(np.dtype(number_format(name).output))

    assert not agrees(operands, product)


def cut_sums(a, b, step=16):
    """float32 sums, their last digits cut off after every `step` products as in tensor cores."""
    total = np.zeros((1, a.shape[1], b.shape[2]), np.float32)
    a, b = a.astype(np.float64), b.astype(np.float64)
    for first in range(0, a.shape[2], step):
        exact = total + a[:, :, first : first + step] @ b[:, first : first + step]
        total = exact.astype(np.float32)
        away = np.abs(total) > np.abs(exact)
        total[away] = np.nextafter(total[away], np.float32(0))
    return total


@pytest.mark.parametrize("name", ["bf16_f32", "fp16_f32"])
def test_a_long_drift_towards_zero_agrees(name):
    """What cutting loses adds up with K^1.5, faster than the random walk of rounding."""
    operands = operands_of(workload(name, 2**17), name)
    assert agrees(operands, lambda a, b, _: cut_sums(a, b), sets=1)


@pytest.mark.parametrize("name", ["bf16_f32", "fp16_f32", "e4m3_f32", "e5m2_e4m3_f32"])
def test_a_float32_output_that_was_rounded_to_bfloat16_is_told_where_sums_are_longer(name):
    """Where float32 sums are kept a bfloat16 output shows; FP8's 14 bits hide it at large K."""
    operands = operands_of(workload(name, 64), name)

    def product(a, b, _set):
        return multiply(a, b, name).astype(ml_dtypes.bfloat16).astype(np.float32)

    assert not agrees(operands, product)


@pytest.mark.parametrize("name", ["mxfp8", "nvfp4"])
@pytest.mark.parametrize("k", [64, 4096])
def test_scales_that_were_not_or_wrongly_applied_do_not_agree(name, k):
    operands = operands_of(workload(name, k), name)
    block = operands.number_format.block

    def product(change):
        def multiplied(_a, _b, i):
            a, b = (whole(operands, letter, i).astype(np.float32) for letter in "ab")
            of_a, of_b = (whole(operands, f"{x}_scale", i).astype(np.float32) for x in "ab")
            of_a, of_b = change(of_a, of_b)
            a, b = a * np.repeat(of_a, block, axis=2), b * np.repeat(of_b, block, axis=1)
            return multiply(a, b, name)

        return multiplied

    assert agrees(operands, product(lambda of_a, of_b: (of_a, of_b)))
    assert not agrees(operands, product(lambda of_a, of_b: (np.ones_like(of_a), of_b)))
    assert not agrees(operands, product(lambda of_a, of_b: (of_a, np.ones_like(of_b))))
    assert not agrees(operands, product(lambda of_a, of_b: (np.roll(of_a, 1, axis=2), of_b)))
    assert not agrees(operands, product(lambda of_a, of_b: (of_a, of_b[:, ::-1])))


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("layout", ["nn", "nt", "tn", "tt"])
@pytest.mark.parametrize("batch", [1, 3])
def test_what_the_backend_traces_is_the_product_in_every_layout(name, layout, batch):
    """The backend's own product on its own buffers, by XLA on this processor."""
    row = number_format(name)
    operands = operands_of(workload(name, 64, layout, batch), name)
    work = operands.workload

    def product(buffer_set):
        buffers = []
        for surface in inputs(row):
            counters = np.arange(elements(work, row, surface), dtype=np.uint64)
            values = operands.elements(surface, buffer_set, counters)
            buffers.append(values.reshape(array_shape(work, row, surface)))
        with jax.enable_x64(row.needs_x64):
            found = jax.jit(traced(work, row, "cpu"))(*map(jnp.asarray, buffers))
            assert found.dtype == np.dtype(row.output)
            return np.asarray(found).reshape(batch, 48, 32)

    if name == "tf32":
        with pytest.raises(MeasurementError, match="tf32 is unsupported on a CPU"):
            traced(work, row, "cpu")
    else:
        assert agrees(operands, lambda _a, _b, buffer_set: product(buffer_set))
