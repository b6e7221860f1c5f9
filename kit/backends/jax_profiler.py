"""What JAX's own profiler saw while a function did its work. Public API alone, no TensorFlow."""

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
from jax.profiler import ProfileData, ProfileOptions

_GPU_PLANE = "/device:GPU:"


def profiled(work: Callable[[], None], **advanced: str | int) -> list[ProfileData]:
    """Run `work`, which waits for the device, under the profiler; the profiles that it wrote.

    `advanced` goes to the profiler as its advanced configuration.
    """
    options = ProfileOptions()
    options.host_tracer_level = 0
    options.python_tracer_level = 0
    options.enable_hlo_proto = False
    options.advanced_configuration = advanced
    with tempfile.TemporaryDirectory(prefix="gemm-kit-profile-") as folder:
        jax.profiler.start_trace(folder, profiler_options=options)
        try:
            work()
        finally:
            jax.profiler.stop_trace()
        return [ProfileData.from_file(str(path)) for path in Path(folder).rglob("*.xplane.pb")]


def gpu_planes(profile: Any) -> list[Any]:
    """What a profile holds of each GPU, as a `ProfilePlane`."""
    return [plane for plane in profile.planes if plane.name.startswith(_GPU_PLANE)]
