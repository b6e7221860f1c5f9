"""GEMMs by JAX: one jitted matmul whose inputs and outputs rotate through buffer pools.

Each output is written into a donated pool buffer, so a launch allocates nothing and D rotates
like A and B. `single` launches one GEMM a call. For kernels shorter than a call, `unrolled`
compiles one GEMM for each set of a chunk into one executable, and `device_loop` repeats all sets in
a loop that the host hands over once.
"""

import gc
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from numpy.typing import NDArray

from kit.backends import Build, jax_buffers, jax_options, kernel_profile
from kit.backends.jax_product import array_shape, product, specification
from kit.errors import MeasurementError, UnsupportedError
from kit.evidence import Executable
from kit.fill import buffer_key
from kit.hlo.text import normalise
from kit.number_format import NumberFormat, number_format
from kit.plan import Case, DispatchMode, Fill, Implementation, Platform
from kit.rotation import input_bytes, output_bytes, sets_per_call, trips_per_call
from kit.surfaces import Surface, inputs
from kit.trace import Table
from kit.workload import Workload

_SETTINGS = (
    "jax_default_matmul_precision",
    "jax_enable_compilation_cache",
    "jax_threefry_partitionable",
    "jax_default_prng_impl",
)
_MEMORY_SHARE = 0.95
"""Share of the allocator's limit that pools may take; the rest is for cuBLASLt workspaces."""


def connect(platform: Platform, case: Case) -> "JaxGemm":
    """Open JAX on `platform` for one case.

    Raises:
        MeasurementError: JAX has no device of that platform here.
    """
    try:
        device = jax.local_devices(backend=platform)[0]
    except RuntimeError as error:
        raise MeasurementError(
            f"JAX has no {platform} device: {str(error).splitlines()[0]}",
            hint="install gemm-kit[cuda13] and the NVIDIA driver, or choose backend=cpu",
        ) from error
    return JaxGemm(device, platform, case.workload, number_format(case.number_format))


