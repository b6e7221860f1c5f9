"""Counters of a rerun: a warm cache made cold, replays, other sets, another device."""

from dataclasses import replace

from battery.bases import CLOSED, DECODE, GUIDELINE
from battery.registry import manipulation
from bundles import with_counter, with_counters
from kit.counters import DRAM_READ, DRAM_WRITE, SM_UTILISATION, without


def _read(bundle, case=GUIDELINE, **changes):
    return with_counter(bundle, case, DRAM_READ, **changes)


def _values(bundle, case):
    (document,) = bundle.cases[case].counters.values()
    return document.counter(DRAM_READ).values


@manipulation("GK312", "M16", variants={"x0.2": {"factor": 0.2}, "x0.05": {"factor": 0.05}})
def warm_cache(bundle, factor):
    """GEMMs that read less from DRAM than A and B hold."""
    return _read(bundle, values=tuple(int(v * factor) for v in _values(bundle, GUIDELINE)))


@manipulation("GK312", "M16", base="closed")
def warm_cache_of_one_launch(bundle):
    """One launch found half of its operands in the cache."""
    values = _values(bundle, DECODE)
    return _read(bundle, DECODE, values=(values[0] // 2, *values[1:]))


@manipulation("GK312", "M16", base="closed", variants={"2": {"passes": 2}, "9": {"passes": 9}})
def kernels_replayed(bundle, passes):
    """The counter took several passes over each kernel, all but the first with a warm cache."""
    return _read(bundle, CLOSED, passes=passes)


@manipulation(
    "GK312",
    "M25",
    base="closed",
    variants={
        "same": {"sets": (0, 0, 0, 0)},
        "back": {"sets": (1, 0, 1, 1)},
        "fewer": {"sets": (0, 1)},
    },
)
def sets_not_in_order(bundle, sets):
    """The counted launches did not go round the sets."""
    return _read(bundle, CLOSED, sets=sets)


@manipulation("GK312", "M24")
def rerun_with_other_sets(bundle):
    """The counted rerun rotated another number of sets."""
    return with_counters(bundle, GUIDELINE, lambda found: replace(found, rotation_sets=64))


@manipulation("GK312", "M16", variants={"ncu": {"tool": "ncu"}, "none": {"tool": "none"}})
def tool_renamed(bundle, tool):
    """The counters come from another tool than planned."""
    return with_counters(bundle, GUIDELINE, lambda found: replace(found, tool=tool))


@manipulation(
    "GK312",
    "M16",
    base="closed",
    variants={
        "no_permission": {"status": "no_permission"},
        "failed": {"status": "failed"},
    },
)
def not_counted(bundle, status):
    """Counters are missing in the closed division, with a reason."""
    return with_counters(
        bundle,
        CLOSED,
        lambda found: replace(
            found,
            status=status,
            reason="not permitted",
            mode=None,
            rotation_sets=None,
            version=None,
            counters=(),
        ),
    )


@manipulation("GK312", "M16", base="closed")
def bytes_read_left_out(bundle):
    """The one counter that proves a cold cache is not handed over."""

    def drop(found):
        kept = tuple(
            without(DRAM_READ, "byte", "not_available", "no such counter")
            if c.name == DRAM_READ
            else c
            for c in found.counters
        )
        return replace(found, counters=kept)

    return with_counters(bundle, CLOSED, drop)


@manipulation("GK005", "M16")
def document_left_out(bundle):
    """There is no document of counters."""
    return with_counters(bundle, GUIDELINE, lambda _: None)


@manipulation(
    "GK003",
    "M16",
    variants={
        "case": {"changes": {"case": "another-bf16-nn"}},
        "device": {"changes": {"device": "gpu-0123456789ab"}},
    },
)
def of_something_else(bundle, changes):
    """The counters are those of another case or device."""
    return with_counters(bundle, GUIDELINE, lambda found: replace(found, **changes))


@manipulation("GK003", "M16")
def of_a_device_that_did_not_run(bundle):
    """Counters of another device lie beside the measured one's."""
    case = bundle.cases[GUIDELINE]
    ((device, found),) = case.counters.items()
    other = "gpu-0123456789ab"
    counters = {device: found, other: replace(found, device=other)}
    return replace(bundle, cases={GUIDELINE: replace(case, counters=counters)})


@manipulation("GK312", "M16")
def launches_of_a_value_doubled(bundle):
    """The counted bytes are told to be of twice the launches, and so half the bytes of each."""
    return _read(bundle, launches_per_value=1400)


@manipulation("GK312", "M16", variants={"written": {"factor": 0.1}})
def bytes_written_too_few(bundle, factor):
    """Less was written to DRAM than the outputs hold."""
    (document,) = bundle.cases[GUIDELINE].counters.values()
    values = tuple(int(v * factor) for v in document.counter(DRAM_WRITE).values)
    return with_counter(bundle, GUIDELINE, DRAM_WRITE, values=values)


@manipulation("GK312", "M13", base="held")
def utilisation_left_out(bundle):
    """A test at a fixed frequency without the utilisation of the SMs."""

    def drop(found):
        kept = tuple(
            without(c.name, c.unit, "not_available", "no such counter")
            if c.name == SM_UTILISATION
            else c
            for c in found.counters
        )
        return replace(found, counters=kept)

    return with_counters(bundle, DECODE, drop)
