"""Anchors, controls and timing methods other than those of the windows."""

from dataclasses import replace

import numpy as np

from battery.forging import (
    columns,
    controls,
    document,
    kernels,
    profiled,
    runs,
)
from battery.registry import manipulation
from bundles import with_plan
from kit.evidence import Anchor
from kit.trace import WINDOWS


@manipulation("GK309", "M11", variants={"1ns": {"lasted": 1}, "99ms": {"lasted": 99_000_000}})
def slope_emptied(bundle, lasted):
    """The host slope lasted too little to be judged."""

    def empty(found):
        return tuple(replace(c, duration_ns=lasted) if c.name == "host_slope" else c for c in found)

    return runs(bundle, document(timing__controls=empty))


@manipulation("GK309", "M11")
def anchors_wide(bundle):
    """Anchors 49.9 ms wide, whose slack is taken out of the profiling windows."""
    width = 49_900_000

    def change(run):
        windows, timing = run.tables[WINDOWS.file], run.document.timing
        profiling, lasted = profiled(windows), windows["duration_ns"].astype(float)
        cut = 0.0019 * lasted.sum() + 1.95 * width
        factor = 1 - cut / lasted[profiling].sum()
        run = columns(WINDOWS.file, duration_ns=np.where(profiling, factor, 1.0).__mul__)(run)
        start = (timing.start.before_ns + timing.start.after_ns) // 2
        end = (timing.end.before_ns + timing.end.after_ns) // 2
        opens = start + width // 2
        run = document(
            timing__start=Anchor(start - width // 2, opens),
            timing__end=Anchor(end - width // 2, end + width // 2),
            phases__idle_end_ns=lambda ns: min(ns, start - width // 2),
            phases__cool_down_start_ns=lambda ns: max(ns, end + width // 2),
        )(run)
        late = {n: lambda v: np.maximum(v, opens) for n in ("enqueue_start_ns", "enqueue_end_ns")}
        return kernels(factor)(controls(columns(WINDOWS.file, **late)(run), factor))

    return runs(bundle, change)


@manipulation("GK309", "M11", variants={"start": {"name": "start"}, "end": {"name": "end"}})
def anchor_moved(bundle, name):
    """One drained moment is moved by half a second towards the other."""
    shift = 500_000_000 if name == "start" else -500_000_000

    def change(run):
        found = getattr(run.document.timing, name)
        moved = Anchor(found.before_ns + shift, found.after_ns + shift)
        return document(**{f"timing__{name}": moved})(run)

    return runs(bundle, change)


@manipulation("GK309", "M11", variants={"start": {"name": "start"}, "end": {"name": "end"}})
def anchor_inside_out(bundle, name):
    """A drained moment ends before it begins."""

    def change(run):
        found = getattr(run.document.timing, name)
        return document(**{f"timing__{name}": Anchor(found.after_ns, found.before_ns)})(run)

    return runs(bundle, change)


@manipulation(
    "GK309",
    "M11",
    base="closed",
    variants={"dlpack": {"name": "dlpack_events"}, "slope": {"name": "host_slope"}},
)
def control_left_out(bundle, name):
    """An independent timing is not handed over."""
    return runs(
        bundle, document(timing__controls=lambda found: tuple(c for c in found if c.name != name))
    )


@manipulation(
    "GK309",
    "M11",
    variants={
        "dlpack-x0.9": {"name": "dlpack_events", "factor": 0.9},
        "dlpack-x1.01": {"name": "dlpack_events", "factor": 1.01},
        "slope-x0.97": {"name": "host_slope", "factor": 0.97},
        "slope-x1.03": {"name": "host_slope", "factor": 1.03},
    },
)
def control_of_other_launches(bundle, name, factor):
    """A control comes from launches of another speed."""

    def fast(control):
        return replace(control, duration_ns=round(control.duration_ns * factor))

    return runs(
        bundle,
        document(
            timing__controls=lambda found: tuple(fast(c) if c.name == name else c for c in found)
        ),
    )


@manipulation("GK309", "M11")
def control_covers_half_of_profiling(bundle):
    """The DLPack control spans half of the launches, its time halved too."""

    def half(control):
        return replace(
            control, launches=control.launches // 2, duration_ns=control.duration_ns // 2
        )

    return runs(
        bundle,
        document(
            timing__controls=lambda found: tuple(
                half(c) if c.name == "dlpack_events" else c for c in found
            )
        ),
    )


@manipulation("GK302", "M02", base="cpu")
def host_clock_called_events(bundle):
    """A CPU host's clock is called CUDA events."""
    bundle = with_plan(bundle, timing__method="cuda_events")
    return runs(bundle, document(timing__method="cuda_events", loops__drains=0))


@manipulation(
    "GK302",
    "M02",
    variants={
        "host_clock": {"method": "host_clock"},
        "external": {"method": "external_profiler"},
    },
)
def method_other_than_planned(bundle, method):
    """The run was timed in another way than the plan says."""
    return runs(bundle, document(timing__method=method))


@manipulation("GK302", "M02", base="closed")
def host_clock_in_the_closed_division(bundle):
    """Windows were timed by the host, and the plan says so."""
    bundle = with_plan(bundle, timing__method="host_clock")

    def change(run):
        windows = len(run.tables[WINDOWS.file])
        return document(timing__method="host_clock", loops__drains=windows)(run)

    return runs(bundle, change)
