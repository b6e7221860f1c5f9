"""The backend's own buffers and products, held against what the seed says, on this processor."""

import pytest

from kit.backends import Build, backend, backends
from kit.distribution import buffer_statistics
from kit.errors import UsageError
from kit.execution import execution
from kit.fill import Operands
from kit.number_format import number_format
from kit.numerics import compare, sample_of
from kit.plan import Case
from kit.rotation import output_bytes
from kit.surfaces import inputs, surfaces
from kit.trace import BINS
from kit.workload import Workload

FILL_SEED, SAMPLE_SEED = "0011223344556677", "8899aabbccddeeff"
SETS = 4
NT, BATCHED_TN = Workload("w", 48, 32, 64, 1, "nt"), Workload("w", 48, 32, 64, 3, "tn")


def connected(name, work):
    return backend("jax_gemm", "cpu", Case("case", work, name))


@pytest.mark.parametrize(
    ("name", "work", "mode", "fill"),
    [
        ("fp32", NT, "single", "uniform"),
        ("bf16_f32", BATCHED_TN, "unrolled", "uniform"),
        ("e5m2_e4m3", NT, "single", "uniform"),
        ("int8", NT, "unrolled", "zero"),
        ("mxfp8", NT, "single", "uniform"),
        ("mxfp8", BATCHED_TN, "unrolled", "uniform"),
        ("nvfp4", NT, "unrolled", "uniform"),
        ("nvfp4", BATCHED_TN, "single", "zero"),
    ],
    ids=lambda value: getattr(value, "layout", value),
)
def test_every_surface_rotates_and_every_output_is_its_product(name, work, mode, fill):
    row = number_format(name)
    gemms = connected(name, work)
    record, text = gemms.compile(mode, SETS, Build())
    gemms.allocate(SETS, fill, FILL_SEED)
    before = gemms.addresses()
    contents = gemms.buffer_contents()
    gemms.wait_for(gemms.enqueue(SETS))
    gemms.drain()

    assert record.alias_bytes == (1 if mode == "single" else SETS) * output_bytes(work, row)
    assert execution(text, row, None).executed != "unknown"
    assert set(before) == set(surfaces(row))
    assert gemms.addresses() == before
    everywhere = [address for pool in before.values() for address in pool]
    assert len(set(everywhere)) == len(everywhere) == SETS * len(surfaces(row))

    operands = Operands(work, row, fill, FILL_SEED)
    names = [(surface, i) for surface in inputs(row) for i in range(SETS)]
    for place, (surface, i) in enumerate(names):
        wanted = buffer_statistics(operands, surface, i)
        found = {column: int(values[place]) for column, values in contents.items()}
        assert (found["zeros"], found["checksum"]) == (wanted.zeros, wanted.checksum)
        assert tuple(found[f"bin_{i}"] for i in range(BINS)) == wanted.bins
    assert compare(sample_of(operands, SETS, SAMPLE_SEED), gemms.sample_outputs(SAMPLE_SEED)).agrees


def test_only_what_offers_connect_is_a_backend():
    assert backends() == ("jax_gemm",)
    with pytest.raises(UsageError, match="backend 'jax_buffers' is unknown"):
        backend("jax_buffers", "cpu", Case("case", NT, "fp32"))
