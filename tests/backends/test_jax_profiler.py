"""A session of JAX's profiler: what is asked of it, what it leaves, and that it is over."""

import tempfile

import jax
import jax.numpy as jnp
import pytest

from kit.backends import jax_counters, kernel_profile
from kit.backends.jax_profiler import gpu_planes, profiled
from kit.errors import MeasurementError


@pytest.fixture
def asked(monkeypatch):
    """The options of every session that begins."""
    options = []
    start = jax.profiler.start_trace

    def noting(folder, profiler_options):
        options.append(profiler_options)
        start(folder, profiler_options=profiler_options)

    monkeypatch.setattr(jax.profiler, "start_trace", noting)
    return options


def test_a_profile_outlives_the_folder_that_it_was_written_to(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    (profile,) = profiled(lambda: jnp.ones((8, 8)).sum().block_until_ready())
    assert not list(tmp_path.iterdir())
    assert any(plane.name == "/host:CPU" for plane in profile.planes)
    assert gpu_planes(profile) == []


def test_work_that_fails_ends_the_session(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with pytest.raises(ZeroDivisionError):
        profiled(lambda: 1 // 0)
    assert len(profiled(lambda: None)) == 1
    assert not list(tmp_path.iterdir())


def test_kernels_and_counters_ask_for_the_same_but_for_what_is_sampled(asked):
    for record in (kernel_profile.record, lambda work: jax_counters.sample("a.sum", work)):
        with pytest.raises(MeasurementError):
            record(lambda: None)
    kernels, counters = asked
    assert [option.host_tracer_level for option in asked] == [0, 0]
    assert [option.python_tracer_level for option in asked] == [0, 0]
    assert [option.enable_hlo_proto for option in asked] == [False, False]
    assert kernels.advanced_configuration == {}
    assert counters.advanced_configuration == {
        "gpu_pm_sample_counters": "a.sum", "gpu_pm_sample_interval_us": 500,
    }  # fmt: skip
