"""What JAX itself draws, for the kit's draws to be held against."""

import jax
import jax.numpy as jnp


def jax_uniform(key, shape):
    words = jax.random.wrap_key_data(jnp.array(key, jnp.uint32), impl="threefry2x32")
    return jax.random.uniform(words, shape, jnp.float32, -1.0, 1.0)
