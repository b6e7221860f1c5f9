"""XLA's compiler options of a GEMM's executable: whose kernels, and which autotune results."""

from pathlib import PurePath

from kit.backends import Build
from kit.plan import Implementation

# Library: exactly one cuBLASLt call for each product, with no Triton fusions.
_KERNELS: dict[Implementation, dict[str, str]] = {
    "library": {"xla_gpu_enable_triton_gemm": "False"},
    "triton": {"xla_gpu_cublas_fallback": "False"},
}
DUMP = "xla_gpu_dump_autotune_results_to"
LOAD = "xla_gpu_load_autotune_results_from"
COMPLETE = "xla_gpu_require_complete_aot_autotune_results"


def cuda_options(build: Build) -> dict[str, str]:
    """Options that make XLA compile what `build` says for a GPU.

    XLA reads a file of results once in the life of a process, and writes all that the process has
    tuned after each compilation that asks for it. `COMPLETE` makes it fail where it would tune.
    """
    options = dict(_KERNELS[build.implementation])
    if build.dump_to is not None:
        options[DUMP] = build.dump_to
    if build.load_from is not None:
        options |= {LOAD: build.load_from, COMPLETE: "True"}
    return options


def recorded(options: dict[str, str]) -> dict[str, str]:
    """The options without this machine's folders."""
    return {
        name: PurePath(value).name if name in (DUMP, LOAD) else value
        for name, value in options.items()
    }
