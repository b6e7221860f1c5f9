"""Speed of light against figures worked out by hand from data sheets and sampled clocks."""

from dataclasses import replace

import pytest

from kit.gpu_table import rows
from kit.number_format import number_format
from kit.sol import speed_of_light
from kit.workload import Workload

ROWS = {row.product: row for row in rows()}


def square(size):
    return Workload("w", size, size, size, 1, "nn")


# Microseconds for arithmetic and for DRAM, the latter from memory clock and bus width: the H200's
# 6016 bits carry 402,653,184 bytes at 3201 MHz x 2 x 752 bytes.
GOLDEN = [
    ("A100-SXM4-80GB", "bf16", (8192, 8192, 8192), 1410, 3525.551, 197.472),
    ("H100 SXM5", "bf16", (4096, 4096, 4096), 1410, 180.284, 30.028),
    ("H200 SXM", "bf16", (8192, 8192, 8192), 1980, 1027.072, 83.637),
    ("H200 SXM", "bf16", (8192, 8192, 8192), 1600, 1271.001, 83.637),
    ("H200 SXM", "e4m3", (8192, 8192, 8192), 1600, 635.501, 55.758),
    ("H200 SXM", "bf16", (16, 8192, 8192), 1980, 2.006, 27.988),
    ("B200", "e4m3", (8192, 8192, 16384), 1700, 533.457, 49.201),
    ("L40S", "e4m3", (4096, 4096, 4096), 2000, 236.299, 77.663),
    ("GeForce RTX 4090", "bf16", (4096, 4096, 4096), 2520, 832.203, 99.854),
]


@pytest.mark.parametrize(("product", "name", "shape", "mhz", "compute_us", "dram_us"), GOLDEN)
def test_golden_vectors(product, name, shape, mhz, compute_us, dram_us):
    (row,) = [row for row in rows() if row.product.startswith(product)]
    work = Workload("w", *shape, 1, "nn")
    found = speed_of_light(work, number_format(name), row, mhz, row.memory_clock_mhz)
    assert found.compute_ns / 1e3 == pytest.approx(compute_us, abs=0.001)
    assert found.dram_ns / 1e3 == pytest.approx(dram_us, abs=0.001)
    assert found.total_ns == max(found.compute_ns, found.dram_ns)


def test_the_sampled_memory_clock_counts():
    row = ROWS["H200 SXM"]
    full = speed_of_light(square(4096), number_format("bf16"), row, 1980, 3201)
    half = speed_of_light(square(4096), number_format("bf16"), row, 1980, 1600.5)
    assert half.dram_ns == pytest.approx(2 * full.dram_ns)
    assert half.compute_ns == full.compute_ns


def test_a_batch_multiplies_both_bounds():
    row, name = ROWS["H200 SXM"], number_format("bf16")
    one = speed_of_light(square(1024), name, row, 1500, 3201)
    batch = speed_of_light(replace(square(1024), batch=5), name, row, 1500, 3201)
    assert batch.compute_ns == pytest.approx(5 * one.compute_ns)
    assert batch.dram_ns == pytest.approx(5 * one.dram_ns)


def test_fp64_runs_on_tensor_cores_where_there_are_some_and_else_on_the_vector_units():
    """An H200 has twice the rate in its tensor cores; a V100 has vector units alone."""
    clock = {"graphics_mhz": 1000, "memory_mhz": 1000}
    h200 = ROWS["H200 SXM"]
    found = speed_of_light(square(4096), number_format("fp64"), h200, **clock)
    assert found.compute_ns == pytest.approx(square(4096).flops / (132 * 256), rel=1e-12)
    v100 = ROWS["V100-PCIE-16/32GB"]
    found = speed_of_light(square(4096), number_format("fp64"), v100, **clock)
    assert found.compute_ns == pytest.approx(square(4096).flops / (80 * 64), rel=1e-12)


@pytest.mark.parametrize(("graphics_mhz", "memory_mhz"), [(0, 3201), (1980, 0), (-1, 3201)])
def test_a_clock_that_stands_still_gives_no_bound(graphics_mhz, memory_mhz):
    row = ROWS["H200 SXM"]
    name = number_format("bf16")
    assert speed_of_light(square(256), name, row, graphics_mhz, memory_mhz) is None


def test_an_unknown_rate_gives_no_bound():
    row = ROWS["H20"]
    assert row.rates == {}
    assert speed_of_light(square(256), number_format("bf16"), row, 1980, 2619) is None
    without_fp8 = next(row for row in rows() if row.product.startswith("A100-SXM4-80GB"))
    assert speed_of_light(square(256), number_format("e4m3"), without_fp8, 1410, 1593) is None
