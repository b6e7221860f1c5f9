"""How near do the committed H200 runs come to the thresholds that such runs calibrated?

    python tests/margins.py

Prints for each of these thresholds its limit, and the least and the most that the runs under
`submissions/` show, and where. The comments of `kit/ruleset.py` must be true of both.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cache
from itertools import pairwise

import numpy as np

from golden import BUNDLES
from kit.bundle.reader import parse, read_container
from kit.checker.likeness import likenesses
from kit.checker.recomputed import recompute
from kit.checker.rules import gk318_load_misplaced as gk318
from kit.checker.rules import gk414_device_busy_between_runs as gk414
from kit.checker.runs import MeasuredRun, measured_runs
from kit.checker.traces import traced
from kit.clock_events import POWER_CAP
from kit.metrics import time_mean
from kit.ruleset import CURRENT, ruleset
from kit.stability import settling
from kit.timeline import largest_gap_ns, mean_period_ns, share_with, window_edges, within
from kit.trace import CLOCKS, ENERGY, KERNELS, POWER, POWER_COUNTERS_NS, WARM_UP, WINDOWS

RULES = ruleset(CURRENT)
LEAST, MOST, WITHIN = "at least", "at most", "within"


@dataclass(frozen=True, slots=True)
class Margin:
    """A threshold, and what a bundle shows of it: pairs of a run and a figure.

    Where it is a plain bound, `rule` finds fault with what lies beyond it and with nothing else,
    once the thresholds `alone` stand in place of those that allow for more.
    """

    name: str
    what: str
    seen: Callable
    bound: str = ""
    rule: str = ""
    alone: dict[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Seen:
    """A figure and where it was seen."""

    value: float
    bundle: str
    run: MeasuredRun

    @property
    def text(self):
        """Both, for a person."""
        where = f"{self.bundle}, {self.run.case.id}, run {self.run.document.number}"
        return f"{self.value:11.4g}  {where}"


@cache
def h200_bundles():
    """The committed bundles with H200 runs, by name."""
    read = {name: parse(read_container(path)) for name, path in BUNDLES.items()}
    return {name: bundle for name, bundle in read.items() if h200_runs(bundle)}


def h200_runs(bundle):
    """The bundle's measured runs on an H200, in the order of their time."""
    found = [run for run in measured_runs(bundle) if run.device and "H200" in run.device.name]
    return sorted(found, key=lambda run: run.document.started_ns)


def extremes(margin):
    """The least and the most that the committed runs show."""
    seen = [
        Seen(float(value), name, run)
        for name, bundle in h200_bundles().items()
        for run, value in margin.seen(bundle)
    ]
    return min(seen, key=lambda one: one.value), max(seen, key=lambda one: one.value)


def each(figures, loops=(True, False)):
    """From the figures that one run shows, if any, to a bundle's; of loops alone, or of others."""
    return lambda bundle: [
        (run, value)
        for run in h200_runs(bundle)
        if (run.document.executable.gemms_per_call > 1) in loops
        for value in figures(run)
    ]


def each_of(figure):
    """The same where every run shows exactly one."""
    return each(lambda run: [figure(run)])


def settled(run):
    return settling(run.table(CLOCKS.file), run.table(POWER.file), *run.profiling_interval(), RULES)


def gaps(run):
    for file in (CLOCKS.file, POWER.file):
        longest_ns, _ = largest_gap_ns(run.table(file), *run.profiling_interval())
        yield longest_ns / run.sampling_periods_ns[file]


def sampling(run):
    for file in (CLOCKS.file, POWER.file, ENERGY.file):
        t_ns = within(run.table(file), *run.profiling_interval())["t_ns"]
        yield np.median(np.diff(t_ns)) / run.sampling_periods_ns[file] - 1


def slope_off(run):
    slope = run.control("host_slope")
    yield slope.duration_ns / slope.launches / mean_period_ns(run.profiling_windows()) - 1


def stretches(run):
    """Windows and mean clock of the first second, of the rest of the warm-up, and of profiling."""
    windows, clocks = run.table(WINDOWS.file), run.table(CLOCKS.file)
    edges = window_edges(run.document.timing, windows)
    second = np.searchsorted(edges[:-1], edges[0] + round(RULES.cycles_after_s * 1e9))
    warm = np.count_nonzero(windows["phase"] == WARM_UP)
    for first, end in pairwise((0, second, warm, len(windows))):
        mhz = time_mean(clocks, "graphics_mhz", int(edges[first]), int(edges[end]))
        yield windows.rows(slice(first, end)), mhz


def clock_rise(run):
    _, (_, warm_mhz), (_, mhz) = stretches(run)
    yield 1 - warm_mhz / mhz


def early_mean(run):
    (early, early_mhz), _, (profiling, mhz) = stretches(run)
    yield mean_period_ns(early) / (mean_period_ns(profiling) * max(1.0, mhz / early_mhz)) - 1


