"""What a run will measure: a resolved configuration, frozen, independent of Hydra.

`plan.json` of a bundle is exactly one `RunPlan`. `gemm-kit plan --out` writes one,
`gemm-kit run --plan` measures one.
"""

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any, Literal

from kit.errors import UsageError
from kit.number_format import number_format
from kit.records import from_json
from kit.workload import Workload, misnamed, with_batch

Division = Literal["closed", "open"]
Availability = Literal["available", "preview", "rdi"]
TestTypeName = Literal["fixed_power", "fixed_frequency"]
Fill = Literal["uniform", "zero"]
Platform = Literal["cpu", "cuda"]
DispatchMode = Literal["single", "unrolled", "device_loop"]
Implementation = Literal["library", "triton"]
TimingMethod = Literal["cuda_events", "external_profiler", "host_clock"]
CounterTool = Literal["none", "ncu", "xla"]

MOST_ATTEMPTS = 9
MOST_RUNS = 1000
"""Runs of one bundle on all devices: what its claims may list, and its tables hold."""
NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,63}")


@dataclass(frozen=True, slots=True)
class Submission:
    """Who submits what, where. `challenge` is the auditor's hexadecimal nonce, or null."""

    submitter: str
    division: Division
    availability: Availability
    system_id: str
    challenge: str | None

    @property
    def folder(self) -> PurePosixPath:
        """Where the submitter's bundles from this system lie in a submission tree."""
        return PurePosixPath(self.division, self.submitter, self.system_id)


@dataclass(frozen=True, slots=True)
class Declaration:
    """What the submitter says of the system beyond what the kit reads; null: not declared."""

    system_name: str | None
    host_processors_per_node: int | None
    cooling: str | None
    hw_notes: str | None
    sw_notes: str | None


@dataclass(frozen=True, slots=True)
class KindOfTest:
    """The guideline's two kinds of test. `clock_mhz` is the clock a fixed-frequency test holds.

    The kit sets it, as root, if `lock`; else the operator does. It verifies it always.
    """

    name: TestTypeName
    fill: Fill
    clock_mhz: int | None
    lock: bool


@dataclass(frozen=True, slots=True)
class Backend:
    """Who multiplies. `name` is a module of `kit.backends`.

    `implementation` says whose GEMM kernels XLA may use: the vendor library's, Triton's, or the
    faster ones in a pilot. `tuning_attempts` counts the fresh processes that look for each case's
    program on each GPU before its first run: XLA tunes in the first, and the others compile the
    library's other algorithms, by rank; with 0 every run tunes for itself.
    """

    name: str
    platform: Platform
    dispatch: Literal["auto", DispatchMode]
    implementation: Literal[Implementation, "best"]
    tuning_attempts: int


@dataclass(frozen=True, slots=True)
class Timing:
    """How time is taken. `method` is a module of `kit.timing`; `windows` cut the profiling."""

    method: TimingMethod
    windows: int


@dataclass(frozen=True, slots=True)
class Telemetry:
    """Who reads the machine. `source` is a module of `kit.telemetry`; periods in milliseconds."""

    source: str
    clock_period_ms: int
    power_period_ms: int
    energy_period_ms: int


@dataclass(frozen=True, slots=True)
class Counters:
    """Which tool counts DRAM bytes, cache hits and utilisation in a rerun of every case.

    `ncu`: Nsight Compute. `xla`: the samples of JAX's own profiler. `none`: nothing is counted.
    """

    tool: CounterTool


@dataclass(frozen=True, slots=True)
class Phases:
    """Counts and seconds of the phases; minima for compliance live in `kit.ruleset`, not here."""

    idle_s: float
    warm_up_min_launches: int
    warm_up_min_s: float
    warm_up_max_s: float
    profiling_min_launches: int
    profiling_min_s: float
    cool_down_min_s: float
    cool_down_max_s: float


@dataclass(frozen=True, slots=True)
class EvidencePlan:
    """What is taken beside the measurement itself. `kernel_trace` concerns GPUs only."""

    kernel_trace: bool


@dataclass(frozen=True, slots=True)
class Case:
    """One workload in one number format; `id` names its folder in the bundle."""

    id: str
    workload: Workload
    number_format: str


