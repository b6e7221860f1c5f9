"""The masks written down here are NVML's own, and every counter is a column of `power.csv`."""

import pynvml
import pytest

from kit import clock_events
from kit.trace import POWER

NVML_NAMES = {
    "SW_POWER_CAP": "nvmlClocksEventReasonSwPowerCap",
    "HW_SLOWDOWN": "nvmlClocksThrottleReasonHwSlowdown",
    "SYNC_BOOST": "nvmlClocksThrottleReasonSyncBoost",
    "SW_THERMAL_SLOWDOWN": "nvmlClocksEventReasonSwThermalSlowdown",
    "HW_THERMAL_SLOWDOWN": "nvmlClocksThrottleReasonHwThermalSlowdown",
    "HW_POWER_BRAKE_SLOWDOWN": "nvmlClocksThrottleReasonHwPowerBrakeSlowdown",
}


@pytest.mark.parametrize(("ours", "theirs"), NVML_NAMES.items())
def test_each_mask_is_nvmls(ours, theirs):
    assert getattr(clock_events, ours) == getattr(pynvml, theirs)


def test_every_mask_is_compared():
    masks = {name for name in vars(clock_events) if isinstance(getattr(clock_events, name), int)}
    assert masks == {*NVML_NAMES, "EXPLAINING"}


def test_what_lowers_a_clock_is_all_of_them():
    assert sum(getattr(clock_events, name) for name in NVML_NAMES) == clock_events.EXPLAINING


def test_slowdowns_are_single_bits_with_a_counter_each():
    kinds = (*clock_events.SLOWDOWNS, clock_events.POWER_CAP)
    masks = [kind.mask for kind in (*kinds, clock_events.BARE_SLOWDOWN)]
    assert all(mask.bit_count() == 1 for mask in masks)
    assert len(set(masks)) == len(masks)
    columns = {column.name for column in POWER.columns}
    assert {kind.counter for kind in kinds} < columns
