import json
from dataclasses import replace

import numpy as np

from bundles import DECODE, GUIDELINE, honest_cpu, honest_gpu, with_column, with_field
from kit.checker.extract import traits
from kit.checker.traits import Traits
from kit.records import from_json, to_json


def runs(bundle):
    return [run for case in bundle.cases.values() for run in case.runs]


def test_a_gpu_bundle():
    bundle = honest_gpu()
    found = traits(bundle)
    (device,) = bundle.environment.devices
    assert found.submitter == bundle.plan.submission.submitter
    assert found.system["number_of_nodes"] == str(bundle.system.number_of_nodes)
    assert found.devices[device.id]["sm_count"] == str(device.sm_count)
    assert len(found.busy[device.id]) == 2 * len(runs(bundle))
    for start, end in zip(found.busy[device.id][::2], found.busy[device.id][1::2], strict=True):
        assert 0 <= end - start < 3600
    for run in runs(bundle):
        assert f"{run.path}/windows.csv: duration_ns" in found.series
        assert f"{run.path}/power.csv: power_average_mw" in found.series


def test_a_device_without_a_run_is_none_of_a_bundles():
    """Or anybody could name another bundle's GPU and say what he likes about it."""
    (device,) = honest_gpu().environment.devices
    bundle = honest_cpu()
    devices = (*bundle.environment.devices, replace(device, name="NVIDIA H100"))
    named = replace(bundle, environment=replace(bundle.environment, devices=devices))
    assert traits(named).devices == {}


def test_a_cpu_host_is_no_device_that_others_could_have():
    found = traits(honest_cpu())
    assert (found.devices, found.busy) == ({}, {})
    assert {place.rpartition("/")[2] for place in found.series} == {"windows.csv: duration_ns"}


def test_it_survives_the_way_to_the_parent_and_is_small():
    found = traits(honest_gpu())
    text = json.dumps(to_json(found))
    assert from_json(Traits, json.loads(text)) == found
    assert len(text) < 1024 * len(runs(honest_gpu()))


def test_a_series_that_stands_still_is_no_trait():
    held = with_column(
        honest_gpu(),
        DECODE,
        1,
        "clocks.csv",
        "graphics_mhz",
        lambda clock: np.full_like(clock, 1980),
    )
    (run,) = [run for run in held.cases[DECODE].runs if run.document.number == 1]
    assert f"{run.path}/clocks.csv: graphics_mhz" not in traits(held).series


def test_times_that_cannot_be_are_left_out():
    odd = with_field(honest_gpu(), GUIDELINE, 1, "started_utc", "9999-12-31T23:59:59Z")
    (device,) = odd.environment.devices
    assert len(traits(odd).busy[device.id]) == 2 * (len(runs(odd)) - 1)


def test_a_partitioned_gpu_has_the_facts_of_its_part():
    bundle = honest_gpu()
    devices = tuple(replace(device, mig_enabled=True) for device in bundle.environment.devices)
    parted = replace(bundle, environment=replace(bundle.environment, devices=devices))
    assert traits(parted).devices == {}