def early_slowest(run):
    (early, _), _, (profiling, _) = stretches(run)
    yield (early["duration_ns"] / early["launches"]).max() / mean_period_ns(profiling)


def idle_to_start(run):
    yield (run.document.timing.start.before_ns - run.document.phases.idle_end_ns) * 1e-9


def power_edge(run, what):
    """Where the rule itself says that power rises or falls, as it does once nothing is allowed."""
    for finding in gk318._edges(run, replace(RULES, power_edge_s=-1e6)):
        if found := re.match(rf"power {what} (-?\d+) ms", finding.found):
            yield int(found[1]) * 1e-3


def under_cap(run):
    """The clocks of profiling, if the power cap held them."""
    inside = within(run.table(CLOCKS.file), *run.profiling_interval())
    return [inside] if share_with(inside, POWER_CAP.mask) >= RULES.power_cap_held else []


def cap_after(run):
    clocks = run.table(CLOCKS.file)
    for _ in under_cap(run):
        last_ns = clocks["t_ns"][clocks["event_reasons"] & POWER_CAP.mask != 0][-1]
        yield (last_ns - run.document.phases.cool_down_start_ns) * 1e-9


def clock_changes(run):
    return [np.mean(np.diff(inside["graphics_mhz"]) != 0) for inside in under_cap(run)]


def counters_back(run):
    return [-np.diff(run.table(POWER.file)[name]).min() * 1e-9 for name in POWER_COUNTERS_NS]


def counters_ahead(run):
    power = run.table(POWER.file)
    for name in POWER_COUNTERS_NS:
        ahead_ns = power[name] - power["t_ns"]
        yield (ahead_ns - np.minimum.accumulate(ahead_ns)).max() * 1e-9


def over_limit(run):
    highest_mw = run.table(POWER.file)["power_average_mw"].max()
    yield highest_mw / run.document.limits_before.power_enforced_mw - 1


def load_over_idle(run):
    drawn = gk414._drawn(run, RULES)
    yield drawn.load_mw / drawn.idle_mw - 1


def between(figure):
    """From what two runs in a row on one device tell, if anything, to what a bundle does."""

    def seen(bundle):
        devices = {}
        for run in h200_runs(bundle):
            devices.setdefault(run.document.device, []).append(gk414._drawn(run, RULES))
        for before, after in (pair for drawn in devices.values() for pair in pairwise(drawn)):
            value = figure(before, after, bundle.plan.backend.tuning_attempts)
            if value is not None:
                yield after.run, value

    return seen


def drawn_w(before, after, _):
    return (after.first_mj - before.last_mj) / (after.first_ns - before.last_ns) * 1e6


def work(before, after, *, is_tuned):
    """What was drawn over idle between two loads, in what the greater of them drew itself."""
    if not (before.is_load and after.is_load):
        return None
    if (before.run.case.id != after.run.case.id) != is_tuned:
        return None
    idle_mw = min(before.idle_mw, after.idle_mw)
    drawn_mj = after.first_mj - before.last_mj - idle_mw * (after.first_ns - before.last_ns) * 1e-9
    return drawn_mj / max(before.over_idle_mj, after.over_idle_mj)


def untuned(before, after, _):
    return work(before, after, is_tuned=False)


def tuned(before, after, _):
    return work(before, after, is_tuned=True)


def per_attempt(before, after, attempts):
    final_mj = RULES.between_final_s * (after.load_mw - after.idle_mw)
    allowed = RULES.between_work + final_mj / max(before.over_idle_mj, after.over_idle_mj)
    found = work(before, after, is_tuned=True)
    return (found - allowed) / attempts if found is not None and attempts else None


def alike(bundle):
    """Every pair of runs of a case, whatever swing they share."""
    every = replace(RULES, run_correlation=-0.99, run_correlation_beyond_own=-3.0)
    runs = {run.evidence.path: run for run in h200_runs(bundle)}
    for case in bundle.cases.values():
        for like in likenesses(case.runs, every):
            yield runs[like.later], like.correlation


def replicates(bundle):
    """How far the runs of a case lie apart, at the first of them."""
    runs = {run.evidence.path: run for run in h200_runs(bundle)}
    for case in recompute(bundle):
        if case.metrics.replicate_range is not None:
            yield runs[case.runs[0].run.evidence.path], case.metrics.replicate_range


def call_share(run):
    pilot = run.document.dispatch
    yield pilot.pilot_enqueue_ns / (pilot.pilot_period_ns * run.document.executable.gemms_per_call)


def gap(run):
    yield traced(run)[1].gap_median_ns


def wide_gaps(run):
    found = traced(run)[1]
    return [found.gap_share] if found.gap_mean_ns > RULES.kernel_gap_floor_ns else []


