"""What one GEMM multiplies: the arrays of its surfaces and the product that JAX traces."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

from kit.errors import UnsupportedError
from kit.number_format import NumberFormat
from kit.plan import Platform
from kit.surfaces import Surface, element_type, shape
from kit.workload import Workload


def array_shape(workload: Workload, row: NumberFormat, surface: Surface) -> tuple[int, ...]:
    """Shape of the array of one buffer: (rows, columns), after the batch if there is one."""
    matrix = shape(workload, row, surface)
    return matrix if workload.batch == 1 else (workload.batch, *matrix)


def specification(
    workload: Workload, row: NumberFormat, surface: Surface, sharding: Any
) -> jax.ShapeDtypeStruct:
    """What a buffer will be, before there is any."""
    kind = jnp.dtype(element_type(row, surface))
    return jax.ShapeDtypeStruct(array_shape(workload, row, surface), kind, sharding=sharding)


def product(workload: Workload, row: NumberFormat, platform: Platform) -> Callable[..., Any]:
    """A function of a set's inputs, in the order of `kit.surfaces.inputs`, that returns D.

    Raises:
        UnsupportedError: the platform cannot multiply in this number format.
    """
    if platform == "cpu" and row.algorithm:
        raise UnsupportedError(f"{row.name} is unsupported on a CPU")
    if not row.block:
        return lambda a, b: _dot(workload, row, platform, a, b)
    if platform == "cuda":
        return lambda *inputs: _scaled_matmul(workload, row, *inputs)
    return lambda a, b, a_scale, b_scale: _dot(
        workload,
        row,
        platform,
        _scaled(a, a_scale, row.block, _k_axis(workload, "a")),
        _scaled(b, b_scale, row.block, _k_axis(workload, "b")),
    )


def _k_axis(workload: Workload, operand: str) -> int:
    """Which axis of an operand's matrix K is, counted from the end."""
    is_a = operand == "a"
    return -1 if is_a == (workload.layout[0 if is_a else 1] == "n") else -2


def _dot(workload: Workload, row: NumberFormat, platform: Platform, a: Any, b: Any) -> Any:
    batch = (0,) if workload.batch > 1 else ()
    k_of_a, k_of_b = a.ndim + _k_axis(workload, "a"), b.ndim + _k_axis(workload, "b")
    precision: Any = None
    if platform == "cuda" and row.algorithm:
        precision = lax.DotAlgorithmPreset[row.algorithm]
    elif row.precision:
        precision = lax.Precision[row.precision]
    return lax.dot_general(
        a,
        b,
        (((k_of_a,), (k_of_b,)), (batch, batch)),
        precision=precision,
        preferred_element_type=jnp.dtype(row.output),
    )


def _scaled_matmul(workload: Workload, row: NumberFormat, *inputs: Any) -> Any:
    """`jax.nn.scaled_matmul`, which wants a batch, and K last in all of its arguments."""

    def k_last(array: Any, operand: str) -> Any:
        batched = array if workload.batch > 1 else array[None]
        return batched if _k_axis(workload, operand) == -1 else jnp.swapaxes(batched, -1, -2)

    a, b, a_scale, b_scale = map(k_last, inputs, ("a", "b", "a", "b"))
    found = jax.nn.scaled_matmul(
        a, b, a_scale, b_scale, preferred_element_type=jnp.dtype(row.output)
    )
    return found if workload.batch > 1 else found[0]


def _scaled(array: Any, scale: Any, block: int, axis: int) -> Any:
    """Values times their scales in float32: exact, and what a CPU has to multiply instead.

    JAX 0.10 has no `scaled_matmul` for a CPU.
    """
    repeated = jnp.repeat(scale.astype(jnp.float32), block, axis=axis)
    return array.astype(jnp.float32) * repeated
