"""The plan changed after the fact: what was asked for fits what was found."""

from dataclasses import replace

from battery.forging import numbered, with_runs
from battery.registry import manipulation
from bundles import with_plan
from kit.bundle import layout


def _workload(bundle, **changes):
    case = bundle.plan.cases[0]
    changed = replace(case, workload=replace(case.workload, **changes))
    return replace(bundle, plan=replace(bundle.plan, cases=(changed, *bundle.plan.cases[1:])))


@manipulation(
    "GK204",
    "M22",
    variants={
        "m": {"changes": {"m": 16384}},
        "n": {"changes": {"n": 16384}},
        "k": {"changes": {"k": 32768}},
        "batch": {"changes": {"batch": 2}},
    },
)
def problem_enlarged(bundle, changes):
    """The case is told to be of twice the operations that were done."""
    return _workload(bundle, **changes)


@manipulation("GK204", "M22")
def layout_changed(bundle):
    """The case is told to be in another layout."""
    return _workload(bundle, layout="nt")


@manipulation(
    "GK205",
    "M18",
    base="closed",
    variants={
        "fp16": {"name": "fp16"},
        "fp32": {"name": "fp32"},
        "e4m3": {"name": "e4m3"},
    },
)
def number_format_changed(bundle, name):
    """The case is told to be in another number format than the program multiplies."""
    case = bundle.plan.cases[0]
    changed = replace(case, number_format=name)
    return replace(bundle, plan=replace(bundle.plan, cases=(changed, *bundle.plan.cases[1:])))


def _renamed(bundle, new):
    """The only case under another id: seeds, outputs, folders and journal follow."""
    case = bundle.plan.cases[0]
    plan = replace(bundle.plan, cases=(replace(case, id=new),))
    changed = replace(bundle, plan=plan)
    kept = [numbered(changed, run, run.document.number, new) for run in bundle.cases[case.id].runs]
    found = replace(
        bundle.cases[case.id],
        counters={
            device: replace(held, case=new)
            for device, held in bundle.cases[case.id].counters.items()
        },
        path=layout.case_folder(new),
    )
    return with_runs(replace(changed, cases={new: found}), {new: kept})


@manipulation("GK611", "M26")
def case_called_another(bundle):
    """The case bears the name of a larger problem in another format."""
    return _renamed(bundle, "square_16384-fp64-nn")


@manipulation(
    "GK611",
    "M26",
    variants={
        "square": {"name": "square_16384"},
        "nearly": {"name": "square_4096x"},
        "batch": {"name": "guideline_8192x8192x16384_batch2"},
    },
)
def workload_called_another(bundle, name):
    """The workload bears another name than its case."""
    return _workload(bundle, name=name)


@manipulation(
    "GK301",
    "M01",
    variants={
        "warm_up": {"changes": {"phases__warm_up_min_launches": 20_000}},
        "profiling": {"changes": {"phases__profiling_min_launches": 8_000}},
        "windows": {"changes": {"timing__windows": 80}},
    },
)
def more_asked_for_than_done(bundle, changes):
    """The plan asks for more than the run did."""
    return with_plan(bundle, **changes)


@manipulation(
    "GK301",
    "M01",
    variants={
        "fewer": {"changes": {"timing__windows": 20}},
        "one": {"changes": {"timing__windows": 1}},
    },
)
def fewer_windows_asked_for_than_there_are(bundle, changes):
    """The plan asks for fewer windows than the run cut, so that some could be left out."""
    return with_plan(bundle, **changes)


@manipulation(
    "GK320",
    "M22",
    variants={
        "launches": {"changes": {"phases__profiling_min_launches": 1}},
        "idle_s": {"changes": {"phases__idle_s": 0.0}},
    },
)
def floors_lowered(bundle, changes):
    """The plan asks for less than the edition; the run did what another plan asks for."""
    return with_plan(bundle, **changes)


@manipulation("GK004", "M26", variants={"two": {"replicates": 2}, "nine": {"replicates": 9}})
def more_replicates_asked_for(bundle, replicates):
    """The plan asks for more runs than there are attempts."""
    return with_plan(bundle, replicates=replicates)


@manipulation(
    "GK401",
    "M12",
    variants={
        "shorter": {"changes": {"telemetry__clock_period_ms": 1}},
        "longer": {"changes": {"telemetry__power_period_ms": 500}},
        "seconds": {
            "changes": {"telemetry__clock_period_ms": 4000, "telemetry__power_period_ms": 4000}
        },
    },
)
def sampling_period_changed(bundle, changes):
    """The plan asks for another sampling period than the sampler kept."""
    return with_plan(bundle, **changes)


@manipulation("GK408", "M07", variants={"1500": {"mhz": 1500}, "1980": {"mhz": 1980}})
def called_a_fixed_frequency(bundle, mhz):
    """A test at a fixed power is called one at a fixed frequency."""
    return with_plan(
        bundle, test_type__name="fixed_frequency", test_type__clock_mhz=mhz, test_type__fill="zero"
    )


@manipulation("GK607", "M26", variants={"triton": {"name": "triton"}})
def implementation_changed(bundle, name):
    """The plan asks for kernels of another implementation."""
    return with_plan(bundle, backend__implementation=name)


@manipulation("GK312", "M16", variants={"none": {"tool": "none"}, "ncu": {"tool": "ncu"}})
def counters_changed(bundle, tool):
    """The plan asks for another tool than the one that counted."""
    return with_plan(bundle, counters__tool=tool)


@manipulation("GK202", "M20", variants={"new": {"challenge": "00112233445566778899aabbccddeeff"}})
def challenge_written_in(bundle, challenge):
    """An auditor's challenge is written into a plan that was measured before it."""
    return with_plan(bundle, submission__challenge=challenge)
