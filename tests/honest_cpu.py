"""The honest CPU bundle: two small cases on an embedded host, two replicates, open division."""

import numpy as np

from hlo_texts import dequantised_dot, plain_dots
from honest import (
    absent,
    assemble,
    buffers_table,
    evidence,
    hlo_file,
    no_limits,
    operands_of,
    outputs_table,
    rotation_of,
    split,
    utc,
    windows_table,
)
from kit.evidence import (
    Anchor,
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
    no_trace,
)
from kit.fill import sample_seed
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
from kit.trace import BUFFERS, CLOCKS, ENERGY, HOST, OUTPUTS, POWER, WINDOWS, Table
from machines import CORTEX, HOST_ENVIRONMENT, NO_GPU

PLAIN, BATCHED = "small-fp32-nn", "pair-fp64-nt"
MXFP8, NVFP4 = "scaled-mxfp8-nt", "scaled-nvfp4-nt"
REPLICATES = 2
_PERIOD_NS = {PLAIN: 41_000, BATCHED: 55_000, MXFP8: 48_000, NVFP4: 49_000}
_WARM_UP, _PROFILING, _WINDOW = 3_700, 7_400, 370


ENTRIES = (
    {
        "workload": {"name": "small", "m": 96, "n": 64, "k": 128, "batch": 1, "layout": "nn"},
        "number_format": "fp32",
    },
    {
        "workload": {"name": "pair", "m": 64, "n": 48, "k": 32, "batch": 2, "layout": "nt"},
        "number_format": "fp64",
    },
)
SCALED = tuple(
    {
        "workload": {"name": "scaled", "m": 64, "n": 48, "k": 128, "batch": 1, "layout": "nt"},
        "number_format": name,
    }
    for name in ("mxfp8", "nvfp4")
)


def plan(entries, fill):
    found = RunPlan(
        edition="2026.1",
        seed=7,
        replicates=REPLICATES,
        devices="all",
        timeout_s=120.0,
        submission=Submission("example", "open", "rdi", "embedded_host", None),
        system=Declaration(None, None, None, None, None),
        test_type=KindOfTest("fixed_power", fill, None, lock=False),
        backend=Backend("jax_gemm", "cpu", "auto", "library", 0),
        timing=Timing("host_clock", 20),
        telemetry=Telemetry("host", 50, 50, 50),
        counters=Counters("none"),
        phases=Phases(0.5, 3_000, 0.1, 2.0, 7_000, 0.2, 1.0, 5.0),
        evidence=EvidencePlan(kernel_trace=True),
        cases=build_cases(list(entries)),
        overrides=(),
    )
    found.validate()
    return found


def build(entries=ENTRIES, fill="uniform"):
    """The bundle."""
    found = plan(entries, fill)
    runs, hlo, started_ns = {}, {}, 500_000_000
    for case in found.cases:
        rotation = rotation_of(case, CORTEX.cache_bytes)
        gemms = rotation.sets if case.id == BATCHED else 1
        emulated = number_format(case.number_format).block
        text = dequantised_dot(case) if emulated else plain_dots(case, gemms)
        hlo[case.id] = hlo_file(text)
        runs[case.id] = []
        for number in range(1, REPLICATES + 1):
            run = _run(found, case, number, started_ns, (hlo[case.id][0], gemms))
            runs[case.id].append(run)
            started_ns = run.document.ended_ns + 300_000_000
    name = "honest-cpu" if entries is ENTRIES else f"honest-cpu-scaled-{fill}"
    return assemble(name, found, HOST_ENVIRONMENT, runs, hlo)


