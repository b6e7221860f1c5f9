"""How many buffer sets outgrow the cache, and which set launch i uses (clauses M24, M25)."""

from kit.number_format import NumberFormat
from kit.workload import Workload

CACHE_MULTIPLE = 2
MINIMUM_SETS = 2


def input_bytes(workload: Workload, number_format: NumberFormat) -> int:
    """Bytes of one set of input operands (A and B), in the format's true bits."""
    elements = workload.elements("a") + workload.elements("b")
    return -(-elements * number_format.bits // 8)


def output_bytes(workload: Workload, number_format: NumberFormat) -> int:
    """Bytes of one output D."""
    return workload.elements("d") * number_format.output_bits // 8


def sets_required(input_bytes_per_set: int, cache_bytes: int) -> int:
    """Sets whose inputs fill the last-level cache twice, and never fewer than two."""
    return max(MINIMUM_SETS, -(-CACHE_MULTIPLE * cache_bytes // input_bytes_per_set))


def set_of(launch: int, sets: int) -> int:
    """The set that launch number `launch` uses; the count runs on from warm-up into profiling."""
    return launch % sets
