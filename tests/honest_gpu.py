"""The honest GPU bundle: two recorded tests of one H200, each as three replicates.

The first replicate holds the recorded windows to the nanosecond. The others differ from it by about
0.1 % and hold the steady part of the series begun at another moment, as fresh processes would. The
decode case carries the series of 16 rows, which 8 rows share: both wait for the same 134 MB of
weights. The load goes on for as long as the kit takes its host slope.
"""

import math
from dataclasses import replace
from pathlib import Path

import numpy as np

from hlo_texts import library_gemms
from honest import (
    absent,
    assemble,
    buffers_table,
    evidence,
    hlo_file,
    operands_of,
    outputs_table,
    rotation_of,
    split,
    utc,
    windows_table,
)
from honest_kernels import kernels
from kit.bundle import layout
from kit.evidence import (
    Anchor,
    Candidate,
    Control,
    Dispatch,
    Executable,
    Identity,
    Loops,
    Metric,
    PhaseMarks,
    Run,
    SamplerHealth,
    TelemetryRecord,
    TimingRecord,
    environment_digest,
)
from kit.fill import sample_seed
from kit.metrics import derive_run
from kit.number_format import number_format
from kit.plan import (
    Backend,
    Counters,
    Declaration,
    EvidencePlan,
    KindOfTest,
    Phases,
    RunPlan,
    Submission,
    Telemetry,
    Timing,
    build_cases,
)
from kit.rotation import output_bytes
from kit.trace import BUFFERS, CLOCKS, ENERGY, HOST, KERNELS, OUTPUTS, POWER, WINDOWS, Table
from machines import H200, H200_ENVIRONMENT, H200_LIMITS, UUID_HASH
from recorded import CLOCK_EVERY, ENERGY_EVERY, POWER_EVERY, prolonged, recording

GUIDELINE, DECODE = "guideline-bf16-nn", "decode-bf16-nn"
RECORDINGS = {GUIDELINE: "guideline_bf16", DECODE: "decode_16x8192x8192"}
GEMMS_PER_CALL = {GUIDELINE: 1, DECODE: 2}
REPLICATES = 3
FIXED_POWER = KindOfTest("fixed_power", "uniform", None, lock=False)
HELD_CLOCK = KindOfTest("fixed_frequency", "zero", 1980, lock=False)
AUTOTUNE = (Path(__file__).parent / "data" / "h200" / "autotune.txt").read_text()
WINDOWS_MERGED = {GUIDELINE: 1, DECODE: 2}
"""Recorded windows that stand for one of the plan's forty; those left over count as warm-up."""
SLOPE_NS, SLOPE_SPANS = 1_000_000_000, 4
"""What the host slope takes: it launches so many times over what lasts a second."""
SETTLED_NS = 2_500_000_000
"""From the first launch on: the power average of one second has forgotten the idle phase."""
BETWEEN_MW = 200_000
"""What the device draws from one run's telemetry to the next: it traces, compiles and fills."""
START_UP_NS = 9_000_000_000
"""From the start of a run to its first telemetry: imports, compilation, filling."""


def plan_of(division, kind, case_ids, tool):
    plan = RunPlan(
        edition="2026.1",
        seed=20261129,
        replicates=REPLICATES,
        devices="all",
        timeout_s=900.0,
        submission=Submission("example", division, "available", "h200_sxm", None),
        system=Declaration("One H200 SXM", 1, "air", None, None),
        test_type=kind,
        backend=Backend("jax_gemm", "cuda", "auto", "best", 2),
        timing=Timing("cuda_events", 40),
        telemetry=Telemetry("nvml", 20, 60, 200),
        counters=Counters(tool),
        phases=Phases(1.5, 10_000, 3.0, 60.0, 4_000, 2.574, 1.0, 30.0),
        evidence=EvidencePlan(kernel_trace=True),
        cases=build_cases(
            [
                {
                    "workload": {
                        "name": name,
                        "m": m,
                        "n": 8192,
                        "k": k,
                        "batch": 1,
                        "layout": "auto",
                    },
                    "number_format": "bf16",
                }
                for name, m, k in (("guideline", 8192, 16384), ("decode", 8, 8192))
            ]
        ),
        overrides=("suite=example",),
    )
    plan = replace(plan, cases=tuple(case for case in plan.cases if case.id in case_ids))
    plan.validate()
    return plan


