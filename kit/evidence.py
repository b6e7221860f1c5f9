"""The documents of a bundle beside its plan and raw series: one frozen dataclass each.

The runner fills them, the checker judges them. Every time is in nanoseconds of CLOCK_MONOTONIC
since the bundle's start, so documents and series of one bundle share one time line. A value that
the machine could not supply is null, and `missing` says why.
"""

import hashlib
import json
from dataclasses import dataclass, replace
from typing import Literal

from kit.plan import DispatchMode, Implementation, TimingMethod
from kit.records import to_json

Status = Literal[
    "measured",
    "out_of_memory",
    "unsupported",
    "crashed",
    "timed_out",
    "device_error",
    "interrupted",
    "untuned",
]
TraceStatus = Literal["ok", "not_asked", "not_applicable", "failed"]
StopReason = Literal["settled", "seconds", "cap"]
CoolDownStop = Literal["idle", "seconds", "cap"]
MetricStatus = Literal[
    "ok", "not_supported", "no_permission", "not_found", "library_missing", "error"
]
JournalEvent = Literal["bundle_started", "run_started", "run_ended", "bundle_ended"]


@dataclass(frozen=True, slots=True)
class KitVersion:
    """Which kit measured: version, git commit of its checkout (null when installed), cleanness."""

    version: str
    commit: str | None
    clean: bool | None


@dataclass(frozen=True, slots=True)
class DeviceFacts:
    """What one device says of itself.

    `id` is `cpu` or `gpu-` and 12 hexadecimal digits of the SHA-256 of its UUID. `cache_bytes` is
    the last-level cache a GEMM's operands could stay in: L2 on a GPU, L3 on a host.
    """

    id: str
    kind: Literal["gpu", "cpu"]
    name: str
    compute_capability: str | None
    sm_count: int | None
    cache_bytes: int
    memory_bytes: int
    memory_bus_bits: int | None
    maximum_graphics_mhz: int | None
    maximum_memory_mhz: int | None
    vbios_version: str | None
    inforom_version: str | None
    gsp_version: str | None
    ecc_enabled: bool | None
    mig_enabled: bool | None
    persistence_enabled: bool | None
    compute_mode: str | None
    virtualization: str | None
    pcie_generation: int | None
    pcie_width: int | None
    missing: dict[str, str]


@dataclass(frozen=True, slots=True)
class Environment:
    """The measured fingerprint of the machine: allow-listed facts, no names, no serials.

    `packages` maps distribution names to versions, `libraries` CUDA's components to versions,
    `settings` JAX and XLA settings and the allow-listed environment variables that are set.
    """

    kit: KitVersion
    python: str
    packages: dict[str, str]
    libraries: dict[str, str]
    settings: dict[str, str]
    operating_system: str
    kernel: str
    machine: str
    cpu_model: str
    cpu_logical_cores: int
    memory_bytes: int
    virtualization: str | None
    devices: tuple[DeviceFacts, ...]


@dataclass(frozen=True, slots=True)
class SystemDescription:
    """What the submitter declares about the system, in MLPerf's field names, typed.

    Null in an optional field means: not declared.
    """

    system_name: str
    submitter: str
    division: Literal["closed", "open"]
    status: Literal["available", "preview", "rdi"]
    number_of_nodes: int
    host_processor_model_name: str
    host_processors_per_node: int | None
    host_processor_core_count: int | None
    host_memory_capacity_bytes: int
    accelerator_model_name: str | None
    accelerators_per_node: int
    accelerator_memory_capacity_bytes: int | None
    framework: str
    operating_system: str
    cooling: str | None
    hw_notes: str | None
    sw_notes: str | None


@dataclass(frozen=True, slots=True)
class JournalEntry:
    """One line of the append-only journal of every attempt. `run` is null for the bundle itself."""

    sequence: int
    t_ns: int
    event: JournalEvent
    case: str | None
    device: str | None
    run: int | None
    status: Status | None
    reason: str | None


@dataclass(frozen=True, slots=True)
class ClockLock:
    """How the kit locked one device's graphics clock and reset it, as NVML answered.

    `reset_by` is who reset it: the guard process that held the lock, or the launcher because the
    guard had died. Memory clocks are never locked.
    """

    device: str
    requested_mhz: int
    set_ns: int
    set_status: MetricStatus
    set_reason: str
    reset_ns: int
    reset_status: MetricStatus
    reset_reason: str
    reset_by: Literal["guard", "launcher"]


@dataclass(frozen=True, slots=True)
class Journal:
    """Every attempt of the bundle in order, failed ones included; `started_utc` is RFC 3339.

    `clock_locks` holds one entry for each device whose clock the kit locked.
    """

    started_utc: str
    entries: tuple[JournalEntry, ...]
    clock_locks: tuple[ClockLock, ...]


