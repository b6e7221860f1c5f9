"""The honest bundles that manipulations start from: the committed ones, and closed ones."""

from functools import cache
from pathlib import Path

import bundles
import honest_gpu
from kit.bundle.reader import Bundle, parse, read_container

COMMITTED = Path(__file__).parents[2] / "submissions"
_FOLDERS = {
    "guideline": "closed/gemm-kit/h200-sxm/2026-11-30-guideline",
    "formats": "open/gemm-kit/h200-sxm/2026-11-30-formats",
    "prefill": "closed/gemm-kit/h200-sxm/2026-11-30-prefill",
    "cpu": "open/gemm-kit/two-core-cpu/2026-11-29-quick",
}
_BUILT = {
    # The recorded H200 in the closed division, where every clause binds.
    "closed": lambda: bundles.honest_gpu("closed"),
    "held": lambda: bundles.fixed_frequency("closed"),
    "small": bundles.honest_cpu,
    "loop": lambda: bundles.device_loop("closed"),
}
BASES = (*_FOLDERS, *_BUILT)


@cache
def base(name: str) -> Bundle:
    """One honest bundle, as the checker reads it or as the tests build it."""
    if name in _FOLDERS:
        return parse(read_container(COMMITTED / _FOLDERS[name]))
    return _BUILT[name]()


GUIDELINE = "guideline_8192x8192x16384-bf16-nn"
"""The only case of the committed `guideline`; the closed bundle's are those of `bundles`."""
CLOSED, DECODE = honest_gpu.GUIDELINE, honest_gpu.DECODE
PREFILL = "prefill_64x7168x2048-bf16-nn"
"""The only case of the committed `prefill`: a device loop of 91 sets, where 5 outgrow the cache."""
LOOPED = "square_4096-bf16-nn"
"""A case of `formats` that runs as a device loop; some others are single launches."""
