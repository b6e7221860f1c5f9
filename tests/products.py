"""The product of a format's operands, and the samples that a run would take of it."""

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from kit.fill import Operands
from kit.number_format import number_format
from kit.numerics import compare, output_bits, sample_grid, sample_of
from kit.surfaces import elements, shape
from kit.trace import OUTPUTS, Table
from kit.workload import Workload

FILL_SEED, SAMPLE_SEED = "0011223344556677", "8899aabbccddeeff"
SETS = 3


def workload(name, k=512, layout=None, batch=1):
    row = number_format(name)
    k = -(-k // row.k_multiple) * row.k_multiple
    return Workload("w", 48, 32, k, batch, layout or row.default_layout)


def operands_of(work, name, seed=FILL_SEED):
    return Operands(work, number_format(name), "uniform", seed)


def whole(operands, surface, buffer_set):
    """One surface as the formula writes it, (batch, rows, columns), in its own type."""
    work, row = operands.workload, operands.number_format
    counters = np.arange(elements(work, row, surface), dtype=np.uint64)
    values = operands.elements(surface, buffer_set, counters)
    values = values.reshape(work.batch, *shape(work, row, surface))
    return np.swapaxes(values, 1, 2) if work.layout["ab".index(surface[0])] == "t" else values


def matrices(operands, buffer_set):
    """A[M,K] and B[K,N] in their types; in float32, times their scales, where there are some."""
    a, b = (whole(operands, name, buffer_set) for name in "ab")
    block = operands.number_format.block
    if block:
        of_a, of_b = (whole(operands, f"{name}_scale", buffer_set) for name in "ab")
        a = a.astype(np.float32) * np.repeat(of_a.astype(np.float32), block, axis=2)
        b = b.astype(np.float32) * np.repeat(of_b.astype(np.float32), block, axis=1)
    return [a, b]


def keep_bits(values, fraction_bits):
    """float32 values rounded to nearest even at fewer fraction bits, as tensor cores read tf32."""
    drop = 23 - fraction_bits
    bits = values.view(np.uint32)
    half = (bits >> drop & 1) + (1 << (drop - 1)) - 1
    rounded = (bits + half.astype(np.uint32)) >> drop << drop
    return rounded.astype(np.uint32).view(np.float32)


def multiply(a, b, name):
    """The honest product in the format's output type."""
    row = number_format(name)
    if name == "tf32":
        a, b = keep_bits(np.ascontiguousarray(a), 10), keep_bits(np.ascontiguousarray(b), 10)
    with jax.enable_x64(row.needs_x64):
        product = lax.dot_general(
            a,
            b,
            (((2,), (1,)), ((0,), (0,))),
            precision=lax.Precision.HIGHEST,
            preferred_element_type=jnp.dtype(row.output),
        )
        return np.asarray(product)


def outputs_of(operands, product, sets=SETS, seed=SAMPLE_SEED):
    """The table that a run would sample from `product(a, b, set)` of every set."""
    columns = {column.name: [] for column in OUTPUTS.columns}
    for buffer_set in range(sets):
        d = product(*matrices(operands, buffer_set), buffer_set)
        grid = sample_grid(seed, operands.workload, sets, buffer_set)
        for i in grid.rows:
            for j in grid.columns:
                bits = int(output_bits(d[grid.batch, i : i + 1, j])[0])
                cells = (buffer_set, grid.batch, i, j, bits >> 32, bits & 0xFFFFFFFF)
                for name, cell in zip(columns, cells, strict=True):
                    columns[name].append(cell)
    return Table({name: np.array(cells, np.int64) for name, cells in columns.items()})


def agrees(operands, product, sets=SETS):
    return compare(
        sample_of(operands, sets, SAMPLE_SEED), outputs_of(operands, product, sets)
    ).agrees


def honest(name):
    return lambda a, b, _set: multiply(a, b, name)
