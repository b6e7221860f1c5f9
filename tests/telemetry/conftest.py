"""A sampler of the test's machine, stopped at the test's end."""

import time

import pytest

from kit.system import DeviceAddress
from kit.telemetry.sampler import Sampler

H200 = DeviceAddress("0000:00:06.0", "GPU-00000000-0000-0000-0000-000000000001")
PERIODS_MS = {"clocks.csv": 20, "power.csv": 50, "energy.csv": 200, "host.csv": 20}


@pytest.fixture
def start(tmp_path):
    started = []

    def sampler(source="nvml", device=H200, periods_ms=PERIODS_MS, capacity_s=30.0, **options):
        base_ns = options.pop("base_ns", time.monotonic_ns())
        started.append(
            Sampler.start(source, device, periods_ms, capacity_s, base_ns, tmp_path, **options)
        )
        return started[-1]

    yield sampler
    for one in started:
        one.stop()
    assert not list(tmp_path.glob("telemetry-*")), "a sampler left its files behind"
