"""How many buffer sets outgrow the cache, and which set launch i uses (clauses M24, M25)."""

import math

import numpy as np
from numpy.typing import NDArray

from kit.number_format import NumberFormat
from kit.plan import DispatchMode
from kit.surfaces import byte_size, inputs
from kit.workload import Workload

CACHE_MULTIPLE = 2
MINIMUM_SETS = 2
MOST_SETS = 2**15
"""Sets that the kit rotates and the checker follows: more take minutes to fill."""
MOST_LOOP_SETS = 3_195
"""Sets that a device loop's program, which names every one of them, may take: 2,625 bytes each and
more in the 22 loops of the committed bundles, of the 8 MiB that a bundle's programs may have."""
UNROLL_LIMIT = 64
"""GEMMs in one unrolled executable: enough to hide a call's cost, few enough to compile fast."""
LOOP_TRIPS = 16
"""Trips of a device loop: handing over all sets once costs the host more than their GEMMs take."""
LOOP_BODY_NS = 1_000_000
"""Device time of one trip's GEMMs that keeps its own 1 to 4 µs below half a per cent (H200)."""
SHORTEST_GEMM_NS = 2_000
"""A lower bound of any GEMM's time on a GPU: 128^3 takes 2.0 µs on an H200."""


def input_bytes(workload: Workload, number_format: NumberFormat) -> int:
    """Bytes of one set of inputs (A, B and their scales), in the format's true bits."""
    return sum(byte_size(workload, number_format, name) for name in inputs(number_format))


def output_bytes(workload: Workload, number_format: NumberFormat) -> int:
    """Bytes of one output D."""
    return byte_size(workload, number_format, "d")


def sets_required(input_bytes_per_set: int, cache_bytes: int) -> int:
    """Sets whose inputs fill the last-level cache twice, and never fewer than two."""
    return max(MINIMUM_SETS, -(-CACHE_MULTIPLE * cache_bytes // input_bytes_per_set))


def most_sets(mode: DispatchMode) -> int:
    """Sets that a mode may rotate."""
    return MOST_LOOP_SETS if mode == "device_loop" else MOST_SETS


def sets_per_call(mode: DispatchMode, sets: int) -> int:
    """Sets that one call goes through: one, a chunk of at most `UNROLL_LIMIT`, or all."""
    if mode == "single":
        return 1
    if mode == "device_loop":
        return sets
    chunks = -(-sets // UNROLL_LIMIT)
    return -(-sets // chunks)


def calls_for(launches: float, per_call: int) -> int:
    """Calls of so many GEMMs that make at least so many launches, and at least one."""
    return max(1, math.ceil(launches / per_call))


def trips_per_call(mode: DispatchMode) -> int:
    """How often one call goes through its sets."""
    return LOOP_TRIPS if mode == "device_loop" else 1


def sets_for(mode: DispatchMode, minimum: int, period_ns: float) -> int:
    """Sets that a mode rotates: `minimum`, rounded up to whole calls, or enough for a loop's body.

    `period_ns` estimates one GEMM; infinite where `minimum` fills a loop's body in any case.
    """
    if mode == "device_loop":
        return max(minimum, math.ceil(LOOP_BODY_NS / max(1.0, period_ns)))
    per_call = sets_per_call(mode, minimum)
    return -(-minimum // per_call) * per_call


def set_of(launch: int, sets: int) -> int:
    """The set of a launch, counted from the first window's first: on from warm-up to profiling."""
    return launch % sets


def uses_per_set(
    first_launch: NDArray[np.int64], launches: NDArray[np.int64], sets: int
) -> tuple[int, int]:
    """How often the least and the most used set come up in windows of consecutive launches."""
    first, rest = first_launch % sets, launches % sets
    end = first + rest
    # Each window adds one use from its first set on and takes it back behind its last one.
    steps = np.bincount(first, minlength=sets + 1)
    steps -= np.bincount(np.minimum(end, sets), minlength=sets + 1)
    beyond = end[end > sets] - sets
    steps -= np.bincount(beyond, minlength=sets + 1)
    steps[0] += len(beyond)
    uses = np.cumsum(steps)[:sets] + int(np.sum(launches // sets))
    return int(uses.min()), int(uses.max())