def longest_overlap(run):
    table = run.table(KERNELS.file)
    yield ((table["start_ns"] + table["duration_ns"])[:-1] - table["start_ns"][1:]).max()


def trace_clock(run):
    mhz = time_mean(run.table(CLOCKS.file), "graphics_mhz", *run.profiling_interval())
    yield traced(run)[0].graphics_mhz / mhz


RISES, FALLS = (each(lambda run, what=what: power_edge(run, what)) for what in ("rises", "falls"))
SPREAD = each_of(lambda run: settled(run).power.spread)
MEAN_RANGE = each_of(lambda run: settled(run).clock.mean_range)
SLOPE_S = each_of(lambda run: run.control("host_slope").duration_ns * 1e-9)
CALL_NS = each(lambda run: [run.document.dispatch.pilot_enqueue_ns], loops=(False,))
OVERLAP = each_of(lambda run: traced(run)[1].overlap_median_ns)
SINGLE, LOOP = each(gap, loops=(False,)), each(gap, loops=(True,))
NO_GAP, NO_FLOOR, NO_STRAY = {"cycles_gap_ns": 0.0}, {"largest_gap_s": 0.0}, {"cap_bit_stray": 0.0}
ANY_SHARE = {"kernel_gap_share": 1.0}
MARGINS = (
    Margin("power_spread", "average power in profiling", SPREAD, MOST, "GK402"),
    Margin("clock_mean_range", "clock in profiling", MEAN_RANGE, MOST, "GK402"),
    Margin("largest_gap_periods", "clocks and power", each(gaps), MOST, "GK401", NO_FLOOR),
    Margin("sampling_difference", "all three tables", each(sampling), WITHIN, "GK401"),
    Margin("control_host_difference", "slope over windows", each(slope_off), WITHIN, "GK309"),
    Margin("control_minimum_s", "slope", SLOPE_S, LEAST, "GK309"),
    Margin("cycles_rise", "clock since the warm-up", each(clock_rise)),
    Margin("early_difference", "first second", each(early_mean), MOST, "GK317", NO_GAP),
    Margin("early_window", "its slowest window", each(early_slowest), MOST, "GK317", NO_GAP),
    Margin("idle_to_start_s", "first launch", each(idle_to_start), MOST, "GK318"),
    Margin("power_edge_s", "power rises after the first launch", RISES),
    Margin("power_edge_s", "power falls after the cool-down's start", FALLS),
    Margin("load_share", "load over idle", each(load_over_idle)),
    Margin("cap_bit_after_s", "the last one", each(cap_after), MOST, "GK318", NO_STRAY),
    Margin("between_idle_least", "W from a run to the next", between(drawn_w)),
    Margin("between_work", "untuned", between(untuned), MOST, "GK414"),
    Margin("between_work", "tuned, with all that is allowed for it", between(tuned)),
    Margin("between_work_per_attempt", "beyond all else", between(per_attempt), MOST, "GK414"),
    Margin("counter_back_s", "counters of ns", each(counters_back), MOST, "GK409"),
    Margin("counter_ahead_s", "counters of ns", each(counters_ahead), MOST, "GK412"),
    Margin("clock_changes_least", "under the cap", each(clock_changes), LEAST, "GK412"),
    Margin("power_over_limit", "highest average", each(over_limit), MOST, "GK406"),
    Margin("replicate_range", "the runs of a case", replicates),
    Margin("run_correlation", "pairs, before their own swing excuses any", alike),
    Margin("run_correlation_certain", "pairs", alike, MOST, "GK604"),
    Margin("dispatch_headroom", "a call's cost in the pilot", each(call_share), MOST, "GK305"),
    Margin("dispatch_headroom", "ns for a single launch", CALL_NS),
    Margin("kernel_gap_median_ns", "single launches", SINGLE, MOST, "GK313", ANY_SHARE),
    Margin("kernel_gap_median_ns", "device loops", LOOP),
    Margin("kernel_gap_share", "above the floor", each(wide_gaps), MOST, "GK313"),
    Margin("kernel_overlap_median_ns", "median", OVERLAP, MOST, "GK319"),
    Margin("kernel_overlap_median_ns", "longest of a trace", each(longest_overlap)),
    Margin("trace_clock_least", "trace over profiling", each(trace_clock)),
    Margin("trace_clock_most", "trace over profiling", each(trace_clock)),
)


def main():
    runs = sum(len(h200_runs(bundle)) for bundle in h200_bundles().values())
    print(f"{runs} H200 runs in {len(h200_bundles())} bundles")
    for margin in MARGINS:
        print(f"{margin.name} {margin.bound} {getattr(RULES, margin.name)}: {margin.what}")
        for what, seen in zip(("least", "most"), extremes(margin), strict=True):
            print(f"  {what:5} {seen.text}")


if __name__ == "__main__":
    main()
