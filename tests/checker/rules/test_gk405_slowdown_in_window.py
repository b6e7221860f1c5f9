import numpy as np
import pytest

from bundles import (
    DECODE,
    GUIDELINE,
    changed,
    findings,
    fixed_frequency,
    honest_cpu,
    honest_gpu,
    outcome,
    result,
    with_table,
    without_column,
    without_table,
)
from kit.timeline import profiling_interval
from kit.trace import Table

CODE = "GK405"
THERMAL = ("sw_thermal_ns", "hw_thermal_ns", "hw_power_brake_ns")


def interval(bundle, case):
    run = bundle.cases[case].runs[0]
    return profiling_interval(run.document.timing, run.tables["windows.csv"])


def with_bits(bundle, case, bits, samples, *, after_ns=10**9):
    """`samples` samples of run 1, from a second into profiling on, carry these bits too."""
    start, _ = interval(bundle, case)

    def change(table):
        reasons = table["event_reasons"].copy()
        first = int(np.searchsorted(table["t_ns"], start + after_ns))
        reasons[first : first + samples] |= bits
        return Table(table.columns | {"event_reasons": reasons})

    return with_table(bundle, case, 1, "clocks.csv", change)


def with_growth(bundle, case, counter, ns, *, at):
    """The counter of run 1 grows by `ns` at the host time `at`."""

    def change(table):
        values = table[counter] + np.where(table["t_ns"] >= at, ns, 0)
        return Table(table.columns | {counter: values})

    return with_table(bundle, case, 1, "power.csv", change)


@pytest.mark.parametrize(
    ("bit", "name"),
    [
        (0x20, "software thermal slowdown"),
        (0x40, "hardware thermal slowdown"),
        (0x80, "hardware power brake"),
        (0x48, "hardware thermal slowdown"),
    ],
)
def test_one_sample_of_heat_or_brake_fails_alone_and_is_named(bit, name):
    bundle = with_bits(honest_gpu(), GUIDELINE, bit, 1)
    assert changed(bundle) == {CODE: "fail"}
    (finding,) = findings(CODE, bundle)
    assert finding.place.endswith("-01/clocks.csv: column event_reasons in profiling")
    assert finding.found == f"{name} in 1 samples"


@pytest.mark.parametrize(("samples", "wanted"), [(1, "warn"), (2, "fail")])
def test_bare_hardware_slowdown_may_flash_once(samples, wanted):
    assert changed(with_bits(honest_gpu(), GUIDELINE, 0x8, samples)) == {CODE: wanted}


@pytest.mark.parametrize("bits", [0x1, 0x2, 0x4, 0x10, 0x100])
def test_other_reasons_are_no_slowdown_at_a_fixed_power(bits):
    assert outcome(CODE, with_bits(honest_gpu(), GUIDELINE, bits, 50)) == "pass"


def test_before_and_after_profiling_nothing_is_judged():
    _, end = interval(honest_gpu(), GUIDELINE)
    start, _ = interval(honest_gpu(), GUIDELINE)
    for after in (-5 * 10**9, end - start + 10**8):
        bundle = with_bits(honest_gpu(), GUIDELINE, 0x40, 1, after_ns=after)
        assert outcome(CODE, bundle) == "pass"


@pytest.mark.parametrize("counter", THERMAL)
def test_a_counter_that_grew_fails_alone_even_between_samples(counter):
    start, _ = interval(honest_gpu(), GUIDELINE)
    bundle = with_growth(honest_gpu(), GUIDELINE, counter, 1, at=start + 10**9)
    assert changed(bundle) == {CODE: "fail"}
    (finding,) = findings(CODE, bundle)
    assert finding.found == "grew by 1 ns"
    assert counter in finding.place


def test_a_counter_that_grew_in_warm_up_or_cool_down_is_not_judged():
    start, end = interval(honest_gpu(), GUIDELINE)
    for at in (start - 10**9, end + 10**9):
        bundle = with_growth(honest_gpu(), GUIDELINE, "sw_thermal_ns", 10**6, at=at)
        assert outcome(CODE, bundle) == "pass"


def test_the_power_cap_spoils_a_fixed_frequency_only():
    honest = fixed_frequency()
    assert outcome(CODE, honest) == "pass"
    assert outcome(CODE, with_bits(honest, DECODE, 0x4, 1)) == "fail"
    start, _ = interval(honest, DECODE)
    grown = with_growth(honest, DECODE, "sw_power_cap_ns", 10**6, at=start + 10**9)
    assert changed(grown) == {CODE: "fail"}
    grown = with_growth(honest_gpu(), DECODE, "sw_power_cap_ns", 10**6, at=start + 10**9)
    assert outcome(CODE, grown) == "pass"


def test_missing_evidence_proves_nothing():
    for bundle in (
        without_column(honest_gpu(), GUIDELINE, 1, "clocks.csv", "event_reasons"),
        without_table(honest_gpu(), GUIDELINE, 1, "clocks.csv"),
        without_table(honest_gpu(), GUIDELINE, 1, "power.csv"),
    ):
        assert result(CODE, bundle).outcome == "unproven"


def test_a_counter_that_the_driver_lacks_is_left_out():
    bundle = without_column(honest_gpu(), GUIDELINE, 1, "power.csv", "hw_power_brake_ns")
    assert outcome(CODE, bundle) == "pass"


def test_a_cpu_is_not_judged():
    assert outcome(CODE, honest_cpu()) == "not_applicable"
