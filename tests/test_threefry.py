"""The draws are those of JAX, bit for bit, one by one and many at once."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from jax_draws import jax_uniform
from kit.threefry import fold_in, folds, threefry, uniform, unit


@pytest.mark.parametrize("key", [(0, 0), (0, 7), (1, 2), (0xFFFFFFFF, 0xFFFFFFFF)])
def test_uniform_values_are_those_of_jax(key):
    wanted = np.asarray(jax_uniform(key, (300, 7))).ravel()
    found = uniform(key, np.arange(2100, dtype=np.uint64))
    assert np.array_equal(found.view(np.uint32), wanted.view(np.uint32))
    assert found.min() >= -1.0
    assert found.max() < 1.0


def test_counters_beyond_32_bits_are_those_of_threefry():
    """JAX cannot draw 2^32 elements here, but its Threefry takes the counter's halves."""
    from jax.extend.random import threefry_2x32

    counters = np.array([2**32 - 1, 2**32, 2**32 + 5, 7 * 2**32 + 11], np.uint64)
    high, low = (counters >> np.uint64(32)).astype(np.uint32), counters.astype(np.uint32)
    found = np.concatenate(threefry((3, 4), high, low))
    wanted = threefry_2x32(jnp.array([3, 4], jnp.uint32), jnp.concatenate([high, low]))
    assert np.array_equal(found, np.asarray(wanted))
    x0, x1 = threefry((3, 4), high, low)
    bits = (((x0 ^ x1) >> np.uint32(9)) | np.uint32(0x3F800000)).view(np.float32)
    assert np.array_equal(uniform((3, 4), counters), (bits - 1) * 2 - 1)


@pytest.mark.parametrize("key", [(0, 7), (12345, 67890), (0xFFFFFFFF, 0)])
@pytest.mark.parametrize("data", [0, 1, 2, 959, 2**32 - 1])
def test_fold_in_is_jaxs(key, data):
    words = jax.random.wrap_key_data(jnp.array(key, jnp.uint32), impl="threefry2x32")
    wanted = jax.random.key_data(jax.random.fold_in(words, np.uint32(data)))
    assert fold_in(key, data) == tuple(int(word) for word in wanted)


def test_many_keys_each_with_its_own_counters_are_one_after_the_other():
    draw = np.random.default_rng(1)
    keys = draw.integers(0, 2**32, (2, 5, 1), np.uint32)
    starts = draw.integers(0, 2**32, (5, 1), np.uint32)
    steps = np.arange(700, dtype=np.uint32) * np.uint32(9_999_991)
    together = uniform((keys[0], keys[1]), steps, starts)
    for i in range(5):
        counters = (starts[i] + steps).astype(np.uint64)
        alone = uniform((int(keys[0, i, 0]), int(keys[1, i, 0])), counters)
        assert np.array_equal(together[i], alone)


def test_many_keys_folded_at_once_are_each_of_them_alone():
    key, numbers = (0x01234567, 0x89ABCDEF), (0, 1, 9)
    keys = folds(key, np.array(numbers, np.uint32))
    assert [(int(a), int(b)) for a, b in zip(*keys, strict=True)] == [
        fold_in(key, number) for number in numbers
    ]


@given(
    st.tuples(st.integers(0, 2**32 - 1), st.integers(0, 2**32 - 1)),
    st.lists(st.integers(0, 2**64 - 1) | st.integers(2**32 - 2, 2**32 + 2), min_size=1),
)
def test_any_counter_gives_its_own_bits_whatever_stands_beside_it(key, counters):
    found = unit(key, np.array(counters, np.uint64))
    for value, counter in zip(found, counters, strict=True):
        words = (np.array([part], np.uint32) for part in (counter >> 32, counter & 0xFFFFFFFF))
        first, second = threefry(key, *words)
        assert value == np.float32((int(first[0]) ^ int(second[0])) >> 9) / np.float32(2**23)