@dataclass(frozen=True, slots=True)
class RunPlan:
    """Everything that decides a bundle's content, but for the machine and the moment.

    `devices` selects GPUs: `all`, or NVML indices or UUIDs separated by commas. `replicates`
    counts fresh processes for each case and device. `seed` feeds the fill together with the
    challenge. `timeout_s` bounds one run.
    """

    edition: str
    seed: int
    replicates: int
    devices: str
    timeout_s: float
    submission: Submission
    system: Declaration
    test_type: KindOfTest
    backend: Backend
    timing: Timing
    telemetry: Telemetry
    counters: Counters
    phases: Phases
    evidence: EvidencePlan
    cases: tuple[Case, ...]
    overrides: tuple[str, ...]

    def case(self, case_id: str) -> Case:
        """The case called `case_id`; KeyError if there is none."""
        for case in self.cases:
            if case.id == case_id:
                return case
        raise KeyError(case_id)

    @classmethod
    def from_json(cls, document: object) -> "RunPlan":
        """Read a frozen plan (`plan.json`).

        Raises:
            UsageError: its form or a value is not that of a plan.
        """
        try:
            plan = from_json(cls, document)
        except ValueError as error:
            raise UsageError(f"plan: {error}") from None
        plan.validate()
        return plan

    def validate(self) -> None:
        """Refuse what no machine could run.

        Raises:
            UsageError: names the value's place and what would do.
        """
        for place, name in (
            ("submission.submitter", self.submission.submitter),
            ("submission.system_id", self.submission.system_id),
        ):
            _require(
                NAME.fullmatch(name) is not None, place, name, "lower-case letters, digits, . _ -"
            )
        challenge = self.submission.challenge
        _require(
            challenge is None or re.fullmatch(r"(?:[0-9a-f]{2}){8,64}", challenge) is not None,
            "submission.challenge", challenge,
            "null, or an even number of hexadecimal digits, 16 to 128",
        )  # fmt: skip
        _require(bool(self.cases), "suite.cases", "[]", "at least one case")
        _require(0 <= self.seed < 2**53, "seed", self.seed, "0 to 2^53 - 1")
        _require(1 <= self.replicates <= 99, "replicates", self.replicates, "1 to 99")
        _require(self.timing.windows >= 1, "timing.windows", self.timing.windows, "at least 1")
        _require(
            0 < self.timeout_s < math.inf,
            "timeout_s",
            self.timeout_s,
            "a positive number of seconds",
        )
        needs_clock = self.test_type.name == "fixed_frequency"
        _require(
            needs_clock == (self.test_type.clock_mhz is not None),
            "test_type.clock_mhz", self.test_type.clock_mhz,
            "the clock in MHz for fixed_frequency, null for fixed_power",
        )  # fmt: skip
        lockable = not self.test_type.lock or (needs_clock and self.backend.platform == "cuda")
        _require(lockable, "test_type.lock", True, "false but for fixed_frequency on a GPU")
        self._validate_tuning()
        self._validate_phases()
        self.require_runs(devices=1)
        seen: set[str] = set()
        for case in self.cases:
            _validate_case(case)
            _require(case.id not in seen, "suite.cases", case.id, "each case once")
            seen.add(case.id)

    def require_runs(self, devices: int) -> None:
        """Refuse, before anything is measured, more runs than one bundle holds.

        Raises:
            UsageError: says how many there are on so many devices.
        """
        runs = len(self.cases) * self.replicates * devices
        shown = f"{len(self.cases)} cases, {self.replicates} replicates, devices: {devices}"
        _require(runs <= MOST_RUNS, f"number of runs ({shown})", runs,
                 f"at most {MOST_RUNS}: make several bundles")  # fmt: skip

    def require_names(self) -> None:
        """Refuse, before anything is measured, a case that is called something else than it is.

        Raises:
            UsageError: says what the name must say.
        """
        for case in self.cases:
            wanted = misnamed(case.workload)
            place = f"case {case.id}: workload.name"
            _require(not wanted, place, case.workload.name, wanted)
            wanted = case_id(case.workload, case.number_format)
            _require(case.id == wanted, "case id", case.id, wanted)

    def _validate_tuning(self) -> None:
        backend = self.backend
        attempts = backend.tuning_attempts
        if backend.platform == "cpu":
            _require(backend.implementation == "library", "backend.implementation",
                     backend.implementation, "library on a CPU")  # fmt: skip
            _require(attempts == 0, "backend.tuning_attempts", attempts, "0 on a CPU")
        _require(0 <= attempts <= MOST_ATTEMPTS, "backend.tuning_attempts", attempts,
                 f"0 to {MOST_ATTEMPTS}")  # fmt: skip
        _require(attempts > 0 or backend.implementation != "best", "backend.tuning_attempts",
                 attempts, "1 or more for implementation best")  # fmt: skip

    def _validate_phases(self) -> None:
        phases = self.phases
        for name in Phases.__dataclass_fields__:
            value = getattr(phases, name)
            _require(0 <= value < math.inf, f"phases.{name}", value, "0 or more, and finite")
        _require(phases.profiling_min_launches >= 1, "phases.profiling_min_launches",
                 phases.profiling_min_launches, "at least 1")  # fmt: skip
        for phase in ("warm_up", "cool_down"):
            low, high = getattr(phases, f"{phase}_min_s"), getattr(phases, f"{phase}_max_s")
            _require(high >= low, f"phases.{phase}_max_s", high, f"at least {phase}_min_s ({low})")


def _validate_case(case: Case) -> None:
    place = f"case {case.id}"
    _require(
        NAME.fullmatch(case.id) is not None, "case id", case.id, "lower-case letters, digits, . _ -"
    )
    row = number_format(case.number_format)
    for name in ("m", "n", "k", "batch"):
        size = getattr(case.workload, name)
        _require(1 <= size <= 2**31 - 1, f"{place}: {name}", size, "1 to 2^31 - 1")
        if name != "batch":
            multiple = row.k_multiple if name == "k" else row.dimension_multiple
            _require(size % multiple == 0, f"{place}: {name}", size,
                     f"a multiple of {multiple} for {row.name}")  # fmt: skip


def case_id(work: Workload, number_format: str) -> str:
    """What a case is called: workload, number format and layout."""
    return f"{work.name}-{number_format}-{work.layout}"


def _require(holds: bool, place: str, found: object, wanted: str) -> None:
    if not holds:
        raise UsageError(f"{place} is {found!r}", hint=f"must be {wanted}")


def build_cases(entries: list[Mapping[str, Any]]) -> tuple[Case, ...]:
    """Cases from `{workload: {name, m, n, k, batch, layout}, number_format}` mappings.

    A layout of `auto` becomes the number format's own, and a name of sizes tells the batch.
    """
    cases = []
    for entry in entries:
        row = number_format(str(entry["number_format"]))
        fields = dict(entry["workload"])
        if fields.get("layout") == "auto":
            fields["layout"] = row.default_layout
        try:
            workload = with_batch(from_json(Workload, fields, "workload"))
        except ValueError as error:
            raise UsageError(str(error)) from None
        cases.append(Case(case_id(workload, row.name), workload, row.name))
    return tuple(cases)
