"""How launches were handed over, and which programs they were chosen from."""

from dataclasses import replace

from battery.bases import DECODE, LOOPED
from battery.forging import document, runs
from battery.registry import manipulation
from bundles import with_lead


@manipulation(
    "GK308",
    "M05",
    base="formats",
    variants={
        "single": {"mode": "single"},
        "unrolled": {"mode": "unrolled"},
    },
)
def loop_renamed(bundle, mode):
    """A device loop is called something simpler."""
    return runs(bundle, document(dispatch__mode=mode), case=LOOPED)


@manipulation("GK308", "M05", variants={"loop": {"mode": "device_loop"}})
def single_renamed(bundle, mode):
    """Single launches are called a device loop."""
    return runs(bundle, document(dispatch__mode=mode))


@manipulation("GK304", "M04", variants={"twice": {"factor": 2}, "tenfold": {"factor": 10}})
def gemms_per_call_inflated(bundle, factor):
    """Each call is told to hold more GEMMs than the program does, and so do the windows."""
    bundle = runs(bundle, document(executable__gemms_per_call=factor, dispatch__mode="device_loop"))
    return runs(bundle, document(executable__alias_bytes=lambda v: v * 2))


@manipulation("GK305", "M05", base="closed")
def pilot_host_bound(bundle):
    """In the pilot, handing over took longer than the GEMM."""
    return runs(
        bundle,
        lambda run: document(
            dispatch__pilot_enqueue_ns=run.document.dispatch.pilot_period_ns
            * run.document.executable.gemms_per_call
        )(run),
    )


@manipulation(
    "GK305",
    "M05",
    base="closed",
    variants={
        "enqueue": {"name": "pilot_enqueue_ns"},
        "period": {"name": "pilot_period_ns"},
    },
)
def pilot_left_out(bundle, name):
    """A time of the pilot is missing."""
    return runs(bundle, document(**{f"dispatch__{name}": None}))


@manipulation("GK305", "M05", variants={"long": {"period": 10**9}, "short": {"period": 100_000}})
def pilot_invented(bundle, period):
    """The pilot's period has nothing to do with the windows'."""
    return runs(bundle, document(dispatch__pilot_period_ns=period))


@manipulation("GK305", "M05", base="closed")
def host_just_in_time(bundle):
    """The host handed every window over as the device began it: the device waited."""
    for case, found in bundle.cases.items():
        for run in found.runs:
            bundle = with_lead(bundle, case, run.document.number, 1000)
    return bundle


@manipulation("GK305", "M05", variants={"64": {"calls": 64}, "500": {"calls": 500}})
def host_further_ahead_than_it_can(bundle, calls):
    """The host is told to have run further ahead than JAX lets it."""
    for case, found in bundle.cases.items():
        for run in found.runs:
            lead = calls * run.document.dispatch.pilot_period_ns
            bundle = with_lead(bundle, case, run.document.number, lead)
    return bundle


@manipulation("GK305", "M05", base="formats", variants={"8": {"calls": 8}, "28": {"calls": 28}})
def host_further_ahead_than_the_driver_queues(bundle, calls):
    """A loop of GEMMs with a memset each is told to have been handed over as one of graphs is."""
    for case, found in bundle.cases.items():
        for run in found.runs:
            per_call = run.document.executable.gemms_per_call
            if per_call > 1:
                lead = calls * per_call * run.document.dispatch.pilot_period_ns
                bundle = with_lead(bundle, case, run.document.number, lead)
    return bundle


@manipulation("GK304", "M04", variants={"none": {"factor": 0}, "half": {"factor": 0.5}})
def outputs_not_in_place(bundle, factor):
    """Outputs are not written over donated buffers."""
    return runs(bundle, document(executable__alias_bytes=lambda v: int(v * factor)))


@manipulation("GK607", "M26", base="closed")
def no_tuning_replayed(bundle):
    """Every run tuned for itself."""
    return runs(bundle, document(executable__autotune=None, executable__autotune_reason="none"))


@manipulation(
    "GK607",
    "M26",
    variants={
        name: {"name": name}
        for name in (
            "xla_gpu_load_autotune_results_from",
            "xla_gpu_require_complete_aot_autotune_results",
            "xla_gpu_enable_triton_gemm",
        )
    },
)
def compiler_option_left_out(bundle, name):
    """The compiler was not told to replay the tuning, or whose kernels to use."""
    return runs(
        bundle,
        document(executable__options=lambda found: {k: v for k, v in found.items() if k != name}),
    )


@manipulation("GK607", "M05", base="closed")
def candidates_left_out(bundle):
    """The tuner's candidates are not handed over."""
    return runs(bundle, document(dispatch__candidates=()))


@manipulation("GK607", "M05", base="closed")
def faster_candidate_not_taken(bundle):
    """The tuner timed a faster program than the one that was launched."""

    def faster(found):
        return tuple(
            replace(c, period_ns=c.period_ns * 0.5) if c.implementation == "triton" else c
            for c in found
        )

    return runs(bundle, document(dispatch__candidates=faster), case=DECODE)


@manipulation("GK607", "M26")
def implementation_renamed(bundle):
    """The library's kernels are called Triton's."""
    return runs(bundle, document(executable__implementation="triton"))


@manipulation("GK607", "M26", base="closed", variants={"triton": {"planned": "triton"}})
def implementation_not_as_planned(bundle, planned):
    """The plan asks for kernels of another implementation."""
    plan = bundle.plan
    return replace(
        bundle, plan=replace(plan, backend=replace(plan.backend, implementation=planned))
    )


@manipulation(
    "GK303",
    "M03",
    variants={
        "compilation": {"field": "compilations", "value": 1},
        "guard": {"field": "transfer_guard", "value": "allow"},
        "drain": {"field": "drains", "value": 40},
    },
)
def work_inside_the_loops(bundle, field, value):
    """Something happened inside the loops, and the run says so."""
    return runs(bundle, document(**{f"loops__{field}": value}))


@manipulation("GK303", "M03")
def memory_taken_inside_the_loops(bundle):
    """The allocator holds more after the loops than before."""
    return runs(
        bundle,
        document(
            loops__allocator_after=lambda found: (
                found | {"bytes_in_use": found["bytes_in_use"] + 2**20}
            )
        ),
    )


@manipulation("GK303", "M03", base="closed")
def allocator_not_read(bundle):
    """The allocator's counters are not handed over."""
    return runs(bundle, document(loops__allocator_before=None, loops__allocator_after=None))


@manipulation("GK303", "M02", base="cpu")
def drains_left_out(bundle):
    """A host clock that never waited for the device."""
    return runs(bundle, document(loops__drains=0))
