"""Who multiplies: one module per backend, found by its name."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from importlib import import_module
from pkgutil import iter_modules
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from kit.errors import UsageError
from kit.evidence import Executable
from kit.plan import Case, DispatchMode, Fill, Implementation, Platform
from kit.trace import Table


@dataclass(frozen=True, slots=True)
class Build:
    """How to compile: whose GEMM kernels, and paths to write or to replay autotune results.

    With `load_from` nothing is tuned anew.
    """

    implementation: Implementation = "library"
    dump_to: str | None = None
    load_from: str | None = None


class Backend(Protocol):
    """One case on one device of this process. Buffers live in rotation sets 0 to R - 1."""

    transfer_guard: str
    """Level of the guard against host-device transfers that `guard` puts up."""

    def libraries(self) -> dict[str, str]:
        """Versions of the libraries the backend computes with."""

    def settings(self) -> dict[str, str]:
        """Settings of the backend's framework that bear on the result."""

    def guard(self) -> AbstractContextManager[None]:
        """Forbid implicit transfers while it is held."""

    def compile(self, mode: DispatchMode, sets: int, build: Build) -> tuple[Executable, str]:
        """Compile before any pool is filled; returns the record and the normalised HLO text.

        Raises:
            RuntimeError: XLA refuses, also where `build.load_from` does not cover the program.
        """

    def use(self, implementation: Implementation) -> None:
        """Launch, from now on, what was last compiled for this implementation.

        All that was compiled for one mode and number of sets shares the same pools.
        """

    def allocate(self, sets: int, fill: Fill, seed: str) -> None:
        """Allocate and initialise every buffer, and wait until that is done.

        Raises:
            MemoryError: the device's memory does not hold them; says bytes needed and free.
        """

    def release(self) -> None:
        """Give the buffers back."""

    def enqueue(self, calls: int) -> Any:
        """Hand over `calls` calls of the executable without waiting; returns the last output."""

    def drain(self) -> None:
        """Wait until the device has nothing left to do."""

    def wait_for(self, output: Any) -> None:
        """Wait until one output has been written."""

    def addresses(self) -> dict[str, list[int]]:
        """Absolute start of every buffer, by surface (`kit.surfaces`), in set order."""

    def buffer_contents(self) -> dict[str, NDArray[np.int64]]:
        """Zeros, checksum and bins of every input buffer: columns of `kit.trace.BUFFERS`."""

    def sample_outputs(self, seed: str) -> Table:
        """The sampled outputs of every set, as `kit.trace.OUTPUTS`."""

    def record_kernels(
        self, work: Callable[[], None], last: int | None = None
    ) -> tuple[tuple[str, ...], Table]:
        """Names and rows of `kit.trace.KERNELS` of what `work` made the GPU do, and waited for.

        `last` keeps only so many kernels from the end.

        Raises:
            MeasurementError: the profiler shows no kernel of one GPU.
        """

    def allocator_counters(self) -> dict[str, int] | None:
        """The device allocator's counters; None where it has none."""

    def compilations(self) -> int:
        """Compilations of this process so far."""


def backends() -> tuple[str, ...]:
    """Names of all backends: the modules of this package that offer `connect`."""
    return tuple(module.name for module in iter_modules(__path__) if module.name.endswith("_gemm"))


def backend(name: str, platform: Platform, case: Case) -> Backend:
    """Connect a backend to this process's device.

    Raises:
        UsageError: there is no such backend.
        MeasurementError: the platform has no device here.
    """
    if name not in backends():
        raise UsageError(f"backend {name!r} is unknown", hint=f"known: {', '.join(backends())}")
    made: Backend = import_module(f"{__name__}.{name}").connect(platform, case)
    return made
