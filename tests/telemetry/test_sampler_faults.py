import time

import numpy as np

from sampling import health, metric, wait_until

LOST = 15


def test_a_gpu_lost_in_the_middle_fails_bursts_and_is_named(nvml_machine, start):
    # Probing and trying out takes 63 calls, a burst three.
    nvml_machine().device().call("nvmlDeviceGetClockInfo", code=LOST, after=123)
    sampler = start()
    wait_until(lambda: len(sampler.read("clocks.csv")) == 20)
    time.sleep(0.3)
    record = sampler.stop()
    kept = health(record, "clocks.csv")
    assert kept.failed > 3
    assert kept.bursts == kept.failed + 20
    assert 0 not in sampler.read("clocks.csv")["graphics_mhz"]
    assert metric(record, "graphics_mhz").status == "ok"
    assert metric(record, "graphics_mhz").reason.endswith("NVML GPU_IS_LOST")
    assert metric(record, "power_instant_mw").reason == ""


def test_a_table_whose_every_burst_failed_is_an_error(nvml_machine, start):
    # One call to probe, 20 to try the period; after that the counter never answers.
    nvml_machine().device().call("nvmlDeviceGetTotalEnergyConsumption", code=LOST, after=21)
    sampler = start()
    time.sleep(0.5)
    record = sampler.stop()
    assert "energy.csv" not in sampler.tables()
    assert metric(record, "energy_mj").status == "error"
    assert metric(record, "energy_mj").reason == "NVML GPU_IS_LOST"
    assert health(record, "energy.csv").failed > 0


def test_a_zero_reported_as_valid_is_no_row(nvml_machine, start):
    nvml_machine().device().field(186, value=0, after=40)
    sampler = start()
    time.sleep(1.5)
    record = sampler.stop()
    assert health(record, "power.csv").failed > 0
    assert (sampler.read("power.csv")["power_instant_mw"] == 79650).all()
    assert "implausible" in metric(record, "power_instant_mw").reason


def test_a_slow_energy_call_overruns_alone_and_clocks_keep_cadence(nvml_machine, start):
    machine = nvml_machine().device()
    machine.call("nvmlDeviceGetTotalEnergyConsumption", sleep_us=450_000, after=21)
    sampler = start()
    time.sleep(1.6)
    record = sampler.stop()
    energy = health(record, "energy.csv")
    assert energy.overruns >= 4
    assert sampler.read("energy.csv")["burst_ns"].min() > 450_000_000
    assert np.diff(sampler.read("energy.csv")["t_ns"]).min() > 500_000_000  # no bunching up
    clocks = health(record, "clocks.csv")
    assert clocks.bursts + clocks.overruns >= 70
    assert clocks.bursts >= 30  # had they waited for energy, there would be four


def test_a_source_that_is_always_slow_gets_a_longer_period(nvml_machine, start):
    nvml_machine().device().call("nvmlDeviceGetCurrentClocksEventReasons", sleep_us=6_000)
    sampler = start()
    time.sleep(0.5)
    record = sampler.stop()
    assert health(record, "clocks.csv").period_ns in {40_000_000, 80_000_000, 160_000_000}


def test_rows_beyond_the_capacity_are_lost_and_counted(nvml_machine, start):
    nvml_machine().device()
    periods_ms = {"clocks.csv": 5, "power.csv": 50, "energy.csv": 200}
    sampler = start(periods_ms=periods_ms, capacity_s=0.1)
    wait_until(lambda: len(sampler.read("clocks.csv")) > 64)
    time.sleep(0.5)
    kept = health(sampler.stop(), "clocks.csv")
    assert len(sampler.read("clocks.csv")) == 100_000_000 // kept.period_ns + 64
    assert kept.bursts == kept.lost + len(sampler.read("clocks.csv"))
    assert kept.lost > 0


def test_a_call_that_hangs_is_seen_and_ended(nvml_machine, start):
    machine = nvml_machine().device()
    machine.call("nvmlDeviceGetTotalEnergyConsumption", sleep_us=60_000_000, after=21)
    sampler = start()
    wait_until(lambda: len(sampler.read("clocks.csv")) > 25)
    time.sleep(2.5)  # of which the energy's call hangs the most
    began = time.monotonic()
    record = sampler.stop()
    assert time.monotonic() - began < 4
    assert health(record, "energy.csv").failed == 1
    assert health(record, "energy.csv").overruns >= 10
    assert metric(record, "energy_mj").status == "error"
    assert "blocked for" in metric(record, "energy_mj").reason
    assert len(sampler.read("clocks.csv")) > 25
