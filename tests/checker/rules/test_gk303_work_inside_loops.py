import pytest

from bundles import (
    BATCHED,
    GUIDELINE,
    PLAIN,
    changed,
    findings,
    honest_cpu,
    honest_gpu,
    outcome,
    result,
    with_field,
    without_table,
)

CODE = "GK303"


@pytest.mark.parametrize(("honest", "case"), [(honest_gpu, GUIDELINE), (honest_cpu, BATCHED)])
@pytest.mark.parametrize(
    ("name", "value"), [("compilations", 1), ("transfer_guard", "allow"), ("drains", 1)]
)
def test_each_kind_of_work_fails_alone_and_is_named(honest, case, name, value):
    bundle = with_field(honest(), case, 2, f"loops.{name}", value)
    assert changed(bundle) == {CODE: "fail"}
    (finding,) = findings(CODE, bundle)
    assert finding.place.endswith(f"-02/run.json: loops.{name}")
    assert finding.found == str(value)


def test_the_stricter_guard_is_as_good():
    bundle = with_field(honest_gpu(), GUIDELINE, 1, "loops.transfer_guard", "disallow_explicit")
    assert outcome(CODE, bundle) == "pass"


def test_a_host_clock_drains_once_for_each_window():
    windows = len(honest_cpu().cases[PLAIN].runs[0].tables["windows.csv"])
    for drains, wanted in ((windows, "pass"), (windows - 1, "fail"), (windows + 1, "fail")):
        bundle = with_field(honest_cpu(), PLAIN, 1, "loops.drains", drains)
        assert outcome(CODE, bundle) == wanted


@pytest.mark.parametrize("counter", ["bytes_in_use", "bytes_reserved", "pool_bytes"])
def test_memory_held_must_not_change_by_a_byte(counter):
    bundle = with_field(
        honest_gpu(), GUIDELINE, 1, f"loops.allocator_after.{counter}", lambda held: held + 1
    )
    assert changed(bundle) == {CODE: "fail"}
    (finding,) = findings(CODE, bundle)
    assert finding.place.endswith(f"loops.allocator_after.{counter}")


def test_allocations_may_count_on():
    bundle = with_field(
        honest_gpu(), GUIDELINE, 1, "loops.allocator_after.num_allocs", lambda count: count + 9
    )
    assert changed(bundle) == {}


@pytest.mark.parametrize("value", [None, {}, {"num_allocs": 3}])
def test_a_gpu_without_the_counters_proves_nothing(value):
    bundle = honest_gpu()
    for side in ("before", "after"):
        bundle = with_field(bundle, GUIDELINE, 1, f"loops.allocator_{side}", value)
    found = result(CODE, bundle)
    assert found.outcome == "unproven"
    assert "allocator's counters" in found.reason


def test_a_counter_that_vanished_fails():
    def without(counters):
        return {name: value for name, value in counters.items() if name != "pool_bytes"}

    bundle = with_field(honest_gpu(), GUIDELINE, 1, "loops.allocator_after", without)
    assert outcome(CODE, bundle) == "fail"


def test_without_windows_a_host_clocks_drains_are_unproven():
    assert outcome(CODE, without_table(honest_cpu(), PLAIN, 1, "windows.csv")) == "unproven"
