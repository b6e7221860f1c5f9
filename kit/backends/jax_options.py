"""XLA's compiler options of a GEMM's executable: whose kernels, and which autotune results."""

from pathlib import PurePath

from kit.backends import Build
from kit.xla_options import COMPLETE, DUMP, KERNELS, LOAD


def cuda_options(build: Build) -> dict[str, str]:
    """Options that make XLA compile what `build` says for a GPU.

    XLA reads a file of results once in the life of a process, and writes all that the process has
    tuned after each compilation that asks for it. `COMPLETE` makes it fail where it would tune.
    """
    name, value = KERNELS[build.implementation]
    options = {name: value}
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