class JaxGemm:
    """See `kit.backends.Backend`."""

    transfer_guard = "disallow"

    def __init__(
        self, device: Any, platform: Platform, workload: Workload, row: NumberFormat
    ) -> None:
        self.device = device
        self._platform = platform
        self._workload = workload
        self._format = row
        self._sharding = jax.sharding.SingleDeviceSharding(device)
        self._per_call = 1
        self._call: Any = None
        self._calls: dict[Implementation, Any] = {}
        self._inputs: list[tuple[list[Any], ...]] = []
        self._d: list[list[Any]] = []
        self._next = 0
        self._compilations = 0
        jax.monitoring.register_event_duration_secs_listener(self._count_compilation)

    def _count_compilation(self, event: str, duration_secs: float, **_details: Any) -> None:
        del duration_secs
        self._compilations += event.startswith("/jax/core/compile/backend_compile")

    def libraries(self) -> dict[str, str]:
        return jax_buffers.library_versions() if self._platform == "cuda" else {}

    def settings(self) -> dict[str, str]:
        return {name: str(getattr(jax.config, name)) for name in _SETTINGS}

    def guard(self) -> AbstractContextManager[None]:
        guard: AbstractContextManager[None] = jax.transfer_guard(self.transfer_guard)
        return guard

    def compilations(self) -> int:
        return self._compilations

    def compile(self, mode: DispatchMode, sets: int, build: Build) -> tuple[Executable, str]:
        self._per_call = sets_per_call(mode, sets)
        trips = trips_per_call(mode)
        if self._platform == "cpu" and mode == "device_loop":
            # XLA's CPU pipeline expands the barrier and then moves the products out of the loop.
            raise UnsupportedError("dispatch device_loop is unsupported on a CPU")
        multiply = product(self._workload, self._format, self._platform)
        options = jax_options.cuda_options(build) if self._platform == "cuda" else {}

        def products(pools: tuple[list[Any], ...]) -> list[Any]:
            return [multiply(*one_set) for one_set in zip(*pools, strict=True)]

        # D is an argument only to be written over; without keep_unused JAX would drop it.
        def gemms(d: list[Any], a: list[Any], b: list[Any], *scales: list[Any]) -> list[Any]:
            pools = (a, b, *scales)
            if trips == 1:
                return products(pools)

            # Tied to the counter, or XLA would move the products out of the loop.
            def trip(count: Any, _outputs: list[Any]) -> list[Any]:
                tied, _ = lax.optimization_barrier((pools, count))
                return products(tied)

            outputs: list[Any] = lax.fori_loop(0, trips, trip, d)
            return outputs

        self._call = jax.jit(
            gemms, donate_argnums=(0,), keep_unused=True, compiler_options=options or None
        )

        def pool(surface: Surface) -> list[Any]:
            one = specification(self._workload, self._format, surface, self._sharding)
            return [one] * self._per_call

        self._calls[build.implementation] = self._call
        surfaces: tuple[Surface, ...] = ("d", *inputs(self._format))
        compiled = self._call.lower(*map(pool, surfaces)).compile()
        analysis = compiled.memory_analysis()
        record = Executable(
            hlo="",
            options=jax_options.recorded(options),
            gemms_per_call=self._per_call * trips,
            alias_bytes=int(analysis.alias_size_in_bytes),
            temporary_bytes=int(analysis.temp_size_in_bytes),
            implementation=build.implementation,
            autotune=None,
            autotune_reason="",
        )
        return record, normalise(compiled.as_text())

    def use(self, implementation: Implementation) -> None:
        self._call = self._calls[implementation]

    def allocate(self, sets: int, fill: Fill, seed: str) -> None:
        self._require_memory(sets)
        work, row = self._workload, self._format
        names = inputs(row)
        make = {name: jax_buffers.filler(row, name, fill, self._sharding) for name in names}

        def filled(name: Any, number: int) -> Any:
            key = np.array(buffer_key(seed, name, number), np.uint32)
            return make[name](key, array_shape(work, row, name))

        zeros = jax.jit(
            lambda: jnp.zeros(array_shape(work, row, "d"), jnp.dtype(row.output)),
            out_shardings=self._sharding,
        )
        for first in range(0, sets, self._per_call):
            numbers = range(first, first + self._per_call)
            self._inputs.append(
                tuple([filled(name, number) for number in numbers] for name in names)
            )
            self._d.append([zeros() for _ in numbers])
        self.drain()

    def _require_memory(self, sets: int) -> None:
        work, row = self._workload, self._format
        needed = sets * (input_bytes(work, row) + output_bytes(work, row))
        free = int(jax_buffers.free_bytes(self.device) * _MEMORY_SHARE)
        if needed > free:
            raise MemoryError(f"{sets} rotation sets need {needed:,} bytes, {free:,} are free")

    def release(self) -> None:
        self._inputs, self._d = [], []
        self._next = 0
        gc.collect()

    def enqueue(self, calls: int) -> Any:
        call, pools, d = self._call, self._inputs, self._d
        chunks, chunk = len(d), self._next
        for _ in range(calls):
            d[chunk] = call(d[chunk], *pools[chunk])
            chunk += 1
            if chunk == chunks:
                chunk = 0
        self._next = chunk
        return d[chunk - 1][-1]

    def drain(self) -> None:
        jax.block_until_ready((self._inputs, self._d))

    def wait_for(self, output: Any) -> None:
        output.block_until_ready()

    def _pools(self) -> dict[Surface, list[Any]]:
        pools: dict[Surface, list[Any]] = {"d": [d for chunk in self._d for d in chunk]}
        for place, name in enumerate(inputs(self._format)):
            pools[name] = [buffer for chunk in self._inputs for buffer in chunk[place]]
        return pools

    def addresses(self) -> dict[str, list[int]]:
        return {
            name: [buffer.unsafe_buffer_pointer() for buffer in pool]
            for name, pool in self._pools().items()
        }

    def buffer_contents(self) -> dict[str, NDArray[np.int64]]:
        pools = self._pools()
        return jax_buffers.contents(
            [buffer for name in inputs(self._format) for buffer in pools[name]]
        )

    def sample_outputs(self, seed: str) -> Table:
        return jax_buffers.sample(self._pools()["d"], seed, self._workload)

    def record_kernels(
        self, work: Callable[[], None], last: int | None = None
    ) -> tuple[tuple[str, ...], Table]:
        return kernel_profile.record(work, last)

    def allocator_counters(self) -> dict[str, int] | None:
        counters = self.device.memory_stats()
        return None if counters is None else {name: int(value) for name, value in counters.items()}

    def compute_stream(self) -> int:
        """JAX's compute stream as a CUstream handle; it lives as long as the client.

        Raises:
            MeasurementError: the callback did not yield one.
        """
        return jax_buffers.compute_stream()