@dataclass(frozen=True, slots=True)
class Identity:
    """The device's identity as CUDA and as NVML see it; UUIDs as 12 digits of their SHA-256."""

    cuda_uuid_hash: str | None
    cuda_pci_bus_id: str | None
    nvml_uuid_hash: str | None
    nvml_pci_bus_id: str | None


@dataclass(frozen=True, slots=True)
class Executable:
    """What was compiled. `hlo` names a file beside `case.json`: the normalised optimised HLO.

    `implementation` says whose GEMM kernels it may use; on a CPU `library` stands for XLA's choice.
    `options` are XLA's compiler options of this executable, paths cut down to file names.
    `autotune` names a file beside `case.json`: the autotune results that were replayed; null where
    there were none, for `autotune_reason`. Byte counts are those of XLA's memory
    analysis; `alias_bytes` is the output written in place into donated buffers.
    """

    hlo: str
    options: dict[str, str]
    gemms_per_call: int
    alias_bytes: int
    temporary_bytes: int
    implementation: Implementation
    autotune: str | None
    autotune_reason: str


@dataclass(frozen=True, slots=True)
class Candidate:
    """A program that the tuner compiled in a fresh process, its `attempt`, or failed to compile.

    `hlo` is the name that its normalised HLO's file would have. `gemms` and `extra` are the census
    of that HLO. `period_ns` is one GEMM's period in the tuner's pilot. What is null is so for the
    `reason`.
    """

    attempt: int
    implementation: Implementation
    mode: DispatchMode
    hlo: str | None
    gemms: dict[str, int]
    extra: dict[str, int]
    period_ns: float | None
    reason: str


@dataclass(frozen=True, slots=True)
class Dispatch:
    """How launches were handed over, and why.

    `single`: one GEMM a call. `unrolled`: one for each set of a chunk. `device_loop`: all sets,
    several times over. The pilot measured one call's host cost and one GEMM's period in this mode.
    `candidates` are the programs among which the tuner chose; empty where no tuner ran.
    """

    mode: DispatchMode
    reason: str
    pilot_enqueue_ns: int | None
    pilot_period_ns: int | None
    candidates: tuple[Candidate, ...]


@dataclass(frozen=True, slots=True)
class Rotation:
    """Buffer sets and what they had to outgrow."""

    sets: int
    cache_bytes: int
    input_bytes_per_set: int
    output_bytes_per_set: int


@dataclass(frozen=True, slots=True)
class Loops:
    """What else happened between the first warm-up and the last profiling launch.

    `allocator_*` are the device allocator's counters; null where the platform has none.
    `transfer_guard` is JAX's guard level in force. `drains` counts host waits for the device
    inside the loops (the host clock needs one for each window, events need none).
    """

    compilations: int
    transfer_guard: str
    drains: int
    allocator_before: dict[str, int] | None
    allocator_after: dict[str, int] | None


@dataclass(frozen=True, slots=True)
class Anchor:
    """A moment when the device was drained: host time just before and just after it."""

    before_ns: int
    after_ns: int


@dataclass(frozen=True, slots=True)
class Control:
    """An independent timing of the same work: `launches` took `duration_ns`.

    `dlpack_events`: events on a stream of their own that waits for D, around all profiling windows.
    `host_slope`: T(2N) - T(N) by the host clock after the last window; `launches` is N.
    """

    name: Literal["dlpack_events", "host_slope"]
    launches: int
    duration_ns: int


@dataclass(frozen=True, slots=True)
class TimingRecord:
    """How time was taken: the method used, its two anchors and its controls.

    `start` is the drained moment before the first warm-up launch, which opens the first window;
    `end` the one after the last window.
    """

    method: TimingMethod
    start: Anchor
    end: Anchor
    controls: tuple[Control, ...]


@dataclass(frozen=True, slots=True)
class PhaseMarks:
    """Host times of the phases and what ended them.

    Warm-up and profiling are bounded by the windows, whose place on the time line follows from
    the anchors (`kit.timeline`). `profiling_launches` was fixed before the first of them.
    """

    idle_start_ns: int
    idle_end_ns: int
    warm_up_launches: int
    warm_up_stop: StopReason
    profiling_launches: int
    cool_down_start_ns: int
    cool_down_end_ns: int
    cool_down_stop: CoolDownStop


@dataclass(frozen=True, slots=True)
class Metric:
    """One telemetry column: available, or the reason why not. `semantics` says what it averages."""

    table: str
    column: str
    status: MetricStatus
    reason: str
    source: str
    semantics: str


@dataclass(frozen=True, slots=True)
class SamplerHealth:
    """How one table was sampled. `lost` rows did not fit; `failed` bursts had an error."""

    table: str
    period_ns: int
    bursts: int
    overruns: int
    failed: int
    lost: int


