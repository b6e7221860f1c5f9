from dataclasses import replace

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
    uncounted_gpu,
    with_counter,
    with_counters,
    with_plan,
)
from kit.counters import DRAM_READ, DRAM_UTILISATION, DRAM_WRITE, SM_UTILISATION, without

CODE = "GK312"
DECODE_BYTES = 2 * (8 * 8192 + 8192 * 8192)


def with_read(bundle=None, case=DECODE, **changes):
    return with_counter(bundle or honest_gpu(), case, DRAM_READ, **changes)


@pytest.mark.parametrize(
    "bundle", [honest_gpu(), honest_gpu("closed"), fixed_frequency(), fixed_frequency("closed")]
)
def test_rotated_launches_pass(bundle):
    assert outcome(CODE, bundle) == "pass"


@pytest.mark.parametrize("division", ["open", "closed"])
def test_without_counters_only_the_footprint_is_known(division):
    found = result(CODE, uncounted_gpu(division))
    assert found.outcome == "unproven"
    assert found.reason.startswith("footprint rule only: ")
    assert "not_asked: counters=none (and 1 more)" in found.reason


def test_a_cpu_bundle_is_not_concerned():
    assert result(CODE, honest_cpu()).outcome == "not_applicable"


@pytest.mark.parametrize(
    ("status", "reason"),
    [
        ("no_tool", "no ncu"),
        ("no_permission", "ERR_NVGPUCTRPERM"),
        ("failed", "the application returned an error"),
        ("not_applicable", "a CPU host"),
    ],
)
def test_a_tool_that_could_not_count_is_unproven_with_its_reason(status, reason):
    def fail(counters):
        return replace(counters, status=status, reason=reason, counters=())

    bundle = with_counters(honest_gpu(), DECODE, fail)
    assert changed(bundle) == {CODE: "unproven"}
    assert f"{status}: {reason}" in result(CODE, bundle).reason


def test_no_document_is_unproven_here_and_missing_evidence_there():
    bundle = with_counters(honest_gpu(), DECODE, lambda _: None)
    assert changed(bundle) == {CODE: "unproven", "GK005": "fail"}


@pytest.mark.parametrize(
    ("values", "shown"),
    [
        ((435_456,) * 4, ("least 435456", "median 435456")),
        ((DECODE_BYTES,) * 3 + (round(0.97 * DECODE_BYTES),), ("least",)),
        ((round(0.5 * DECODE_BYTES),) * 2 + (DECODE_BYTES,) * 2, ("least", "median")),
    ],
)
def test_operands_left_in_the_cache_fail(values, shown):
    bundle = with_read(values=values)
    assert changed(bundle) == {CODE: "fail"}
    found = findings(CODE, bundle)
    assert len(found) == len(shown)
    for finding, words in zip(found, shown, strict=True):
        assert words in finding.found
        assert f"A and B hold {DECODE_BYTES}" in finding.required


@pytest.mark.parametrize(("share", "outcome_"), [(0.981, "pass"), (0.979, "fail")])
def test_the_limit_is_where_it_is_said_to_be(share, outcome_):
    assert outcome(CODE, with_read(values=(round(share * DECODE_BYTES),) * 4)) == outcome_


def test_reading_everything_many_times_is_a_warning():
    bundle = with_read(values=(33 * DECODE_BYTES,) * 4)
    assert changed(bundle) == {CODE: "warn"}


def test_a_replayed_kernel_proves_nothing():
    bundle = with_read(passes=2)
    assert changed(bundle) == {CODE: "fail"}
    assert findings(CODE, bundle)[0].place.endswith("passes")


@pytest.mark.parametrize("sets", [(0, 0, 0, 0), (1, 0, 0, 1), (0, 2, 0, 2), (0, 1, 0)])
def test_sets_out_of_turn_fail(sets):
    assert changed(with_read(sets=sets)) == {CODE: "fail"}


def test_one_launch_is_no_rotation():
    assert changed(with_read(sets=(0,), values=(DECODE_BYTES,))) == {CODE: "fail"}


def sampled(launches, each):
    return with_read(sets=(0,), launches_per_value=launches, samples=400, values=(launches * each,))


def test_a_sum_over_whole_rotations_passes():
    assert outcome(CODE, sampled(6000, DECODE_BYTES)) == "pass"


