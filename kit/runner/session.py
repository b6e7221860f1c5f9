"""One run: compile, fill, warm up, profile, cool down, and collect what proves it.

Knows protocols only; which backend, clock and telemetry there are, the worker decides.
"""

import gc
import time
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from kit.backends import Backend
from kit.evidence import (
    Dispatch,
    Executable,
    Loops,
    PhaseMarks,
    Rotation,
    TimingRecord,
)
from kit.number_format import number_format
from kit.plan import Case, RunPlan
from kit.rotation import input_bytes, output_bytes, sets_required
from kit.ruleset import Ruleset
from kit.runner import dispatch
from kit.runner.phases import (
    Loop,
    Windows,
    cool_down,
    host_slope,
    profile,
    settled_by,
    warm_up,
)
from kit.runner.program import Program, Replay, build_program
from kit.surfaces import SURFACES, Surface
from kit.telemetry.sampler import Sampler
from kit.timeline import mean_period_ns, rows_of_phase
from kit.timing import Clock, Timer
from kit.trace import BUFFERS, OUTPUTS, PROFILING, WINDOWS, Table


@dataclass(frozen=True, slots=True)
class Seeds:
    """Hexadecimal seeds of one run."""

    fill: str
    sample: str


@dataclass(frozen=True, slots=True)
class Measurement:
    """Everything that one session found out, but for the machine's own facts."""

    executable: Executable
    hlo: str
    dispatch: Dispatch
    rotation: Rotation
    loops: Loops
    timing: TimingRecord
    phases: PhaseMarks
    tables: dict[str, Table]


