"""Where outputs are sampled, how their bits are read, and how far off they may be."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kit.fill import Operands
from kit.number_format import FORMATS, number_format
from kit.numerics import (
    Sampling,
    allowed_error,
    compare,
    grid_side,
    output_bits,
    output_values,
    sample_grid,
    sample_of,
    samples,
)
from kit.trace import OUTPUTS, Table
from kit.workload import Workload

FILL = "0011223344556677"
SAMPLE_SEED = "8899aabbccddeeff"


def test_bits_of_a_wider_type_are_refused():
    with pytest.raises(ValueError, match="wider than bfloat16"):
        output_values(np.array([0]), np.array([2**16]), number_format("bf16"))
    with pytest.raises(ValueError, match="wider than float32"):
        output_values(np.array([1]), np.array([0]), number_format("fp32"))


@pytest.mark.parametrize("name", FORMATS)
def test_bits_are_values_and_back(name):
    row = number_format(name)
    values = np.array([0, 1, -1, 3, -127], row.output)
    bits = output_bits(values)
    high, low = (
        (bits >> np.uint64(32)).astype(np.int64),
        (bits & np.uint64(2**32 - 1)).astype(np.int64),
    )
    assert np.array_equal(output_values(high, low, row), [0, 1, -1, 3, -127])


def test_grids_are_drawn_within_the_output_and_spread_over_it():
    work = Workload("w", 4096, 4096, 64, 7, "nn")
    grids = [sample_grid(SAMPLE_SEED, work, 300, i) for i in range(300)]
    assert all(len(grid.rows) == len(grid.columns) == 1 for grid in grids)
    assert {grid.batch for grid in grids} == set(range(7))
    rows = [grid.rows[0] for grid in grids]
    assert len(set(rows)) > 280
    assert (min(rows) < 100, max(rows) > 4000) == (True, True)
    assert [grid_side(sets) for sets in (2, 8, 9, 64, 65, 4000)] == [4, 4, 2, 2, 1, 1]
    two = sample_grid(SAMPLE_SEED, work, 2, 0)
    assert (len(two.rows), len(two.columns)) == (4, 4)
    assert sample_grid("8899aabbccddeefe", work, 2, 0) != two


def test_integers_are_exact_and_the_allowance_grows_with_k():
    reference = np.array([1.0, -1000.0])
    assert not allowed_error(number_format("int8"), reference, 1.0, 4096).any()
    for name in set(FORMATS) - {"int8"}:
        short, long = (allowed_error(number_format(name), reference, 1.0, k) for k in (64, 4096))
        assert (long > short).all()


def test_samples_of_many_runs_are_each_of_them_alone():
    shapes = (("mxfp8", 3, "nt"), ("int8", 70, "nt"), ("bf16", 9, "tn"))
    asked = []
    for i, (name, sets, layout) in enumerate(shapes):
        work = Workload("w", 64, 96, 64, 2, layout)
        operands = Operands(work, number_format(name), "uniform", f"{i:016x}")
        asked.append(Sampling(operands, sets, f"{i + 9:016x}"))
    assert samples([]) == []
    for sampling, found in zip(asked, samples(asked), strict=True):
        chosen = np.arange(sampling.sets)
        keys = sampling.operands.keys(chosen)
        assert np.array_equal(found.keys[:, : keys.shape[1]], keys)
        for number in chosen.tolist():
            grid = sample_grid(sampling.seed, sampling.operands.workload, sampling.sets, number)
            assert grid.batch == found.batch[number]
            assert grid.rows == tuple(np.unique(found.rows[number]))
            assert grid.columns == tuple(np.unique(found.columns[number]))


@given(
    st.integers(1, 6),
    st.integers(1, 6),
    st.sampled_from([1, 3, 9, 70]),
    st.integers(0, 2**64 - 1).map(lambda seed: f"{seed:016x}"),
)
@settings(max_examples=25)
def test_samples_are_all_crossings_of_every_grid_in_order(m, n, sets, seed):
    """Small outputs, in which draws repeat, against loops over the grids that a runner samples."""
    operands = Operands(Workload("w", m, n, 8, 2, "nn"), number_format("fp64"), "uniform", FILL)
    rows = []
    for number in range(sets):
        grid = sample_grid(seed, operands.workload, sets, number)
        for row in sorted(set(grid.rows)):
            for column in sorted(set(grid.columns)):
                place = operands.keys(np.array([number])), np.array([grid.batch])
                crossing = np.array([[[row]], [[column]]])
                left, right = operands.vectors(["a", "b"], *place, crossing)[:, 0, 0]
                bits = int(output_bits(np.array([left @ right]))[0])
                rows.append([number, grid.batch, row, column, bits >> 32, bits % 2**32])
    names = [column.name for column in OUTPUTS.columns]
    columns = dict(zip(names, np.array(rows, np.int64).T, strict=True))
    wanted = sample_of(operands, sets, seed)
    found = compare(wanted, Table(columns))
    assert found.agrees
    assert len(found.reference) == len(rows)
    moved = columns | {"row": (columns["row"] + 1) % max(m, 2)}
    with pytest.raises(ValueError, match="not those that plan and run number draw"):
        compare(wanted, Table(moved))
