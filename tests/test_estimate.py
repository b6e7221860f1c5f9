import json
from dataclasses import replace
from pathlib import Path

import pytest

from kit.cli.run import compose
from kit.estimate import Target, estimate
from kit.gpu_table import rows
from kit.plan import RunPlan

(H200,) = (row for row in rows() if row.product == "H200 SXM")
ON_H200 = Target(H200.product, H200.l2_bytes, H200.memory_bytes, H200)
UNKNOWN = Target("unknown", None, None, None)
SUBMISSIONS = Path(__file__).parents[1] / "submissions"


def plan_of(*overrides):
    return compose(overrides).plan


def test_phases_last_their_launches_where_those_take_longer():
    plan = plan_of("suite=guideline", "number_format=bf16", "backend=cuda")
    taken = estimate(plan, ON_H200)
    (case,) = taken.cases
    period_s = 2 * 8192 * 8192 * 16384 / (132 * 4096 * 1.83e9)
    assert case.sol_ns == pytest.approx(period_s * 1e9)
    assert case.shortest_s == pytest.approx(1.5 + 14_000 * period_s + 1)
    assert taken.shortest_s == case.shortest_s


def test_phases_last_their_seconds_where_launches_are_short():
    (case,) = estimate(plan_of("workload=square_256", "backend=cuda"), ON_H200).cases
    assert case.shortest_s == pytest.approx(1.5 + 3 + 5 + 1)


def test_warm_up_ends_at_its_cap():
    plan = plan_of("workload=square_16384", "number_format=bf16", "phases.warm_up_max_s=4")
    (case,) = estimate(plan, ON_H200).cases
    assert case.shortest_s == pytest.approx(1.5 + 4 + case.sol_ns * 1e-6 + 1)


def test_a_fixed_clock_is_the_speed_of_lights_clock():
    fixed = plan_of("test_type=fixed_frequency", "test_type.clock_mhz=915", "workload=square_8192")
    free = plan_of("workload=square_8192")
    slow, fast = (estimate(plan, ON_H200) for plan in (fixed, free))
    assert (slow.graphics_mhz, fast.graphics_mhz) == (915, 1830)
    assert slow.cases[0].sol_ns == pytest.approx(2 * fast.cases[0].sol_ns)


def test_sets_and_bytes():
    taken = estimate(plan_of("workload=square_2048", "number_format=e4m3"), ON_H200)
    (case,) = taken.cases
    assert (case.input_bytes_per_set, case.output_bytes_per_set) == (2 * 2**22, 2 * 2**22)
    assert case.sets == 15  # 120 MiB over 8 MiB
    assert case.pool_bytes == 15 * 2**24
    assert case.fits is True


def test_a_device_loop_takes_sets_for_a_millisecond_of_gemms():
    plan = plan_of("suite=square", "number_format=bf16", "backend=cuda")
    cases = estimate(plan, ON_H200).cases
    assert [(case.sets, case.most_sets) for case in cases] == [
        (480, 500), (120, 500), (30, 499), (8, 63), (2, 8), (2, 2), (2, 2)
    ]  # fmt: skip
    for case in cases:
        set_bytes = case.input_bytes_per_set + case.output_bytes_per_set
        assert case.pool_bytes == case.sets * set_bytes
        assert case.most_pool_bytes == case.most_sets * set_bytes


@pytest.mark.parametrize(
    ("mode", "backend", "sets"),
    [
        ("single", "cuda", (121, 121)),
        ("unrolled", "cuda", (122, 122)),  # two calls of 61
        ("device_loop", "cuda", (121, 500)),
        ("auto", "cuda", (121, 500)),
        ("auto", "cpu", (121, 121)),
        ("device_loop", "cpu", (121, None)),
    ],
)
def test_the_mode_decides_how_many_sets_there_may_be(mode, backend, sets):
    plan = plan_of("number_format=bf16", f"backend={backend}", f"backend.dispatch={mode}")
    cache = replace(ON_H200, cache_bytes=60 * 2**20 + 1)
    (case,) = estimate(plan, cache).cases
    assert (case.sets, case.most_sets) == sets


@pytest.mark.parametrize(
    ("memory_bytes", "fits"),
    [(500 * 3 * 2**19, True), (500 * 3 * 2**19 - 1, None), (120 * 3 * 2**19, None),
     (120 * 3 * 2**19 - 1, False), (None, None)],
)  # fmt: skip
def test_what_fits_fits_at_most(memory_bytes, fits):
    plan = plan_of("number_format=bf16", "backend=cuda")
    (case,) = estimate(plan, replace(ON_H200, memory_bytes=memory_bytes)).cases
    assert case.fits is fits


def test_what_was_measured_on_an_h200_lies_within_its_estimate():
    found = set()
    for bundle in SUBMISSIONS.glob("*/gemm-kit/h200-sxm/*"):
        plan = RunPlan.from_json(json.loads((bundle / "data/plan.json").read_bytes()))
        for case in estimate(plan, ON_H200).cases:
            for run in (bundle / "data/cases" / case.id / "runs").glob("*/run.json"):
                sets = json.loads(run.read_bytes())["rotation"]["sets"]
                assert case.sets <= sets <= case.most_sets, case.id
                found.add(sets > case.sets)
    assert found == {True, False}


def test_replicates_multiply_time_but_not_memory():
    plan = plan_of("suite=quick")
    once, thrice = (estimate(replace(plan, replicates=n), ON_H200) for n in (1, 3))
    assert (once.runs, thrice.runs) == (4, 12)
    assert thrice.shortest_s == pytest.approx(3 * once.shortest_s)
    assert thrice.cases == once.cases


def test_what_is_not_known_stays_open():
    taken = estimate(plan_of("suite=square", "backend=cuda"), UNKNOWN)
    for case in taken.cases:
        assert (case.sets, case.pool_bytes, case.fits, case.sol_ns) == (None, None, None, None)
        assert case.input_bytes_per_set > 0
        assert case.shortest_s == pytest.approx(10.5)


def test_a_rate_that_the_product_lacks_is_not_guessed():
    taken = estimate(plan_of("workload=square_512", "number_format=bf16"), replace_rates({}))
    assert taken.cases[0].sol_ns is None


def replace_rates(rates):
    return replace(ON_H200, row=replace(H200, rates=rates))