def test_a_sum_of_warm_launches_fails():
    assert changed(sampled(6000, DECODE_BYTES // 2)) == {CODE: "fail"}


def test_other_sets_than_measured_fail():
    bundle = with_counters(honest_gpu(), DECODE, lambda found: replace(found, rotation_sets=5))
    (first, *_) = findings(CODE, bundle)
    assert (first.found, first.required) == ("5", "2, as measured")


def test_another_tool_than_planned_fails():
    bundle = with_counters(honest_gpu(), DECODE, lambda found: replace(found, tool="xla"))
    assert changed(bundle) == {CODE: "fail"}


def test_counters_that_nobody_asked_for_fail():
    counted = honest_gpu().cases[DECODE].counters
    bundle = with_counters(
        uncounted_gpu(), DECODE, lambda _: replace(next(iter(counted.values())), tool="none")
    )
    assert [finding.required for finding in findings(CODE, bundle)] == [
        "not_asked, as no tool was asked for"
    ]


def test_a_document_that_says_ok_without_the_proof_is_unproven():
    bundle = with_counters(honest_gpu(), GUIDELINE, lambda found: replace(found, counters=()))
    assert changed(bundle) == {CODE: "unproven"}


@pytest.mark.parametrize(
    ("name", "what"),
    [
        (SM_UTILISATION, "SM utilisation"),
        (DRAM_UTILISATION, "DRAM utilisation"),
        (DRAM_WRITE, "bytes written"),
    ],
)
def test_a_fixed_frequency_test_has_utilisation(name, what):
    def lose(counters):
        kept = tuple(
            without(name, entry.unit, "not_available", "none") if entry.name == name else entry
            for entry in counters.counters
        )
        return replace(counters, counters=kept)

    bundle = with_counters(fixed_frequency(), DECODE, lose)
    assert changed(bundle) == {CODE: "unproven"}
    assert what in result(CODE, bundle).reason
    assert outcome(CODE, with_counters(honest_gpu(), DECODE, lose)) == "pass"


def test_counters_of_another_place_disagree():
    bundle = with_counters(honest_gpu(), DECODE, lambda found: replace(found, case=GUIDELINE))
    assert changed(bundle) == {"GK003": "fail"}


def test_counters_of_a_device_that_ran_nothing_disagree():
    bundle = honest_gpu()
    case = bundle.cases[DECODE]
    ((device, counters),) = case.counters.items()
    other = "gpu-000000000000"
    extra = {device: counters, other: replace(counters, device=other)}
    bundle = replace(bundle, cases=bundle.cases | {DECODE: replace(case, counters=extra)})
    assert changed(bundle) == {"GK003": "fail"}


def test_nsight_compute_counts_single_launches():
    bundle = with_counters(honest_gpu(), DECODE, lambda found: replace(found, mode="device_loop"))
    assert changed(bundle) == {CODE: "fail"}
    (finding,) = findings(CODE, bundle)
    assert finding.required == "single, by ncu"


@pytest.mark.parametrize(
    ("mode", "wanted"), [("unrolled", "pass"), ("single", "fail"), ("device_loop", "fail")]
)
def test_jax_counts_in_the_mode_that_was_timed(mode, wanted):
    bundle = with_plan(honest_gpu(), counters__tool="xla")
    for case, found in ((GUIDELINE, "single"), (DECODE, mode)):
        bundle = with_counters(
            bundle, case, lambda held, found=found: replace(held, tool="xla", mode=found)
        )
    assert outcome(CODE, bundle) == wanted


@pytest.mark.parametrize(
    ("kernel", "wanted"),
    [
        ("nvjet_sm90_tst_64x8_64x16_2x1_v_bz_NNT", "fail"),
        ("void cutlass::Kernel2<cutlass_80>(Params)", "pass"),
        ("_ZN7cutlass7Kernel2IfEEvT_", "pass"),
    ],
)
def test_the_counted_kernel_is_the_timed_one(kernel, wanted):
    """Names that one tool mangles and another spells out are not compared."""
    bundle = with_read(kernels=(kernel,))
    assert outcome(CODE, bundle) == wanted
    assert outcome(CODE, with_read(kernels=())) == "pass"


def written(share, launches=1, case=GUIDELINE):
    value = int(share * 2 * 8192 * 8192) * launches
    return with_counter(
        honest_gpu(), case, DRAM_WRITE, values=(value,) * 4, launches_per_value=launches
    )


@pytest.mark.parametrize(
    ("share", "launches", "wanted"),
    [(0.52, 1, "pass"), (0.50, 1, "fail"), (0.976, 100, "pass"), (0.974, 100, "fail")],
)
def test_outputs_are_written_but_for_what_the_cache_holds(share, launches, wanted):
    """D of the guideline holds 134 MB, the cache 62.9 MB: 0.469 of it, once."""
    bundle = written(share, launches)
    found = [f for f in findings(CODE, bundle) if DRAM_WRITE in f.place]
    assert bool(found) == (wanted == "fail")


def test_small_outputs_may_stay_in_the_cache():
    assert outcome(CODE, with_counter(honest_gpu(), DECODE, DRAM_WRITE, values=(1,) * 4)) == "pass"
