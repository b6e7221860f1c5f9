"""Names and values of XLA's compiler options that decide whose kernels run, and which tuning."""

from kit.plan import Implementation

# Library: exactly one cuBLASLt call for each product, with no Triton fusions.
KERNELS: dict[Implementation, tuple[str, str]] = {
    "library": ("xla_gpu_enable_triton_gemm", "False"),
    "triton": ("xla_gpu_cublas_fallback", "False"),
}
DUMP = "xla_gpu_dump_autotune_results_to"
LOAD = "xla_gpu_load_autotune_results_from"
COMPLETE = "xla_gpu_require_complete_aot_autotune_results"
"""With it XLA fails where it would have to tune."""
