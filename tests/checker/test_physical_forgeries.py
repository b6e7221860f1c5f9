"""Forged numbers that fit each other, on real and on built H200 bundles: the physics tells.

Each forgery changes everything that the ones before gave away, as its name says, and its claims are
derived anew. What stays accepted is so by any offline check: the reason stands beside it.
"""

from functools import cache
from pathlib import Path

import pytest

import forgeries
from bundles import (
    GUIDELINE,
    codes,
    honest_gpu,
    slope_by_its_windows,
    with_environment,
    with_run,
    write,
)
from honest import rederived
from kit.bundle.reader import parse, read_container
from kit.checker.judge import judge

SUBMISSIONS = Path(__file__).parents[2] / "submissions"
FORMATS = "open/gemm-kit/h200-sxm/2026-11-30-formats"
COMMITTED_GUIDELINE = "closed/gemm-kit/h200-sxm/2026-11-30-guideline"
CASE = "square_4096-bf16-nn"
FORGERIES = {
    "profiling x 0.9, the rest on the warm-up": (
        lambda run: forgeries.redistributed(run, 0.9), {"GK317"},
    ),
    "profiling x 0.97, the rest on the warm-up": (
        lambda run: forgeries.redistributed(run, 0.97), {"GK317"},
    ),
    "windows, anchor and controls x 0.9": (
        lambda run: forgeries.shortened(run, 0.9), {"GK318"},
    ),
    "windows, anchor, controls and cool-down x 0.9": (
        lambda run: forgeries.shortened(run, 0.9, with_cool_down=True), {"GK318"},
    ),
    "anchors 49.9 ms wide": (forgeries.fat_anchors, {"GK309"}),
    "the whole time line x 0.9": (lambda run: forgeries.squeezed(run, 0.9), {"GK412"}),
    "launches x 1.11": (lambda run: forgeries.launches_inflated(run, 1.11), {"GK315"}),
    "power and energy x 0.7": (lambda run: forgeries.power_scaled(run, 0.7), {"GK411"}),
    "event bits and counters cleared": (forgeries.events_cleared, {"GK411"}),
    "zero fill sold as uniform": (
        lambda run: forgeries.telemetry_of(run, "zero_4096"), {"GK411"},
    ),
}  # fmt: skip


@cache
def committed(name):
    """A committed bundle, measured on an H200."""
    return parse(read_container(SUBMISSIONS / name))


def forged(bundle, case, change, number=1):
    return with_run(bundle, case, number, change)


def failed(bundle):
    found = codes(bundle)
    assert "error" not in found.values()
    return {code for code, outcome in found.items() if outcome == "fail"}


@pytest.mark.parametrize("name", FORGERIES)
def test_a_real_bundle_forged(name):
    change, named = FORGERIES[name]
    assert named <= failed(forged(committed(FORMATS), CASE, change))


@pytest.mark.parametrize("name", FORGERIES)
def test_a_built_bundle_forged(name):
    change, named = FORGERIES[name]
    assert named <= failed(forged(honest_gpu(), GUIDELINE, change))


@pytest.mark.parametrize("bundle", [FORMATS, COMMITTED_GUIDELINE])
def test_a_real_bundle_is_honest(bundle):
    assert failed(committed(bundle)) == set()


def test_clocks_that_were_scaled():
    def scale(run):
        clocks = run.tables["clocks.csv"]
        mhz = clocks["graphics_mhz"] * 0.95
        new = forgeries.columns(clocks, graphics_mhz=mhz, sm_mhz=mhz)
        return forgeries.with_tables(run, clocks=new)

    assert "GK412" in failed(forged(committed(FORMATS), CASE, scale))


def test_an_unknown_device_with_ten_times_the_launches():
    bundle = with_environment(committed(FORMATS), device__sm_count=131)
    bundle = forged(bundle, CASE, lambda run: forgeries.launches_inflated(run, 10))
    assert "GK502" in failed(bundle)


def test_a_forged_bundle_that_was_sealed_again_is_not_compliant(tmp_path):
    bundle = forged(committed(FORMATS), CASE, lambda run: forgeries.shortened(run, 0.95))
    verdict = judge(write(rederived(bundle), tmp_path / "forged"))
    assert verdict.judgement == "not_compliant"
    assert {rule.code for rule in verdict.rules if rule.outcome == "fail"} == {"GK318", "GK321"}


def consistent(run, share):
    """All that bears on the period scaled alike: windows, controls, leads, kernels, slope."""
    run = slope_by_its_windows(forgeries.shortened(run, share))
    kernels = run.tables["kernels.csv"]
    scaled = forgeries.columns(
        kernels, start_ns=kernels["start_ns"] * share, duration_ns=kernels["duration_ns"] * share
    )
    return forgeries.with_tables(run, kernels=scaled)


@pytest.mark.parametrize(("share", "wanted"), [(0.9, {"GK318", "GK321"}), (0.995, set())])
def test_what_is_scaled_alike_is_bounded_by_the_time_left_over(share, wanted):
    """Half a per cent stays: the time left over is known no better. Only `audit` decides."""
    bundle = forged(committed(FORMATS), CASE, lambda run: consistent(run, share))
    assert failed(bundle) == wanted
