"""Environment variables under which JAX measures something else, and what each may be."""

# XLA, pjrt/gpu: only these let it free memory without waiting for the device.
_ALLOCATORS = ("", "default", "bfc", "cuda_async", "vmm")
_ALLOWED = {
    "PJRT_GPU_ENABLE_ASYNC_DISPATCH": ("", "0", "false"),
    "TF_GPU_ALLOCATOR": (*_ALLOCATORS, "cuda_malloc_async"),
    "XLA_FLAGS": ("",),
    "XLA_PYTHON_CLIENT_ALLOCATOR": _ALLOCATORS,
}
NAMES = tuple(_ALLOWED)


def required(name: str, value: str) -> str | None:
    """What one of `NAMES` has to be instead of `value`; None where that is allowed."""
    allowed = _ALLOWED[name]
    if value.strip().lower() in allowed:
        return None
    others = [other for other in allowed if other]
    return f"unset or {', '.join(others)}" if others else "unset"
