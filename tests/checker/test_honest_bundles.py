"""The bundles that all rule tests start from: honest by every rule, and real bundles on disk."""

import numpy as np
import pytest

from bundles import (
    changed,
    codes,
    device_loop,
    fixed_frequency,
    honest_cpu,
    honest_gpu,
    uncounted_gpu,
    write,
)
from kit.bundle.reader import parse, read_container

HONEST = {"open": honest_gpu, "closed": lambda: honest_gpu("closed"), "cpu": honest_cpu}


@pytest.mark.parametrize("division", ["open", "closed"])
def test_a_gpu_bundle_passes_every_rule(division):
    assert set(codes(HONEST[division]()).values()) == {"pass", "not_applicable"}


def test_a_cpu_bundle_passes_and_claims_no_gpu_rule():
    found = codes(honest_cpu())
    assert set(found.values()) == {"pass", "not_applicable"}
    needs_a_gpu = {
        "GK305", "GK312", "GK313", "GK314", "GK315", "GK401", "GK402", "GK403", "GK404", "GK405",
        "GK406", "GK408", "GK606",
    }  # fmt: skip
    assert {found[code] for code in needs_a_gpu} == {"not_applicable"}


@pytest.mark.parametrize("division", ["open", "closed"])
def test_without_counters_only_the_cold_cache_becomes_unproven(division):
    counted, found = codes(honest_gpu(division)), codes(uncounted_gpu(division))
    assert {code for code in found if found[code] != counted[code]} == {"GK312"}
    assert found["GK312"] == "unproven"


@pytest.mark.parametrize("kind", ["closed", "cpu"])
def test_an_honest_bundle_reads_back_from_disk_as_it_was(kind, tmp_path):
    bundle = HONEST[kind]()
    read = parse(read_container(write(bundle, tmp_path / "honest")))
    for name in ("plan", "system", "environment", "journal", "claims"):
        assert getattr(read, name) == getattr(bundle, name)
    assert read.unknown_files == ()
    for case, wanted in bundle.cases.items():
        found = read.cases[case]
        assert (found.record, found.hlo) == (wanted.record, wanted.hlo)
        assert found.counters == wanted.counters
        for run, right in zip(found.runs, wanted.runs, strict=True):
            assert (run.path, run.document, run.trace) == (
                right.path,
                right.document,
                right.trace,
            )
            assert run.tables.keys() == right.tables.keys()
            for file, table in right.tables.items():
                assert list(run.tables[file].columns) == list(table.columns)
                for column, values in table.columns.items():
                    assert np.array_equal(run.tables[file][column], values), (file, column)


@pytest.mark.parametrize("division", ["open", "closed"])
def test_a_device_loop_changes_no_outcome(division):
    assert changed(device_loop(division)) == {}


@pytest.mark.parametrize("division", ["open", "closed"])
def test_a_fixed_frequency_bundle_is_honest_too(division):
    found = codes(fixed_frequency(division))
    assert set(found.values()) == {"pass", "not_applicable"}
    assert (found["GK403"], found["GK408"]) == ("pass", "pass")
