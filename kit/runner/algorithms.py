"""cuBLASLt's algorithms for one product: XLA's autotune results, with another one chosen in them.

XLA times the algorithms in bursts on a rested device, where clocks are high, so that its choice
need not be the fastest at a power limit. cuBLASLt ranks them by its own heuristic, whose first is
what other frameworks launch, and XLA writes down the rank.
"""

import re
from collections.abc import Iterator

_CHOICE = re.compile(r"(\n *)(backend: CUBLASLT\s+backend_config \{\s+gemm \{)([^{}]*)\}")
_RANK = re.compile(r"\s*algorithm: (\d+)")


def algorithm(results: str) -> int | None:
    """The rank that autotune results choose for every product; None if there is not just one."""
    # A field that is zero is left out of the text.
    found = {
        int(rank[1]) if (rank := _RANK.search(choice[3])) else 0
        for choice in _CHOICE.finditer(results)
    }
    return found.pop() if len(found) == 1 else None


def with_algorithm(results: str, rank: int) -> str:
    """The same results with `rank` chosen."""

    def chosen(choice: re.Match[str]) -> str:
        inner = f"{choice[1]}    "
        return f"{choice[1]}{choice[2]}{inner}algorithm: {rank}{_RANK.sub('', choice[3])}}}"

    return _CHOICE.sub(chosen, results)


def others(results: str) -> Iterator[str]:
    """Results for every other rank, from the first on without end; none without a choice."""
    own = algorithm(results)
    rank = 0
    while own is not None:
        if rank != own:
            yield with_algorithm(results, rank)
        rank += 1