def build(division, kind=FIXED_POWER, case_ids=(GUIDELINE, DECODE), tool="ncu"):
    """The bundle in the given division."""
    plan = plan_of(division, kind, case_ids, tool)
    runs, hlo, started_ns, run = {}, {}, 1_000_000_000, None
    for case in plan.cases:
        hlo[case.id] = hlo_file(library_gemms(case, GEMMS_PER_CALL[case.id]))
        runs[case.id] = []
        for number in range(1, REPLICATES + 1):
            run = continued(_run(plan, case, number, started_ns, hlo[case.id][0]), run)
            runs[case.id].append(run)
            started_ns = run.document.ended_ns + 2_000_000_000
    return assemble(
        f"honest-gpu-{division}-{kind.name}{'' if tool == 'ncu' else '-uncounted'}",
        plan,
        H200_ENVIRONMENT,
        runs,
        hlo,
        [(layout.autotune_name(AUTOTUNE), AUTOTUNE)],
    )


def continued(run, before):
    """The run with the device's energy counter where the run before has left it, and a bit on."""
    if before is None:
        return run
    last, own = before.tables[ENERGY.file], run.tables[ENERGY.file]
    meanwhile_s = int(own["t_ns"][0] - last["t_ns"][-1]) * 1e-9
    shift = last["energy_mj"][-1] + round(BETWEEN_MW * meanwhile_s) - own["energy_mj"][0]
    table = Table(own.columns | {"energy_mj": own["energy_mj"] + shift})
    return replace(run, tables=run.tables | {ENERGY.file: table})


def _candidates(mode, gemms, hlo, period_ns):
    """Two tunings of the library, the second one slower, and a slower Triton."""
    other, triton = "0123456789abcdef.hlo.txt", "fedcba9876543210.hlo.txt"
    library = {"__cublas$lt$matmul": gemms}
    return (
        Candidate(1, "library", mode, hlo, library, {}, period_ns, ""),
        Candidate(1, "triton", mode, triton, {"fusion": gemms}, {}, period_ns * 1.3, ""),
        Candidate(2, "library", mode, other, library, {}, period_ns * 1.04, ""),
    )


def _run(plan, case, number, started_ns, hlo):
    recorded = _forty_windows(recording(RECORDINGS[case.id]), WINDOWS_MERGED[case.id])
    recorded = prolonged(recorded, SLOPE_SPANS * SLOPE_NS)
    rng = np.random.default_rng([number, case.workload.m])
    origin_ns = started_ns + START_UP_NS
    marks = {name: origin_ns + at for name, at in recorded.marks.items()}
    start = Anchor(marks["warmup"] - 20_000, marks["warmup"] + 20_000)
    profiling = _profiling(recorded, number, rng)
    loops_end_ns = marks["cool"] - SLOPE_SPANS * SLOPE_NS
    span_ns = loops_end_ns - marks["warmup"]
    profiling_ns = sum(ns for _, ns in profiling)
    size = recorded.windows[0][0]
    gemms = GEMMS_PER_CALL[case.id]
    windows = windows_table(
        marks["warmup"],
        split(recorded.warm_launches, span_ns - profiling_ns, size, rng),
        profiling,
        run_ahead=32 * gemms,
        first_enqueue_ns=start.after_ns + 2_000,
    )
    launches = sum(n for n, _ in profiling)
    operands = operands_of(plan, case)
    rotation = rotation_of(case, H200.cache_bytes)
    samples = sample_seed(plan.seed, plan.submission.challenge, case.id, H200.id, number)
    tables = {
        WINDOWS.file: windows,
        BUFFERS.file: buffers_table(operands, rotation.sets),
        OUTPUTS.file: outputs_table(operands, rotation.sets, samples),
    } | {
        file: _resampled(table, recorded.marks, origin_ns, number, rng)
        for file, table in recorded.tables.items()
    }
    counters = {"bytes_in_use": 2_147_483_648, "bytes_reserved": 0, "num_allocs": 6 + number,
                "pool_bytes": 4_294_967_296}  # fmt: skip
    period_ns = profiling_ns / launches
    slope_launches = math.ceil(SLOPE_NS / period_ns / gemms) * gemms
    mode = "single" if gemms == 1 else "unrolled"
    document = Run(
        case=case.id,
        device=H200.id,
        number=number,
        started_utc=utc(started_ns),
        started_ns=started_ns,
        ended_ns=marks["end"] + 3_000_000_000,
        fill_seed=operands.seed,
        sample_seed=samples,
        environment_sha256=environment_digest(H200_ENVIRONMENT),
        identity=Identity(UUID_HASH, "0000:00:06.0", UUID_HASH, "00000000:00:06.0"),
        executable=Executable(
            hlo=hlo,
            options={
                "xla_gpu_enable_triton_gemm": "False",
                "xla_gpu_load_autotune_results_from": layout.autotune_name(AUTOTUNE),
                "xla_gpu_require_complete_aot_autotune_results": "True",
            },
            gemms_per_call=gemms,
            alias_bytes=gemms * output_bytes(case.workload, number_format(case.number_format)),
            temporary_bytes=33_554_432,
            implementation="library",
            autotune=layout.autotune_name(AUTOTUNE),
            autotune_reason="",
        ),
        dispatch=Dispatch(
            mode, "pilot", 40_000, int(period_ns), _candidates(mode, gemms, hlo, period_ns)
        ),
        rotation=rotation,
        loops=Loops(
            0, "disallow", 0, counters, counters | {"num_allocs": counters["num_allocs"] + 9}
        ),
        timing=TimingRecord(
            method="cuda_events",
            start=start,
            end=Anchor(loops_end_ns + 30_000, loops_end_ns + 90_000),
            controls=(
                Control("dlpack_events", launches, round(profiling_ns * 1.0001)),
                Control("host_slope", slope_launches, round(period_ns * slope_launches * 1.001)),
            ),
        ),
        phases=PhaseMarks(
            idle_start_ns=marks["idle"],
            idle_end_ns=start.before_ns - 1_000_000,
            warm_up_launches=recorded.warm_launches,
            warm_up_stop="settled",
            profiling_launches=launches,
            cool_down_start_ns=marks["cool"] + 100_000,
            cool_down_end_ns=marks["end"],
            cool_down_stop="idle",
        ),
        telemetry=_telemetry(tables),
        limits_before=H200_LIMITS,
        limits_after=H200_LIMITS,
    )
    figures = derive_run(case, H200, document, tables, None)
    trace, tables[KERNELS.file] = kernels(
        figures.mean_period_ns, 128 // gemms, gemms, [number, gemms], mhz=figures.graphics_mhz
    )
    return evidence(document, tables, trace)


