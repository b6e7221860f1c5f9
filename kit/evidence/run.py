"""`run.json`: everything of one run but its raw series."""

from dataclasses import dataclass
from typing import Literal

from kit.evidence.status import MetricStatus
from kit.plan import DispatchMode, Implementation, TimingMethod

StopReason = Literal["settled", "seconds", "cap"]
CoolDownStop = Literal["idle", "seconds", "cap"]


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
    of that HLO. `period_ns` is one GEMM's period in the tuner's last race: that of all programs, or
    a final of those near the fastest. What is null is so for the `reason`.
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
