import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kit.checker.stretches import digests
from kit.checker.traits import STRETCH

NOISE = np.random.default_rng(7)


def noise(count):
    return NOISE.integers(600_000, 700_000, count)


def stretches(values):
    return set(digests(np.asarray(values, np.int64))[1:])


def test_the_whole_comes_first_and_is_exact():
    values = noise(100)
    changed = values.copy()
    changed[50] += 1
    assert digests(values)[0] == digests(values.copy())[0] != digests(changed)[0]
    for digest in digests(values):
        assert len(digest) == 16
        int(digest, 16)


def test_few_digests_however_long():
    assert len(digests(noise(10))) == 1
    assert len(digests(noise(STRETCH + 1))) == 2
    assert len(digests(noise(200_000))) == 7


@settings(deadline=None)
@given(st.integers(0, 300), st.integers(0, 300))
def test_a_series_within_another_one_is_known_again(before, after):
    values = np.random.default_rng(before).integers(0, 10**6, 400)
    longer = np.concatenate((noise(before), values, noise(after)))
    # Sketches may miss each other when most of the longer series is something else.
    assert stretches(longer) & stretches(values) or before + after > 200


def test_repeated_readings_say_nothing():
    """A register that is read five or three times between two steps shows the same steps."""
    values = noise(200)
    assert stretches(np.repeat(values, 5)) == stretches(np.repeat(values, 3)) == stretches(values)


@pytest.mark.parametrize("levels", [1, 2, 5, 11])
def test_few_levels_say_nothing(levels):
    values = np.random.default_rng(1).integers(0, levels, 2000) * 15 + 1400
    assert stretches(values) == set()


def test_half_of_a_series_betrays_it():
    met = 0
    for seed in range(300):
        random = np.random.default_rng(seed)
        one = random.integers(0, 10**6, 400)
        other = np.concatenate((random.integers(0, 10**6, 200), one[:200]))
        met += bool(stretches(one) & stretches(other))
    assert met > 0.9 * 300


def test_hashes_do_not_depend_on_the_place():
    tail = noise(STRETCH + 1)
    for before in (1, 3, 50):
        # A constant start gives no stretch of its own until the tail begins.
        assert stretches(np.concatenate((np.zeros(before, np.int64), tail[1:]))) == stretches(
            np.concatenate(([0], tail[1:]))
        )


@settings(deadline=None)
@given(st.lists(st.integers(0, 2**62), min_size=1, max_size=80))
def test_any_series_has_digests(values):
    assert len(digests(np.asarray(values, np.int64))) >= 1