def _forty_windows(recorded, merged):
    """The recording with its last windows merged so that forty are left, the others warm-up."""
    size = recorded.windows[0][0]
    kept = [entry for entry in recorded.windows if entry[0] == size][-40 * merged :]
    windows = tuple(
        tuple(map(sum, zip(*kept[i : i + merged], strict=True)))
        for i in range(0, len(kept), merged)
    )
    before = sum(n for n, _ in recorded.windows) - sum(n for n, _ in windows)
    return replace(recorded, windows=windows, warm_launches=recorded.warm_launches + before)


def _profiling(recorded, number, rng):
    if number == 1:
        return recorded.windows
    factor = 1 + (0.0012, -0.0009)[number - 2]
    shuffled = rng.permutation(recorded.windows).tolist()
    return tuple((n, round(ns * factor * rng.normal(1.0, 2e-4))) for n, ns in shuffled)


def _resampled(table, recorded_marks, origin_ns, number, rng):
    columns = {name: values.copy() for name, values in table.columns.items()}
    if number > 1:
        _begin_elsewhere(columns, recorded_marks, number)
    columns["t_ns"] += origin_ns
    if number > 1:
        columns["burst_ns"] = (columns["burst_ns"] * rng.uniform(0.9, 1.1, len(table))).astype(
            np.int64
        )
        for name in ("power_instant_mw", "power_average_mw"):
            if name in columns:
                # A register holds its value until its next step.
                step = np.cumsum(np.diff(columns[name], prepend=columns[name][0]) != 0)
                columns[name] += 300 * number + rng.integers(-50, 51, len(table))[step]
        if "graphics_mhz" in columns:  # one 15 MHz step more or less in a tenth of the capped rows
            step = 15 * rng.integers(-1, 2, len(table)) * (rng.random(len(table)) < 0.1)
            step[columns["graphics_mhz"] == H200.maximum_graphics_mhz] = 0
            for name in ("graphics_mhz", "sm_mhz"):
                columns[name] += step
    return Table(columns)


def _begin_elsewhere(columns, marks, number):
    """The steady readings, begun a third later for each replicate and gone round at their end.

    That is more than 6 s, the shifts at which GK604 compares runs.
    """
    steady = slice(
        *np.searchsorted(
            columns["t_ns"], [marks["warmup"] + SETTLED_NS, marks["cool"] - 200_000_000]
        )
    )
    rows = (steady.stop - steady.start) * (number - 1) // REPLICATES
    for name in ("graphics_mhz", "sm_mhz", "power_instant_mw", "power_average_mw"):
        if name in columns:
            columns[name][steady] = np.roll(columns[name][steady], -rows)


def _telemetry(tables):
    contracts = (CLOCKS, POWER, ENERGY)
    every = {CLOCKS.file: CLOCK_EVERY, POWER.file: POWER_EVERY, ENERGY.file: ENERGY_EVERY}
    return TelemetryRecord(
        source="nvml",
        process="spawned",
        metrics=(
            *(
                Metric(contract.file, column.name, "ok", "", "nvml", column.description)
                for contract in contracts
                for column in contract.columns
                if column.optional
            ),
            *absent((HOST,), "nvml", "NVML reads the GPU, not the host"),
        ),
        health=tuple(
            SamplerHealth(c.file, 20_000_000 * every[c.file], len(tables[c.file]), 0, 0, 0)
            for c in contracts
        ),
    )
