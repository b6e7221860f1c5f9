"""GEMMs by JAX: one jitted matmul whose operands and outputs rotate through buffer pools.

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
from kit.errors import MeasurementError
from kit.evidence import Executable
from kit.fill import buffer_key
from kit.hlo import normalise
from kit.number_format import NumberFormat, number_format
from kit.plan import Case, DispatchMode, Fill, Implementation, Platform
from kit.rotation import input_bytes, output_bytes, sets_per_call, trips_per_call
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
        self._operand_type = jnp.dtype(row.operand)
        self._output_type = jnp.dtype(row.output)
        self._per_call = 1
        self._call: Any = None
        self._calls: dict[Implementation, Any] = {}
        self._a: list[list[Any]] = []
        self._b: list[list[Any]] = []
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

    def _shape(self, operand: str) -> tuple[int, ...]:
        workload = self._workload
        matrix = workload.output_shape if operand == "d" else workload.shape(operand)  # type: ignore[arg-type]
        return matrix if workload.batch == 1 else (workload.batch, *matrix)

    def _multiply(self, a: Any, b: Any) -> Any:
        batched = int(self._workload.batch > 1)
        transposed_a, transposed_b = (letter == "t" for letter in self._workload.layout)
        contract_a = batched + (0 if transposed_a else 1)
        contract_b = batched + (1 if transposed_b else 0)
        batch_dimensions = ((0,), (0,)) if batched else ((), ())
        precision: Any = None
        if self._platform == "cuda" and self._format.algorithm:
            precision = lax.DotAlgorithmPreset[self._format.algorithm]
        elif self._format.precision:
            precision = lax.Precision[self._format.precision]
        return lax.dot_general(
            a,
            b,
            (((contract_a,), (contract_b,)), batch_dimensions),
            precision=precision,
            preferred_element_type=self._output_type,
        )

    def compile(self, mode: DispatchMode, sets: int, build: Build) -> tuple[Executable, str]:
        self._per_call = sets_per_call(mode, sets)
        trips = trips_per_call(mode)
        if self._platform == "cpu" and mode == "device_loop":
            # XLA's CPU pipeline expands the barrier and then moves the products out of the loop.
            raise MeasurementError("dispatch device_loop is unsupported on a CPU")
        if self._platform == "cpu" and self._format.algorithm:
            raise MeasurementError(f"{self._format.name} is unsupported on a CPU")
        options = jax_options.cuda_options(build) if self._platform == "cuda" else {}

        def products(a: list[Any], b: list[Any]) -> list[Any]:
            return [self._multiply(left, right) for left, right in zip(a, b, strict=True)]

        # D is an argument only to be written over; without keep_unused JAX would drop it.
        def gemms(d: list[Any], a: list[Any], b: list[Any]) -> list[Any]:
            if trips == 1:
                return products(a, b)

            # Tied to the counter, or XLA would move the products out of the loop.
            def trip(count: Any, _outputs: list[Any]) -> list[Any]:
                tied_a, tied_b, _ = lax.optimization_barrier((a, b, count))
                return products(tied_a, tied_b)

            outputs: list[Any] = lax.fori_loop(0, trips, trip, d)
            return outputs

        self._call = jax.jit(
            gemms, donate_argnums=(0,), keep_unused=True, compiler_options=options or None
        )

        def specification(operand: str) -> list[Any]:
            kind = self._output_type if operand == "d" else self._operand_type
            spec = jax.ShapeDtypeStruct(self._shape(operand), kind, sharding=self._sharding)
            return [spec] * self._per_call

        self._calls[build.implementation] = self._call
        compiled = self._call.lower(*(specification(name) for name in "dab")).compile()
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
        make = jax_buffers.filler(self._format, fill, self._sharding)

        def operand(name: Any, number: int) -> Any:
            key = np.array(buffer_key(seed, name, number), np.uint32)
            return make(key, self._shape(name))

        zeros = jax.jit(
            lambda: jnp.zeros(self._shape("d"), self._output_type), out_shardings=self._sharding
        )
        for first in range(0, sets, self._per_call):
            numbers = range(first, first + self._per_call)
            self._a.append([operand("a", number) for number in numbers])
            self._b.append([operand("b", number) for number in numbers])
            self._d.append([zeros() for _ in numbers])
        self.drain()

    def _require_memory(self, sets: int) -> None:
        work, row = self._workload, self._format
        needed = sets * (input_bytes(work, row) + output_bytes(work, row))
        free = jax_buffers.free_bytes(self.device)
        if needed > free * _MEMORY_SHARE:
            raise MemoryError(
                f"{sets} rotation sets need {needed:,} bytes, "
                f"{int(free * _MEMORY_SHARE):,} are free"
            )

    def release(self) -> None:
        self._a, self._b, self._d = [], [], []
        self._next = 0
        gc.collect()

    def enqueue(self, calls: int) -> Any:
        call, a, b, d = self._call, self._a, self._b, self._d
        chunks, chunk = len(d), self._next
        for _ in range(calls):
            d[chunk] = call(d[chunk], a[chunk], b[chunk])
            chunk += 1
            if chunk == chunks:
                chunk = 0
        self._next = chunk
        return d[chunk - 1][-1]

    def drain(self) -> None:
        jax.block_until_ready((self._a, self._b, self._d))

    def wait_for(self, output: Any) -> None:
        output.block_until_ready()

    def _pools(self) -> dict[str, list[Any]]:
        pools = {"a": self._a, "b": self._b, "d": self._d}
        return {
            name: [buffer for chunk in pool for buffer in chunk] for name, pool in pools.items()
        }

    def addresses(self) -> dict[str, list[int]]:
        return {
            name: [buffer.unsafe_buffer_pointer() for buffer in pool]
            for name, pool in self._pools().items()
        }

    def buffer_contents(self) -> dict[str, NDArray[np.int64]]:
        pools = self._pools()
        return jax_buffers.contents(pools["a"] + pools["b"], self._format)

    def sample_outputs(self, seed: str) -> Table:
        return jax_buffers.sample(self._pools()["d"], seed, self._workload)

    def record_kernels(self, work: Callable[[], None]) -> tuple[tuple[str, ...], Table]:
        return kernel_profile.record(work)

    def allocator_counters(self) -> dict[str, int] | None:
        counters = self.device.memory_stats()
        return None if counters is None else {name: int(value) for name, value in counters.items()}

    def compute_stream(self) -> int:
        """JAX's compute stream as a CUstream handle; it lives as long as the client.

        Raises:
            MeasurementError: the callback did not yield one.
        """
        return jax_buffers.compute_stream()