@dataclass(frozen=True, slots=True)
class Session:
    """The parts of one run and where its progress goes."""

    plan: RunPlan
    case: Case
    seeds: Seeds
    cache_bytes: int
    rules: Ruleset
    backend: Backend
    make_timer: Callable[[], Timer]
    telemetry: Sampler
    clock: Clock
    report: Callable[[str], None]
    replay: Replay | None = None

    def run(self) -> Measurement:
        """Measure."""
        plan, backend = self.plan, self.backend
        program = self._build()
        executable, sets = program.executable, program.handover.sets
        self.report("fill")
        backend.allocate(sets, plan.test_type.fill, self.seeds.fill)
        before = backend.addresses()
        contents = backend.buffer_contents()
        timer = self.make_timer()
        # After all that compiles: XLA gives up a program's graphs when it compiles another one, and
        # the first window would make them anew.
        how, period_ns = self._pilot(program)

        self.report("idle")
        gc.collect()
        gc.freeze()
        gc.disable()
        time.sleep(plan.phases.idle_s)  # what the fill and the pilot heated must not count as idle
        idle_start_ns = self.clock()
        time.sleep(plan.phases.idle_s)
        idle = (idle_start_ns, self.clock())

        self.report("warm-up")
        loop = Loop(backend, timer, self.clock, executable.gemms_per_call, Windows([]))
        settled = None
        if plan.telemetry.source == "nvml":
            clock_mhz = plan.test_type.clock_mhz
            settled = settled_by(self.telemetry, self.rules, clock_mhz, self.report)
        compilations = backend.compilations()
        allocator_before = backend.allocator_counters()
        with backend.guard():
            start = timer.start()
            # Every output is sampled afterwards, so that every set has to be used.
            launches = max(plan.phases.warm_up_min_launches, sets)
            phases = replace(plan.phases, warm_up_min_launches=launches)
            stop, warm_up_period_ns = warm_up(loop, phases, period_ns, settled)
            warm_up_launches = loop.windows.launches
            self.report("profiling")
            launches = profile(
                loop, plan.phases, plan.timing.windows, warm_up_period_ns, self.rules
            )
            end = timer.finish(loop.last_output)
        allocator_after = backend.allocator_counters()
        loops = Loops(
            compilations=backend.compilations() - compilations,
            transfer_guard=backend.transfer_guard,
            drains=timer.drains,
            allocator_before=allocator_before,
            allocator_after=allocator_after,
        )
        gc.enable()
        windows, controls = loop.windows.table(timer.durations_ns()), timer.controls()
        if plan.backend.platform != "cpu":
            measured_period_ns = mean_period_ns(rows_of_phase(windows, PROFILING))
            controls += (host_slope(loop, measured_period_ns, self.rules),)

        self.report("cool-down")
        cool_down_start_ns = self.clock()
        cool_down_stop = cool_down(self.clock, plan.phases, self.telemetry, idle, self.rules)
        cool_down_end_ns = self.clock()
        self.report("evidence")
        tables = {
            WINDOWS.file: windows,
            BUFFERS.file: buffers_table(before, backend.addresses(), contents),
            OUTPUTS.file: backend.sample_outputs(self.seeds.sample),
        }
        return Measurement(
            executable=executable,
            hlo=program.hlo,
            dispatch=how,
            rotation=self._rotation(sets),
            loops=loops,
            timing=TimingRecord(timer.method, start, end, controls),
            phases=PhaseMarks(
                idle_start_ns=idle[0],
                idle_end_ns=idle[1],
                warm_up_launches=warm_up_launches,
                warm_up_stop=stop,
                profiling_launches=launches,
                cool_down_start_ns=cool_down_start_ns,
                cool_down_end_ns=cool_down_end_ns,
                cool_down_stop=cool_down_stop,
            ),
            tables=tables,
        )

    def _rotation(self, sets: int) -> Rotation:
        row = number_format(self.case.number_format)
        return Rotation(
            sets=sets,
            cache_bytes=self.cache_bytes,
            input_bytes_per_set=input_bytes(self.case.workload, row),
            output_bytes_per_set=output_bytes(self.case.workload, row),
        )

    def _build(self) -> Program:
        """Compile what will be launched."""
        plan, backend = self.plan, self.backend
        implementation = plan.backend.implementation
        trial = dispatch.Trial(
            "library" if implementation == "best" else implementation,
            sets_required(self._rotation(1).input_bytes_per_set, self.cache_bytes),
            plan.test_type.fill,
            self.seeds.fill,
        )
        chooser = dispatch.Chooser(plan.backend, self.rules, self.clock, self.report)
        return build_program(chooser, self.replay, backend, trial)

    def _pilot(self, program: Program) -> tuple[Dispatch, float]:
        """Time a first few calls: (the document, ns for one GEMM)."""
        self.report("pilot")
        per_call = program.executable.gemms_per_call
        found = dispatch.pilot(self.backend, per_call, self.clock)
        how = dispatch.record(program.handover, found, per_call, program.candidates)
        return how, found.period_ns / per_call


def buffers_table(
    before: dict[str, list[int]],
    after: dict[str, list[int]],
    contents: dict[str, NDArray[np.int64]],
) -> Table:
    """Assemble `kit.trace.BUFFERS`: by surface and set, addresses above the lowest one.

    `contents` has a row for each buffer but D's, which are neither counted nor summed.
    """
    names = [name for name in SURFACES if name in before]
    lowest = min(min(before[name]) for name in names)
    sets = len(before["d"])
    operands = np.repeat([SURFACES.index(name) for name in names], sets)
    columns = {
        "operand": operands,
        "set": np.tile(np.arange(sets), len(names)),
        "address_before": _flat(before, names) - lowest,
        "address_after": _flat(after, names) - lowest,
    }
    for name, values in contents.items():
        columns[name] = np.zeros(len(operands), np.int64)
        columns[name][operands != SURFACES.index("d")] = values
    return Table({column.name: columns[column.name].astype(np.int64) for column in BUFFERS.columns})


def _flat(addresses: dict[str, list[int]], names: list[Surface]) -> NDArray[np.int64]:
    return np.array([address for name in names for address in addresses[name]], np.int64)