@dataclass(frozen=True, slots=True)
class TelemetryRecord:
    """Who read the machine, what it could read and how well it kept its schedule."""

    source: str
    process: Literal["spawned", "none"]
    metrics: tuple[Metric, ...]
    health: tuple[SamplerHealth, ...]


@dataclass(frozen=True, slots=True)
class Limits:
    """Settings of the device that must not change under a run; powers in mW, clocks in MHz."""

    power_enforced_mw: int | None
    power_default_mw: int | None
    power_minimum_mw: int | None
    power_maximum_mw: int | None
    other_processes: int | None
    ecc_errors: int | None
    missing: dict[str, str]


@dataclass(frozen=True, slots=True)
class Run:
    """One fresh process on one device: everything but its raw series.

    `number` counts from 1 within a case and device. `fill_seed` and `sample_seed` are hexadecimal,
    derived by `kit.fill` from plan, challenge, case, device and run.
    """

    case: str
    device: str
    number: int
    started_utc: str
    started_ns: int
    ended_ns: int
    fill_seed: str
    sample_seed: str
    environment_sha256: str
    identity: Identity
    executable: Executable
    dispatch: Dispatch
    rotation: Rotation
    loops: Loops
    timing: TimingRecord
    phases: PhaseMarks
    telemetry: TelemetryRecord
    limits_before: Limits
    limits_after: Limits


@dataclass(frozen=True, slots=True)
class KernelTrace:
    """The kernels of a few calls, traced in a process of its own after the run (`trace.json`).

    `names` are what `name` of `kit.trace.KERNELS` counts into. `launches` is how often the GEMM's
    kernel `gemm_name` ran in the `calls` traced. `graphics_mhz` is the mean clock meanwhile, null
    where it was not read. Without a trace the counts are 0, `names` is empty, and `reason` says
    why there is none.
    """

    status: TraceStatus
    reason: str
    calls: int
    launches: int
    names: tuple[str, ...]
    gemm_name: str | None
    graphics_mhz: float | None


def no_trace(status: TraceStatus, reason: str) -> KernelTrace:
    """The record that nothing was traced, and why."""
    return KernelTrace(status, reason, 0, 0, (), None, None)


@dataclass(frozen=True, slots=True)
class RunOutcome:
    """How one attempt ended. A run with status `measured` has a folder, others only this line."""

    device: str
    number: int
    status: Status
    reason: str


@dataclass(frozen=True, slots=True)
class CaseRecord:
    """One case and the outcome of each of its attempts (`case.json`)."""

    id: str
    runs: tuple[RunOutcome, ...]


@dataclass(frozen=True, slots=True)
class RunMetrics:
    """The headline figures of one run, derived by `kit.metrics` and stored as claims.

    Periods in ns per launch, rate in FLOP/s. `spread` is the standard deviation of the windows'
    periods over their mean. `executed` is the arithmetic that the program's products ran in,
    `native` whether it is the number format's own, with no other work beside the products
    (`kit.execution`). Telemetry figures are means over exactly the profiling interval;
    null where the series is missing or the interval holds too few samples. `kernel_ns` is the
    median device time of one GEMM with its own helper kernels, by the kernel trace; null without.

    `sol_fraction` is the guideline's: at the sampled clocks, which are the locked ones in a test
    at a fixed frequency. The shares of speed of light at the device's maximum clocks and of the
    data sheet's dense rate stand beside it and judge nothing. Energy is that between the energy
    counter's edges.
    """

    device: str
    number: int
    launches: int
    mean_period_ns: float
    median_period_ns: float
    spread: float
    flops_per_s: float
    executed: str
    native: bool
    graphics_mhz: float | None
    memory_mhz: float | None
    power_average_mw: float | None
    power_instant_mw: float | None
    power_energy_mw: float | None
    gpu_c: float | None
    memory_c: float | None
    sol_row: str | None
    sol_ns: float | None
    sol_fraction: float | None
    kernel_ns: float | None
    period_over_kernel: float | None
    sol_fraction_at_maximum_clock: float | None
    datasheet_fraction: float | None
    energy_per_gemm_j: float | None
    flops_per_s_per_watt: float | None


@dataclass(frozen=True, slots=True)
class CaseMetrics:
    """A case's headline: the median over its runs, and their range over that median."""

    id: str
    runs: tuple[RunMetrics, ...]
    period_ns: float | None
    flops_per_s: float | None
    replicate_range: float | None


@dataclass(frozen=True, slots=True)
class Results:
    """`derived/results.json`: what the submitter claims. The checker recomputes all of it."""

    edition: str
    cases: tuple[CaseMetrics, ...]


def environment_digest(environment: Environment) -> str:
    """SHA-256 of what does not belong to one device: equal in all runs of an unchanged machine."""
    shared = to_json(replace(environment, devices=()))
    return hashlib.sha256(json.dumps(shared, sort_keys=True).encode()).hexdigest()
