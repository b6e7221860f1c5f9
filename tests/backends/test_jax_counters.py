"""Readings in the form in which JAX's profiler delivered them on an H200."""

import jax
import pytest

from kit.backends.jax_counters import sample, series
from kit.counters import DRAM_READ, SM_ACTIVE
from kit.errors import MeasurementError

EVENT = """events { metadata_id: %d offset_ps: %d stats { metadata_id: %d double_value: %s } }"""
PLANE = """
planes {
  name: "%s"
  lines { name: "%s" timestamp_ns: 469014109 %s }
  %s
}
"""
READINGS = [(1, 0, 0.0), (2, 0, 14336.0), (1, 1, 3.2298), (2, 1, 9.5e8), (1, 2, 99.5), (2, 2, 4e8)]


NAMES = " ".join(
    f'{kind}_metadata {{ key: {i} value {{ id: {i} name: "{name}" }} }}'
    for kind in ("event", "stat")
    for i, name in ((1, SM_ACTIVE), (2, DRAM_READ))
)


def profile_of(plane="/device:GPU:0", line="_counters_"):
    events = " ".join(EVENT % (name, 499_996_000 * at, name, value) for name, at, value in READINGS)
    return jax.profiler.ProfileData.from_serialized_xspace(
        jax.profiler.ProfileData.text_proto_to_serialized_xspace(
            PLANE % (plane, line, events, NAMES)
        )
    )


def test_one_counter_of_several_in_order():
    assert list(series(profile_of(), DRAM_READ)) == [14336.0, 9.5e8, 4e8]
    assert list(series(profile_of(), SM_ACTIVE)) == pytest.approx([0.0, 3.2298, 99.5])


@pytest.mark.parametrize("place", [{"plane": "/host:CPU"}, {"line": "Stream #14(Compute)"}])
def test_other_lines_are_no_readings(place):
    assert list(series(profile_of(**place), DRAM_READ)) == []


def test_a_cpu_has_no_reading():
    done = []
    with pytest.raises(MeasurementError, match="no reading of dram__bytes_read"):
        sample(DRAM_READ, lambda: done.append(1))
    assert done == [1]
