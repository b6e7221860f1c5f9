"""The table agrees with data sheets and with itself, and a device is found by what it is."""

from dataclasses import replace
from math import log2

import pytest

from kit.gpu_table import row_for, rows
from machines import CORTEX, H200

KNOWN = [row for row in rows() if "bf16" in row.rates and row.peak_tensor_clock_mhz]


@pytest.mark.parametrize("row", KNOWN, ids=lambda row: row.product)
def test_bf16_agrees_with_the_data_sheet_within_two_percent(row):
    computed = row.sm_count * row.rates["bf16"] * row.peak_tensor_clock_mhz * 1e-6
    assert computed / row.datasheet_bf16_tflops == pytest.approx(1.0, abs=0.02)
    # Sparse figures, twice the dense ones, are what public tables get wrong most often.
    assert abs(computed / (2 * row.datasheet_bf16_tflops) - 1) > 0.4


def test_most_of_the_table_is_checked_against_a_data_sheet():
    assert len(KNOWN) >= 25
    assert {row.product for row in rows() if "bf16" not in row.rates} < {
        row.product for row in rows()
    }


@pytest.mark.parametrize("row", KNOWN, ids=lambda row: row.product)
def test_rates_are_powers_of_two_and_double_with_half_the_width(row):
    """But for NVFP4 of Blackwell Ultra, which alone was raised by one half."""
    ultra = row.architecture == "blackwell-ultra"
    for key, rate in row.rates.items():
        assert log2(rate / 1.5 if ultra and key == "fp4" else rate).is_integer(), key
    if "fp8" in row.rates:
        assert row.rates["fp8"] == 2 * row.rates["bf16"]
    if "fp4" in row.rates:
        assert row.rates["fp4"] >= 2 * row.rates["fp8"]
    assert row.rates["fp16_fp32acc"] == row.rates["bf16"]


@pytest.mark.parametrize("row", rows(), ids=lambda row: row.product)
def test_every_row_is_plausible_and_names_its_source(row):
    assert row.source
    assert row.confidence in ("high", "medium", "low")
    assert row.l2_bytes is None or 2**20 <= row.l2_bytes <= 2**28
    assert 64 <= row.memory_bus_bits <= 16384
    if row.memory_clock_mhz:
        assert 10**11 < row.dram_bytes_per_s(row.memory_clock_mhz) < 2 * 10**13


def test_products_are_named_once():
    assert len({row.product for row in rows()}) == len(rows())


def test_a_real_h200_is_exactly_one_row():
    assert row_for(H200).product == "H200 SXM"
    assert row_for(replace(H200, name="whatever")).product == "H200 SXM"


@pytest.mark.parametrize(
    "change",
    [
        {"compute_capability": "9.1"},
        {"compute_capability": None},
        {"sm_count": 114},
        {"sm_count": None},
        {"memory_bus_bits": 5120},
        {"memory_bus_bits": None},
        {"maximum_memory_mhz": 2619},
        {"maximum_memory_mhz": None},
        {"maximum_graphics_mhz": 1755},
        {"maximum_graphics_mhz": None},
    ],
)
def test_a_device_that_differs_in_any_hardware_figure_is_no_row(change):
    assert row_for(replace(H200, **change)) is None


@pytest.mark.parametrize(
    ("mhz", "known"), [(3201, True), (3233, True), (3170, True), (3234, False)]
)
def test_clocks_may_differ_by_one_percent(mhz, known):
    assert (row_for(replace(H200, maximum_memory_mhz=mhz)) is not None) == known


def test_a_cpu_is_no_row():
    assert row_for(CORTEX) is None
    assert row_for(replace(H200, kind="cpu")) is None


def device_of(row):
    """A device with the hardware figures of one row."""
    return replace(
        H200,
        compute_capability=row.compute_capability,
        sm_count=row.sm_count,
        memory_bus_bits=row.memory_bus_bits,
        maximum_memory_mhz=row.memory_clock_mhz,
        maximum_graphics_mhz=row.maximum_graphics_mhz,
    )


AMBIGUOUS = {"A100-SXM4-40GB", "A100-PCIE-40GB", "RTX PRO 6000 Blackwell WS"}
"""One chip, one memory, one clock: only the board and its power tell them apart. The workstation
card shares its figures with the Max-Q card, whose highest clock is not known."""
INCOMPLETE = {"B100"}
"""Rows that lack what a device is told by."""


@pytest.mark.parametrize("row", rows(), ids=lambda row: row.product)
def test_each_row_is_found_by_its_figures_and_an_ambiguous_one_never(row):
    found = row_for(device_of(row))
    if row.product in AMBIGUOUS | INCOMPLETE:
        assert found is None
    else:
        assert found == row


@pytest.mark.parametrize(
    ("product", "rates", "tflops"),
    [
        ("H200 SXM", ("bf16",), 989.4),
        ("H200 SXM", ("fp8",), 1978.8),
        ("H200 SXM", ("tf32",), 494.7),
        ("H200 SXM", ("int8",), 1978.8),
        ("H200 SXM", ("fp64_tc", "fp64"), None),
        ("H200 SXM", ("fp32_simt",), None),
        ("H200 SXM", ("fp4",), None),
        ("H20", ("bf16",), None),
    ],
)
def test_dense_data_sheet_rates_of_the_tensor_cores(product, rates, tflops):
    (row,) = [row for row in rows() if row.product == product]
    found = row.datasheet_flops_per_s(rates)
    assert found == (None if tflops is None else pytest.approx(tflops * 1e12, rel=1e-3))
