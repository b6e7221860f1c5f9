"""Filling, describing and sampling a rotation pool's buffers on the device, outside the loops."""

import os
from collections.abc import Callable
from importlib import import_module
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from numpy.typing import NDArray

from kit.distribution import CHECKSUM_FACTOR
from kit.errors import MeasurementError
from kit.fill import SMALLEST_POWER
from kit.number_format import BITS, NumberFormat
from kit.numerics import output_bits, sample_grid
from kit.plan import Fill
from kit.surfaces import Input, element_type
from kit.trace import BINS, OUTPUTS, Table
from kit.workload import Workload


def filler(
    row: NumberFormat, surface: Input, fill: Fill, sharding: Any
) -> Callable[[Any, tuple[int, ...]], Any]:
    """A function of (key words, shape) that makes one buffer of a surface; see `kit.fill`."""
    name = element_type(row, surface)
    kind = jnp.dtype(name)
    is_scale = surface.endswith("scale")

    def make(key: Any, shape: tuple[int, ...]) -> Any:
        if fill == "zero":
            return jnp.full(shape, 1.0 if is_scale else 0.0, kind)
        words = jax.random.wrap_key_data(key, impl="threefry2x32")
        values = jax.random.uniform(words, shape, jnp.float32, 0.0 if is_scale else -1.0, 1.0)
        if name == "int8":
            return jnp.round(values * jnp.float32(127)).astype(kind)
        if name == "float8_e8m0fnu":
            bits = lax.bitcast_convert_type(jnp.maximum(values, SMALLEST_POWER), jnp.uint32)
            exponents = (bits + jnp.uint32(0x400000)) >> jnp.uint32(23)
            return lax.bitcast_convert_type(exponents.astype(jnp.uint8), kind)
        return values.astype(kind)

    return jax.jit(make, static_argnums=1, out_shardings=sharding)


def free_bytes(device: Any) -> int:
    """Bytes that pools may still take: of the device allocator, or of the host's memory."""
    counters = device.memory_stats()
    if counters and "bytes_limit" in counters:
        return int(counters["bytes_limit"] - counters["bytes_in_use"])
    return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


def _describe(buffer: Any, is_int8: bool) -> tuple[Any, Any, Any]:
    """(zeros, checksum, elements at or above each inner bin edge) of one buffer, as uint32."""
    edges = [index / 8 - 1 for index in range(BINS + 1)]
    if is_int8:
        edges = [edge * 127 for edge in edges]
    values = buffer if buffer.dtype == jnp.float64 else buffer.astype(jnp.float32)
    count = jnp.uint32
    inside = (values >= edges[0]) & (values <= edges[-1])
    at_least = [jnp.sum(inside & (values >= edge), dtype=count) for edge in edges[:-1]]
    words = lax.bitcast_convert_type(buffer, jnp.dtype(f"uint{min(BITS[buffer.dtype.name], 32)}"))
    words = words.astype(jnp.uint32).ravel()
    place = lax.iota(jnp.uint32, words.size)
    weights = (jnp.uint32(2) * place + jnp.uint32(1)) * jnp.uint32(CHECKSUM_FACTOR)
    checksum = jnp.sum(words * weights, dtype=jnp.uint32)
    return jnp.sum(values == 0, dtype=count), checksum, jnp.stack(at_least)


def contents(buffers: list[Any]) -> dict[str, NDArray[np.int64]]:
    """Columns zeros, checksum and bin_0 … of `kit.trace.BUFFERS`, one row per buffer."""
    describe = jax.jit(_describe, static_argnums=1)
    rows = [jax.device_get(describe(buffer, buffer.dtype == jnp.int8)) for buffer in buffers]
    at_least = np.stack([counts for _, _, counts in rows]).astype(np.int64)
    bins = at_least - np.append(at_least[:, 1:], np.zeros((len(rows), 1), np.int64), axis=1)
    return {
        "zeros": np.array([int(zeros) for zeros, _, _ in rows], np.int64),
        "checksum": np.array([int(checksum) for _, checksum, _ in rows], np.int64),
        **{f"bin_{index}": bins[:, index] for index in range(BINS)},
    }


def sample(outputs: list[Any], seed: str, workload: Workload) -> Table:
    """Bit patterns of the sampled elements of every output buffer."""
    take = jax.jit(lambda buffer, rows, columns: buffer[rows[:, None], columns[None, :]])
    take_batched = jax.jit(
        lambda buffer, batch, rows, columns: buffer[batch, rows[:, None], columns[None, :]]
    )
    columns: dict[str, list[int]] = {column.name: [] for column in OUTPUTS.columns}
    for number, buffer in enumerate(outputs):
        grid = sample_grid(seed, workload, len(outputs), number)
        rows, cols = np.array(grid.rows), np.array(grid.columns)
        if workload.batch > 1:
            values = take_batched(buffer, grid.batch, rows, cols)
        else:
            values = take(buffer, rows, cols)
        bits = output_bits(np.ascontiguousarray(jax.device_get(values)).ravel())
        for (row, column), pattern in zip(
            ((row, column) for row in grid.rows for column in grid.columns), bits, strict=True
        ):
            columns["set"].append(number)
            columns["batch"].append(grid.batch)
            columns["row"].append(row)
            columns["column"].append(column)
            columns["bits_high"].append(int(pattern) >> 32)
            columns["bits_low"].append(int(pattern) & 0xFFFFFFFF)
    return Table({name: np.array(values, np.int64) for name, values in columns.items()})


def compute_stream() -> int:
    """The stream JAX launches on, yielded by a buffer callback.

    Raises:
        MeasurementError: JAX yields no stream or not always the same one.
    """
    from jax.experimental.buffer_callback import buffer_callback  # noqa: PLC0415 - CUDA only

    found: list[int] = []

    def note(context: Any, _outputs: Any) -> None:
        found.append(int(context.stream))

    call = jax.jit(buffer_callback(note, (), has_side_effect=True))
    for _ in range(3):
        call()
        jax.effects_barrier()
    if not found or len(set(found)) != 1 or not found[0]:
        raise MeasurementError(f"JAX's compute stream could not be captured (saw {found})")
    return found[0]


def library_versions() -> dict[str, str]:
    """Versions of the CUDA libraries that JAX's plugin has loaded."""
    for name in ("jax_cuda13_plugin", "jax_cuda12_plugin"):
        try:
            versions = import_module(f"{name}._versions")
        except ImportError:
            continue
        getters = {
            "cuda_runtime": versions.cuda_runtime_get_version,
            "cublas": versions.cublas_get_version,
            "cudnn": versions.cudnn_get_version,
            "cupti": versions.cupti_get_version,
        }
        return {library: str(getter()) for library, getter in getters.items()}
    return {}