def _run(found, case, number, started_ns, executable):
    hlo, gemms = executable
    rng = np.random.default_rng([number, case.workload.m])
    idle_ns = started_ns + 1_200_000_000
    start = Anchor(idle_ns + 500_000_000, idle_ns + 500_001_000)
    middle = (start.before_ns + start.after_ns) // 2
    period_ns = _PERIOD_NS[case.id] * (1 + 0.002 * (number - 1))
    warm_up = split(_WARM_UP, int(_WARM_UP * period_ns * 1.01), _WINDOW, rng)
    profiling = split(_PROFILING, int(_PROFILING * period_ns), _WINDOW, rng)
    windows = windows_table(
        middle, warm_up, profiling, run_ahead=0, first_enqueue_ns=start.after_ns + 500
    )
    span_ns = sum(ns for _, ns in (*warm_up, *profiling))
    end = Anchor(middle + span_ns, middle + span_ns + 2_000)
    # Each window is drained, so its last launch is handed over before it ends.
    windows.columns["enqueue_end_ns"] -= 1_000
    operands = operands_of(found, case)
    rotation = rotation_of(case, CORTEX.cache_bytes)
    samples = sample_seed(found.seed, found.submission.challenge, case.id, CORTEX.id, number)
    cool_end = end.after_ns + 1_300_000_000
    host = _host_table(idle_ns, cool_end, rng)
    document = Run(
        case=case.id,
        device=CORTEX.id,
        number=number,
        started_utc=utc(started_ns),
        started_ns=started_ns,
        ended_ns=cool_end + 200_000_000,
        fill_seed=operands.seed,
        sample_seed=samples,
        environment_sha256=environment_digest(HOST_ENVIRONMENT),
        identity=Identity(None, None, None, None),
        executable=Executable(
            hlo=hlo,
            options={},
            gemms_per_call=gemms,
            alias_bytes=gemms * output_bytes(case.workload, number_format(case.number_format)),
            temporary_bytes=0,
            implementation="library",
            autotune=None,
            autotune_reason="XLA tunes nothing on a CPU",
        ),
        dispatch=Dispatch(
            "single" if gemms == 1 else "unrolled", "pilot", 30_000, int(period_ns), ()
        ),
        rotation=rotation,
        loops=Loops(0, "disallow", len(windows), None, None),
        timing=TimingRecord(method="host_clock", start=start, end=end, controls=()),
        phases=PhaseMarks(
            idle_start_ns=idle_ns,
            idle_end_ns=start.before_ns - 1_000,
            warm_up_launches=_WARM_UP,
            warm_up_stop="seconds",
            profiling_launches=_PROFILING,
            cool_down_start_ns=end.after_ns + 1_000,
            cool_down_end_ns=cool_end,
            cool_down_stop="seconds",
        ),
        telemetry=_telemetry(host),
        limits_before=no_limits(NO_GPU),
        limits_after=no_limits(NO_GPU),
    )
    tables = {
        WINDOWS.file: windows,
        BUFFERS.file: buffers_table(operands, rotation.sets),
        OUTPUTS.file: outputs_table(operands, rotation.sets, samples),
        HOST.file: host,
    }
    return evidence(document, tables, no_trace("not_applicable", "a CPU host has no GPU kernels"))


def _host_table(start_ns, end_ns, rng):
    t_ns = np.arange(start_ns, end_ns, 50_000_000, dtype=np.int64)
    rows = np.arange(len(t_ns))
    return Table(
        {
            "t_ns": t_ns,
            "burst_ns": rng.integers(60_000, 120_000, len(t_ns)),
            "cpu_mhz": 2400 - rng.integers(0, 5, len(t_ns)),
            "busy_ms": 5_000_000 + 55 * rows,
            "steal_ms": np.zeros_like(t_ns),
        }
    )


def _telemetry(host):
    missing = "this host offers no such reading"
    return TelemetryRecord(
        source="host",
        process="spawned",
        metrics=(
            *absent((CLOCKS, POWER, ENERGY), "host", "the host source reads no GPU"),
            *(
                Metric(HOST.file, column.name, "ok", "", "procfs", column.description)
                if column.name in host
                else Metric(HOST.file, column.name, "not_found", missing, "sysfs", "")
                for column in HOST.columns
                if column.optional
            ),
        ),
        health=(SamplerHealth(HOST.file, 50_000_000, len(host), 0, 0, 0),),
    )
