"""Honest hardware counters: what Nsight Compute counted on an H200, scaled to a case's operands."""

from honest_kernels import GEMM
from kit.counters import (
    BYTES,
    DRAM_READ,
    DRAM_UTILISATION,
    DRAM_WRITE,
    L2_BYTES,
    L2_HIT_RATE,
    L2_UTILISATION,
    MILLIPERCENT,
    MULTICAST,
    SM_UTILISATION,
    Counter,
    DeviceCounters,
    without,
)

# Bytes read over A + B: 2048^3 with 8 and 8192^3 with 2 buffer sets, bf16, four GEMMs each.
READ_ONCE = (16_817_408, 16_782_592, 16_779_264, 16_779_008), 16_777_216
READ_AGAIN = (1_206_526_976, 1_204_704_000, 1_205_142_528, 1_206_865_408), 268_435_456


def device_counters(plan, case, device, rotation):
    """The document of one case and device under the plan's tool."""
    tool = plan.counters.tool
    if tool == "none":
        reason = "counters=none"
        return DeviceCounters(case.id, device, tool, None, "not_asked", reason, None, None, ())
    assert tool == "ncu"
    counted, of = READ_AGAIN if case.workload.m > 1024 else READ_ONCE
    read = [value * rotation.input_bytes_per_set // of for value in counted]
    counters = (
        _counter(DRAM_READ, BYTES, rotation, read),
        _counter(DRAM_WRITE, BYTES, rotation, [rotation.output_bytes_per_set] * 4),
        _counter(L2_BYTES, BYTES, rotation, [3 * value for value in read]),
        _counter(L2_HIT_RATE, MILLIPERCENT, rotation, [72_310, 72_305, 72_298, 116_002]),
        _counter(SM_UTILISATION, MILLIPERCENT, rotation, [91_240, 91_233, 91_250, 91_236], 9),
        _counter(DRAM_UTILISATION, MILLIPERCENT, rotation, [31_020, 31_033, 31_019, 31_027], 2),
        _counter(L2_UTILISATION, MILLIPERCENT, rotation, [48_120, 48_131, 48_119, 48_127], 4),
        without(MULTICAST, "count", "not_available", "no counter of multicast"),
    )
    return DeviceCounters(
        case.id, device, tool, "2025.3.1.0", "ok", "", "single", rotation.sets, counters
    )


def _counter(name, unit, rotation, values, passes=1):
    sets = tuple(i % rotation.sets for i in range(len(values)))
    kernels = (GEMM,)
    return Counter(name, unit, "ok", "", passes, 1, len(values), kernels, sets, tuple(values))
