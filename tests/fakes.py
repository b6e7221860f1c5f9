"""Hardware that we lack: a device that takes a fixed time per GEMM, and telemetry that is given."""

import time
from contextlib import nullcontext
from pathlib import Path

import numpy as np

from kit.evidence import Anchor, Executable
from kit.trace import BINS, OUTPUTS, Table

FAKE_HLO = "HloModule fake\n\nENTRY %main () -> f32[] {\n  ROOT %c = f32[] constant(0)\n}\n"


class FakeBackend:
    """A device whose calls cost the host `enqueue_s` and the device `gemm_s` for each GEMM."""

    transfer_guard = "disallow"

    def __init__(self, gemm_s=0.001, enqueue_s=0.0, programs=None):
        self.gemm_s = gemm_s
        self.programs = programs or {}
        """What else implementations compile to: (HLO text or an exception, seconds a GEMM).

        An exception in place of the seconds is what a launch ends with; its outputs are lost.
        """
        self._is_spoilt = False
        self.enqueue_s = enqueue_s
        self.per_call = 1
        self.sets = 0
        self.busy_until = time.monotonic()
        self.events = []
        self.launched = 0
        self.graphs = 0
        """How often the launched program's graphs were made."""
        self._has_graph = False

    def drop_graphs(self):
        """XLA gives up a program's graphs when it compiles another one."""
        self._has_graph = False

    def guard(self):
        return nullcontext()

    def libraries(self):
        return {}

    def settings(self):
        return {}

    def compile(self, mode, sets, build):
        from kit.rotation import sets_per_call, trips_per_call

        self.per_call = sets_per_call(mode, sets) * trips_per_call(mode)
        self.events.append(("compile", mode, sets, build))
        hlo, _ = self.programs.get(build.implementation, (FAKE_HLO, self.gemm_s))
        if isinstance(hlo, Exception):
            raise hlo
        if build.dump_to is not None:
            Path(build.dump_to).write_text(f"tuned {build.implementation}\n")
        self.use(build.implementation)
        executable = Executable("", {}, self.per_call, 0, 0, build.implementation, None, "")
        return executable, hlo

    def use(self, implementation):
        if implementation in self.programs:
            self.gemm_s = self.programs[implementation][1]

    def allocate(self, sets, fill, seed):
        self.events.append(("allocate", sets, fill, seed))
        self.sets = sets

    def release(self):
        self._is_spoilt = False
        self.events.append(("release",))

    def enqueue(self, calls):
        if self._is_spoilt:
            raise RuntimeError("a buffer was donated to a launch that failed")
        if isinstance(self.gemm_s, Exception):
            self._is_spoilt = True
            raise self.gemm_s
        time.sleep(self.enqueue_s * calls)
        self.graphs += not self._has_graph
        self._has_graph = True
        self.launched += calls * self.per_call
        begin = max(self.busy_until, time.monotonic())
        self.busy_until = begin + calls * self.per_call * self.gemm_s
        # JAX lets at most 32 executions run ahead of the device.
        self.wait_for(self.busy_until - 32 * self.per_call * self.gemm_s)
        return self.busy_until

    def drain(self):
        self.wait_for(self.busy_until)

    def wait_for(self, output):
        time.sleep(max(0.0, output - time.monotonic()))

    def addresses(self):
        return {
            name: [1000 + 100 * (3 * number + "abd".index(name)) for number in range(self.sets)]
            for name in "abd"
        }

    def buffer_contents(self):
        self.drop_graphs()  # it compiles what counts the elements
        rows = 2 * self.sets
        return {name: np.zeros(rows, np.int64) for name in ("zeros", "checksum")} | {
            f"bin_{index}": np.ones(rows, np.int64) for index in range(BINS)
        }

    def sample_outputs(self, seed):
        self.events.append(("sample", seed))
        return Table({column.name: np.zeros(1, np.int64) for column in OUTPUTS.columns})

    def record_kernels(self, work, last=None):
        self.events.append(("record",))
        began = self.launched
        work()
        gemms = min(self.launched - began, last or self.launched)
        start_ns = np.arange(gemms, dtype=np.int64) * round(self.gemm_s * 1e9)
        return ("fake_gemm",), Table(
            {
                "name": np.zeros(gemms, np.int64),
                "start_ns": start_ns,
                "duration_ns": np.full(gemms, round(self.gemm_s * 1e9)),
            }
        )

    def allocator_counters(self):
        return None

    def compilations(self):
        return 0


class FakeTimer:
    """Waits nowhere and takes each window for what the fake device says."""

    method = "host_clock"

    def __init__(self, backend, clock):
        self.backend = backend
        self.clock = clock
        self.edges = []
        self.drains = 0

    def start(self):
        self.backend.drain()
        self.edges = [time.monotonic()]
        return Anchor(self.clock(), self.clock())

    def boundary(self, last_output):
        self.edges.append(last_output)

    def open_control(self, last_output):
        pass

    def close_control(self, last_output, launches):
        pass

    def finish(self, last_output):
        self.backend.wait_for(last_output)
        return Anchor(self.clock(), self.clock())

    def durations_ns(self):
        return [round((b - a) * 1e9) for a, b in zip(self.edges, self.edges[1:], strict=False)]

    def controls(self):
        return ()


class FakeTelemetry:
    """Answers `read` from functions of the time now."""

    def __init__(self, clock, power_mw=None, graphics_mhz=None):
        self.clock = clock
        self.power_mw = power_mw
        self.graphics_mhz = graphics_mhz

    def read(self, file):
        now = self.clock()
        t = np.arange(max(0, now - 4_000_000_000), now, 20_000_000, dtype=np.int64)
        series = {"power.csv": self.power_mw, "clocks.csv": self.graphics_mhz}[file]
        columns = {"t_ns": t, "burst_ns": np.ones_like(t)}
        if series is not None:
            values = np.array([series(int(at)) for at in t], np.int64)
            if file == "power.csv":
                columns |= {"power_average_mw": values, "power_instant_mw": values}
            else:
                columns |= {"graphics_mhz": values}
        return Table(columns)
