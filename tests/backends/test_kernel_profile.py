"""Profiles to kernels: by hand-made XSpaces, and by JAX's own profiler on a CPU."""

import jax.numpy as jnp
import pytest
from jax.profiler import ProfileData

from kit.backends.kernel_profile import read, record
from kit.errors import MeasurementError

EPOCH_NS = 1_700_000_000_000_000_000


def plane(name, *lines):
    """A plane of (line name, start in ns, [(kernel name, offset in ps, duration in ps)])."""
    names = sorted({event[0] for _, _, events in lines for event in events})
    text = [f'planes {{ name: "{name}"']
    for line, at, events in lines:
        text.append(f' lines {{ name: "{line}" timestamp_ns: {at}')
        for kernel, offset, took in events:
            number = names.index(kernel) + 1
            text.append(
                f"  events {{ metadata_id: {number} offset_ps: {offset} duration_ps: {took} }}"
            )
        text.append(" }")
    for number, kernel in enumerate(names, 1):
        text.append(
            f' event_metadata {{ key: {number} value {{ id: {number} name: "{kernel}" }} }}'
        )
    return "\n".join([*text, "}\n"])


def read_text(*planes):
    return read(ProfileData.from_text_proto("".join(planes)))


STREAM = "Stream #13(Compute)"
GEMMS = (STREAM, 1_000, [("nvjet", 900_000, 2_720_000), ("nvjet", 3_748_000, 2_721_000)])


def test_kernels_of_all_streams_in_order_of_their_start():
    copies = ("Stream #14(MemcpyD2D)", 1_000, [("MemcpyD2D", 0, 800_000)])
    names, table = read_text(plane("/device:GPU:0", GEMMS, copies))
    assert names == ("MemcpyD2D", "nvjet")
    assert table["name"].tolist() == [0, 1, 1]
    assert table["start_ns"].tolist() == [0, 900, 3_748]
    assert table["duration_ns"].tolist() == [800, 2_720, 2_721]


def test_only_the_last_kernels_are_kept_and_named():
    copies = ("Stream #14(MemcpyD2D)", 1_000, [("MemcpyD2D", 0, 800_000)])
    profile = ProfileData.from_text_proto(plane("/device:GPU:0", GEMMS, copies))
    names, table = read(profile, last=2)
    assert names == ("nvjet",)
    assert table["start_ns"].tolist() == [0, 2_848]


def test_other_planes_and_lines_are_not_the_gpus_kernels():
    modules = ("XLA Modules", 0, [("jit_gemms", 0, 9_000_000)])
    host = plane("/host:CPU", ("Stream #1", 0, [("python", 0, 1_000)]))
    names, table = read_text(host, plane("/device:GPU:0", modules, GEMMS))
    assert names == ("nvjet",)
    assert len(table) == 2


def test_a_kernel_too_short_for_the_clock_still_lasts_a_nanosecond():
    _, table = read_text(plane("/device:GPU:0", (STREAM, 0, [("Memset", 0, 0)])))
    assert table["duration_ns"].tolist() == [1]


@pytest.mark.parametrize(
    ("planes", "reason"),
    [
        ([plane("/host:CPU")], "shows 0 GPUs instead of one"),
        ([plane("/device:GPU:0", GEMMS), plane("/device:GPU:1", GEMMS)], "shows 2 GPUs"),
        ([plane("/device:GPU:0", ("XLA Ops", 0, [("nvjet", 0, 1_000)]))], "holds no kernel"),
        ([plane("/device:GPU:0", (STREAM, EPOCH_NS, [("nvjet", 0, 1_000)]))], "too coarse"),
    ],
)
def test_what_cannot_be_kernels_of_one_gpu_is_refused(planes, reason):
    with pytest.raises(MeasurementError, match=reason):
        read_text(*planes)


def test_a_cpu_has_no_plane_of_a_gpu_and_the_work_is_done():
    done = []

    def work():
        done.append(float(jnp.ones((8, 8)).sum()))

    with pytest.raises(MeasurementError, match="the profile shows 0 GPUs instead of one"):
        record(work)
    assert done == [64.0]


def test_the_profiler_is_off_again_after_work_that_failed():
    with pytest.raises(ZeroDivisionError):
        record(lambda: 1 // 0)
    with pytest.raises(MeasurementError, match="0 GPUs"):
        record(lambda: None)
