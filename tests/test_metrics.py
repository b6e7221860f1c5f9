"""The headline figures: of a recorded H200 test, of series worked out by hand, and of none."""

from dataclasses import replace
from math import inf, nan

import numpy as np
import pytest

from bundles import DECODE, GUIDELINE, PLAIN, honest_cpu, honest_gpu
from kit.metrics import derive_case, derive_run, energy_power_mw, same, time_mean
from kit.trace import Table
from machines import CORTEX, H200


def derive(bundle, case, device, number=1, tables=None):
    run = bundle.cases[case].runs[number - 1]
    document = run.document
    return derive_run(bundle.plan.case(case), device, number, document.timing, tables or run.tables)


def test_the_recorded_guideline_run():
    """8192 x 8192 x 16384 in bf16: 4000 launches in 40 windows at 700 W."""
    found = derive(honest_gpu(), GUIDELINE, H200)
    assert found.launches == 4000
    assert found.mean_period_ns == pytest.approx(3_190_800, abs=50)
    assert found.flops_per_s == pytest.approx(689.2e12, rel=1e-4)
    assert found.spread == pytest.approx(0.0028, abs=0.0001)
    assert found.graphics_mhz == pytest.approx(1466, abs=1)
    assert found.memory_mhz == 3201
    for power in (found.power_average_mw, found.power_instant_mw, found.power_energy_mw):
        assert power == pytest.approx(691_000, abs=2_000)
    assert found.gpu_c == pytest.approx(58, abs=0.5)
    assert found.sol_row == "H200 SXM"
    assert found.sol_fraction == pytest.approx(0.869, abs=0.001)
    assert found.sol_ns == pytest.approx(found.sol_fraction * found.mean_period_ns)


def test_the_recorded_guideline_run_beside_other_yardsticks():
    """691.2 W by energy edges x 3190.8 µs; 989.5 dense TFLOP/s by data sheet; 1980 MHz at most."""
    found = derive(honest_gpu(), GUIDELINE, H200)
    flops = 2 * 8192 * 8192 * 16384
    assert found.energy_per_gemm_j == pytest.approx(2.2056, abs=0.0005)
    assert found.energy_per_gemm_j == pytest.approx(
        found.power_energy_mw * 1e-3 * found.mean_period_ns * 1e-9
    )
    assert found.flops_per_s_per_watt == pytest.approx(997.0e9, rel=1e-4)
    assert found.flops_per_s_per_watt * found.energy_per_gemm_j == pytest.approx(flops)
    compute_ns = flops / (132 * 4096 * 1980e6) * 1e9
    assert found.sol_fraction_at_maximum_clock == pytest.approx(compute_ns / found.mean_period_ns)
    assert found.sol_fraction_at_maximum_clock == pytest.approx(0.6438, abs=0.0001)
    assert found.datasheet_fraction == pytest.approx(689.171 / 989.4, rel=1e-4)


def test_without_a_maximum_clock_or_an_energy_counter_there_is_no_such_figure():
    found = derive(honest_gpu(), GUIDELINE, replace(H200, maximum_graphics_mhz=None))
    assert found.sol_fraction_at_maximum_clock is None
    tables = dict(honest_gpu().cases[GUIDELINE].runs[0].tables)
    del tables["energy.csv"]
    found = derive(honest_gpu(), GUIDELINE, H200, tables=tables)
    assert (found.energy_per_gemm_j, found.flops_per_s_per_watt) == (None, None)
    found = derive(honest_cpu(), PLAIN, CORTEX)
    assert (found.sol_fraction_at_maximum_clock, found.datasheet_fraction) == (None, None)


def test_the_recorded_decode_run_waits_for_memory():
    found = derive(honest_gpu(), DECODE, H200)
    assert found.mean_period_ns == pytest.approx(33_017, abs=1)
    assert found.graphics_mhz == 1980
    read = (8 * 8192 + 8192 * 8192 + 8 * 8192) * 2
    assert found.sol_ns == pytest.approx(read / (3201e6 * 2 * 752) * 1e9, rel=1e-12)


def test_a_device_in_no_table_and_a_cpu_have_no_speed_of_light():
    for found in (
        derive(honest_gpu(), GUIDELINE, replace(H200, sm_count=1)),
        derive(honest_cpu(), PLAIN, CORTEX),
    ):
        assert (found.sol_row, found.sol_ns, found.sol_fraction) == (None, None, None)
    assert derive(honest_cpu(), PLAIN, CORTEX).power_average_mw is None


def test_the_warm_up_does_not_count():
    tables = dict(honest_gpu().cases[GUIDELINE].runs[0].tables)
    windows = tables["windows.csv"]
    slower = np.where(windows["phase"] == 0, windows["duration_ns"] * 2, windows["duration_ns"])
    tables["windows.csv"] = Table(windows.columns | {"duration_ns": slower})
    found = derive(honest_gpu(), GUIDELINE, H200, tables=tables)
    assert found.mean_period_ns == derive(honest_gpu(), GUIDELINE, H200).mean_period_ns


def test_the_mean_weighs_windows_by_their_launches_and_the_median_does_not():
    tables = dict(honest_cpu().cases[PLAIN].runs[0].tables)
    tables["windows.csv"] = Table(
        {
            "phase": np.array([0, 1, 1, 1]),
            "first_launch": np.array([0, 10, 20, 50]),
            "launches": np.array([10, 10, 30, 60]),
            "duration_ns": np.array([7, 1000, 6000, 18_000]),
            "enqueue_start_ns": np.zeros(4, np.int64),
            "enqueue_end_ns": np.zeros(4, np.int64),
        }
    )
    found = derive(honest_cpu(), PLAIN, CORTEX, tables=tables)
    assert found.mean_period_ns == 25_000 / 100
    assert found.median_period_ns == 200
    assert found.spread == pytest.approx(np.std([100, 200, 300]) / 200)
    assert found.flops_per_s == pytest.approx(2 * 96 * 64 * 128 / 250e-9)


