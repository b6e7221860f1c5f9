"""JAX ran under a setting that changes what is measured.

## What it checks
`environment.settings` holds no XLA_FLAGS, no allocator but `default`, `bfc`, `cuda_async` and
`vmm`, and no PJRT_GPU_ENABLE_ASYNC_DISPATCH but 0.

## Why it matters
XLA_FLAGS bypass the options that the bundle records for each program. The allocators `platform`
and `address` make JAX wait for the device after every launch. Asynchronous dispatch launches from
another thread, so that event and launch may change places.

## How to fix
Unset the variable and measure again; compiler options belong to the plan.

## Clause
M26: a result is reproducible from its recorded options alone.

## Example
Passes: `XLA_PYTHON_CLIENT_ALLOCATOR: cuda_async`.
Fails: `XLA_FLAGS: --xla_gpu_enable_triton_gemm=true`.
"""

from collections.abc import Iterator

from kit.bundle.layout import ENVIRONMENT
from kit.bundle.reader import Bundle
from kit.checker.rule import Finding, rule
from kit.jax_variables import NAMES, required
from kit.ruleset import Ruleset


@rule("GK107", "setting-forbidden", clauses=("M26",), since="2026.1")
def check(bundle: Bundle, _rules: Ruleset) -> Iterator[Finding]:
    """Compare the settings that matter with what each may be."""
    settings = bundle.environment.settings
    for name in NAMES:
        found = settings.get(name)
        wanted = None if found is None else required(name, found)
        if found is not None and wanted is not None:
            yield Finding(f"{ENVIRONMENT}: settings.{name}", found, wanted)
