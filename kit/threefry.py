"""What does JAX draw? Threefry-2x32 (Salmon et al., SC11): a key and counters to bits and floats.

With partitionable keys, as JAX has them, element i of an array is the value at counter i, so that
any part of it can be drawn alone.
"""

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

_ROTATIONS = ((13, 15, 26, 6), (17, 29, 16, 24))
_PARITY = 0x1BD11BDA
_MASK = 0xFFFFFFFF
_WORDS = tuple(np.array(word, np.uint32) for word in range(33))
"""Small numbers as arrays of no dimension, which an array operation takes fastest: half the time
that it takes to begin would go into the conversion of a scalar."""
ZERO = _WORDS[0]
_SHIFTS = tuple(tuple((_WORDS[left], _WORDS[32 - left]) for left in row) for row in _ROTATIONS)
_ONE, _TWO, _THREE = (np.array(value, np.float32) for value in (1.0, 2.0, 3.0))
_LINE = 16
"""Words of a cache line."""

Key = tuple[int, int]
Keys = tuple[NDArray[np.uint32], NDArray[np.uint32]]
"""Many keys: arrays of their first and of their second words."""
Counters = NDArray[np.unsignedinteger[Any]]
"""Flat element numbers, uint32 or uint64. 32 bits are enough for most buffers, and less work."""


def key_of(seed: str) -> Key:
    """The Threefry key of a 64-bit hexadecimal seed: its upper and lower 32 bits."""
    return int(seed[:8], 16), int(seed[8:], 16)


def threefry(
    key: Key | Keys, high: NDArray[np.uint32], low: NDArray[np.uint32], start: Counters = ZERO
) -> tuple[NDArray[np.uint32], NDArray[np.uint32]]:
    """Threefry-2x32 with 20 rounds over counters (high, start + low), which broadcast with the key.

    Every step is a pass over whole arrays in place. What it costs to begin one, and what a cache
    holds, make some 50,000 counters at once the fastest.
    """
    first, second = (_plain(np.asarray(word, np.uint32)) for word in key)
    schedule = (first, second, np.asarray(first ^ second ^ np.uint32(_PARITY)))
    x0, x1, shifted = _aligned(np.broadcast(*key, high, low, start).shape)
    np.add(low, np.asarray(np.add(start, second)), x1)
    before = np.asarray(np.add(high, first))  # x0, while it is the same for many counters
    for block in range(5):
        for left, right in _SHIFTS[block % 2]:
            np.add(x1, before, x0)
            before = x0
            np.left_shift(x1, left, shifted)
            np.right_shift(x1, right, x1)
            np.bitwise_or(x1, shifted, x1)
            np.bitwise_xor(x1, x0, x1)
        np.add(x0, schedule[(block + 1) % 3], x0)
        np.add(x1, np.asarray(np.add(schedule[(block + 2) % 3], _WORDS[block + 1])), x1)
    return x0, x1


def _plain(word: NDArray[np.uint32]) -> NDArray[np.uint32]:
    """A word that stands alone as an array of no dimension, as `_WORDS` are."""
    return word.reshape(()) if word.size == 1 else word


def _aligned(shape: tuple[int, ...]) -> Iterator[NDArray[np.uint32]]:
    """Three arrays of a shape that begin with a cache line: no vector to load lies in two lines."""
    count = math.prod(shape)
    stride = -(-count // _LINE) * _LINE
    room = np.empty(3 * stride + _LINE, np.uint32)
    start = -room.ctypes.data % (4 * _LINE) // 4
    for first in range(start, start + 3 * stride, stride):
        yield room[first : first + count].reshape(shape)


def fold_in(key: Key, data: int) -> Key:
    """A new key from `key` and a number below 2^32, as `jax.random.fold_in` makes it.

    `threefry` at one counter, for which arrays take ten times as long as integers.
    """
    schedule = (*key, key[0] ^ key[1] ^ _PARITY)
    x0, x1 = key[0], (data + key[1]) & _MASK
    for block in range(5):
        for left in _ROTATIONS[block % 2]:
            x0 = (x0 + x1) & _MASK
            x1 = ((x1 << left | x1 >> (32 - left)) & _MASK) ^ x0
        x0 = (x0 + schedule[(block + 1) % 3]) & _MASK
        x1 = (x1 + schedule[(block + 2) % 3] + block + 1) & _MASK
    return x0, x1


def folds(key: Key | Keys, data: NDArray[np.uint32]) -> Keys:
    """The keys that `fold_in` makes of many numbers, with one key or each with its own."""
    return threefry(key, ZERO, data)


def counter_type(elements: int) -> type[np.unsignedinteger[Any]]:
    """The narrowest type of `Counters` for a buffer of so many elements."""
    return np.uint32 if elements <= 2**32 else np.uint64


def unit(key: Key | Keys, counters: Counters, start: Counters = ZERO) -> NDArray[np.float32]:
    """float32 values in [0, 1) at the flat element numbers `start + counters`."""
    values = _mantissas(key, counters, start, _ONE)
    return np.subtract(values, _ONE, values)


def uniform(key: Key | Keys, counters: Counters, start: Counters = ZERO) -> NDArray[np.float32]:
    """float32 values in [-1, 1) at the flat element numbers `start + counters`."""
    values = _mantissas(key, counters, start, _TWO)  # 2 + 2v, which less 3 is exact
    return np.subtract(values, _THREE, values)


def _mantissas(
    key: Key | Keys, counters: Counters, start: Counters, power: NDArray[np.float32]
) -> NDArray[np.float32]:
    """Draws v as float32 values `power`·(1 + v), by their bits."""
    high = ZERO
    if counters.dtype == np.uint64:
        counters, start = start + counters, ZERO
        high = (counters >> np.uint64(32)).astype(np.uint32)
    bits, other = threefry(key, high, counters.astype(np.uint32, copy=False), start)
    np.bitwise_xor(bits, other, bits)
    np.right_shift(bits, _WORDS[9], bits)
    np.bitwise_or(bits, power.view(np.uint32), bits)
    return bits.view(np.float32)