def test_no_profiling_window_is_no_figure():
    tables = dict(honest_cpu().cases[PLAIN].runs[0].tables)
    windows = tables["windows.csv"]
    tables["windows.csv"] = windows.rows(windows["phase"] == 0)
    with pytest.raises(ValueError, match="no profiling window"):
        derive(honest_cpu(), PLAIN, CORTEX, tables=tables)


def test_each_sample_stands_until_the_next_one():
    table = Table({"t_ns": np.array([0, 10, 12, 50]), "mhz": np.array([100, 200, 1000, 7])})
    # 100 for 10 ns, 200 for 2 ns, 1000 for 8 ns.
    assert time_mean(table, "mhz", 0, 20) == pytest.approx((1000 + 400 + 8000) / 20)
    assert time_mean(table, "mhz", 5, 20) == pytest.approx((400 + 8000) / 10)
    assert time_mean(table, "mhz", 11, 20) is None  # one sample is no mean
    assert time_mean(table, "watts", 0, 20) is None
    assert time_mean(None, "mhz", 0, 20) is None


def test_power_by_energy_is_rise_over_time_between_the_ends_of_the_bursts():
    table = Table(
        {
            "t_ns": np.array([0, 10**9, 3 * 10**9, 9 * 10**9]),
            "burst_ns": np.array([5, 10**8, 0, 0]),
            "energy_mj": np.array([0, 1000, 2900, 99_999]),
        }
    )
    assert energy_power_mw(table, 10**9, 4 * 10**9) == pytest.approx(1900 / 1.9)
    assert energy_power_mw(table, 2 * 10**9, 4 * 10**9) is None
    assert energy_power_mw(Table({"t_ns": table["t_ns"]}), 0, 10**10) is None
    assert energy_power_mw(None, 0, 10**10) is None
    still = Table({name: values[[1, 1]] for name, values in table.columns.items()})
    assert energy_power_mw(still, 0, 10**10) is None


@pytest.mark.parametrize("phase_ms", range(0, 100, 7))
def test_edges_of_a_stepping_counter_give_the_power_to_within_a_poll(phase_ms):
    """700 W, steps every 100 ms, polls every 10 ms over half a second: naive ends miss by 8 %."""
    t = np.arange(0, 900, 10)
    energy = 700 * ((t + phase_ms) // 100 * 100)
    table = Table({"t_ns": t * 10**6, "burst_ns": 0 * t, "energy_mj": energy})
    found = energy_power_mw(table, 200 * 10**6, 700 * 10**6)
    assert found == pytest.approx(700_000, rel=0.025)
    inside = (t >= 200) & (t < 700)
    naive = (energy[inside][-1] - energy[inside][0]) / (t[inside][-1] - t[inside][0]) * 1000
    assert abs(found - 700_000) < abs(naive - 700_000)


def runs_with(periods):
    run = derive(honest_cpu(), PLAIN, CORTEX)
    flops = run.flops_per_s * run.mean_period_ns
    return tuple(
        replace(run, number=i, mean_period_ns=period, flops_per_s=flops / period)
        for i, period in enumerate(periods, 1)
    )


@pytest.mark.parametrize(
    ("periods", "middle", "spread"),
    [([100.0, 103.0, 101.0], 101.0, 3 / 101), ([100.0, 110.0], 105.0, 10 / 105),
     ([100.0], 100.0, None)],
)  # fmt: skip
def test_a_case_is_the_median_of_its_runs_and_their_range_over_it(periods, middle, spread):
    found = derive_case("case", runs_with(periods))
    assert found.period_ns == middle
    assert found.replicate_range == (None if spread is None else pytest.approx(spread))
    assert found.flops_per_s == pytest.approx(2 * 96 * 64 * 128 / (middle * 1e-9))


def test_a_case_without_runs_has_no_figures():
    found = derive_case("case", ())
    assert (found.period_ns, found.flops_per_s, found.replicate_range) == (None, None, None)


@pytest.mark.parametrize(
    ("claimed", "derived", "equal"),
    [
        (1.0, 1.0, True),
        (1.0, 1.0 + 1e-10, True),
        (1.0, 1.0 + 1e-8, False),
        (0.0, 1e-300, False),
        (None, None, True),
        (None, 0.0, False),
        (0.0, None, False),
        (nan, nan, False),
        (inf, 1.0, False),
    ],
)
def test_figures_are_the_same_to_the_last_digits(claimed, derived, equal):
    assert same(claimed, derived) == equal


def test_kernel_time_comes_from_the_trace_alone():
    bundle = honest_gpu()
    run = bundle.cases[DECODE].runs[0]
    case, timing = bundle.plan.case(DECODE), run.document.timing
    found = derive_run(case, H200, 1, timing, run.tables, run.trace)
    assert found.kernel_ns == pytest.approx(33_017 - 128, rel=0.001)
    assert found.period_over_kernel == found.mean_period_ns / found.kernel_ns
    assert found.period_over_kernel == pytest.approx(1.0039, abs=0.001)
    without = derive_run(case, H200, 1, timing, run.tables)
    assert (without.kernel_ns, without.period_over_kernel) == (None, None)
    assert without == replace(found, kernel_ns=None, period_over_kernel=None)
