import csv
import time

import numpy as np
import pytest

from kit.errors import UsageError
from kit.system import DeviceAddress
from sampling import health, metric

NOT_SUPPORTED = 3


def recorded(path):
    with path.open() as file:
        rows = list(csv.DictReader(file))
    return {name: np.array([int(row[name]) for row in rows]) for name in rows[0]}


def test_sampling_a_replayed_h200_gives_its_trace_back(nvml_machine, start, h200_traces):
    path = h200_traces / "e4m3_8192.csv"
    machine = nvml_machine().device()
    # From just before the load to well into it: clocks, power and counters all move.
    epoch_ns = machine.trace(path, started_s=1.2)
    sampler = start(base_ns=epoch_ns)
    time.sleep(2.0)
    record = sampler.stop()
    trace = recorded(path)
    trace["sw_power_cap_ns"] = trace["sw_power_cap_counter"]
    compared = 0
    for table in sampler.tables().values():
        for name in set(table.columns) & set(trace) - {"t_ns", "burst_ns"}:
            for t_ns, burst_ns, value in zip(
                table["t_ns"], table["burst_ns"], table[name], strict=True
            ):
                first, last = np.searchsorted(trace["t_ns"], [t_ns, t_ns + burst_ns], "right") - 1
                assert value in trace[name][first : last + 1], (name, t_ns)
                compared += 1
    assert compared > 500
    clocks, power = sampler.tables()["clocks.csv"], sampler.tables()["power.csv"]
    assert len(np.unique(clocks["graphics_mhz"])) > 5
    assert np.ptp(power["power_instant_mw"]) > 200_000
    assert record.process == "spawned"
    assert [one.failed for one in record.health] == [0, 0, 0]
    assert not machine.log.exists(), "the sampler set something on the GPU"


def test_every_deadline_is_a_burst_or_an_overrun(nvml_machine, start):
    nvml_machine().device()
    sampler = start()
    # A busy machine doubles periods: wait for rows, not for seconds.
    while len(sampler.read("energy.csv")) < 4:
        time.sleep(0.1)
    record = sampler.stop()
    for table, period_ms in (("clocks.csv", 20), ("power.csv", 50), ("energy.csv", 200)):
        t_ns = sampler.tables()[table]["t_ns"]
        kept = health(record, table)
        assert kept.period_ns % (period_ms * 1_000_000) == 0
        assert kept.bursts == len(t_ns) > 2
        # A busy machine makes bursts late, but never makes one up or forgets one.
        turns = round((t_ns[-1] - t_ns[0]) / kept.period_ns)
        assert abs(kept.bursts + kept.overruns - 1 - turns) <= 1


def test_reading_does_not_disturb_and_grows(nvml_machine, start):
    nvml_machine().device()
    sampler = start()
    lengths = []
    for _ in range(20):
        lengths.append(len(sampler.read("clocks.csv")))
        time.sleep(0.03)
    assert lengths == sorted(lengths)
    assert lengths[-1] > lengths[0]
    record = sampler.stop()
    assert sampler.stop() is record
    assert len(sampler.read("clocks.csv")) >= lengths[-1]
    assert sorted(sampler.tables()) == ["clocks.csv", "energy.csv", "power.csv"]
    assert len(sampler.read("host.csv")) == 0


def test_a_missing_column_is_absent_from_the_table(nvml_machine, start):
    nvml_machine().device().field(82, code=NOT_SUPPORTED)
    sampler = start()
    time.sleep(0.3)
    record = sampler.stop()
    assert "memory_c" not in sampler.read("power.csv")
    assert "gpu_c" in sampler.read("power.csv")
    assert metric(record, "memory_c").status == "not_supported"


def test_an_energy_counter_that_is_not_supported_leaves_no_table(nvml_machine, start):
    nvml_machine().device().call("nvmlDeviceGetTotalEnergyConsumption", code=NOT_SUPPORTED)
    sampler = start()
    time.sleep(0.3)
    record = sampler.stop()
    assert sorted(sampler.tables()) == ["clocks.csv", "power.csv"]
    assert metric(record, "energy_mj").status == "not_supported"
    assert [one.table for one in record.health] == ["clocks.csv", "power.csv"]


def test_a_table_without_a_period_is_refused(start):
    with pytest.raises(UsageError, match=r"energy\.csv has no sampling period"):
        start(periods_ms={"clocks.csv": 20, "power.csv": 50})


def test_no_telemetry_starts_no_process(start):
    sampler = start("none")
    assert sampler.pid is None
    assert len(sampler.read("clocks.csv")) == 0
    record = sampler.stop()
    assert (record.source, record.process, record.health) == ("none", "none", ())
    assert sampler.tables() == {}


def test_the_real_host_is_sampled(start):
    sampler = start("host", DeviceAddress(None, None))
    time.sleep(0.4)
    record = sampler.stop()
    table = sampler.read("host.csv")
    assert len(table) > 5
    assert metric(record, "busy_ms").status == "ok"
    assert (np.diff(table["busy_ms"]) >= 0).all()
    assert all(metric(record, name).status == "ok" for name in table.columns if name[-3:] != "_ns")
