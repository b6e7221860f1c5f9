"""How the kit starts a process of itself: by the same Python, with the same kit, and nothing else.

`-P` keeps the working folder, which may hold anything, off the import path.
"""

import os
import sys
from collections.abc import Mapping
from pathlib import Path

_ROOT = Path(__file__).resolve().parents[1]


def command(module: str, *arguments: str) -> list[str]:
    """The command that runs a module of the kit with this Python."""
    return [sys.executable, "-P", "-m", module, *arguments]


def with_kit(environment: Mapping[str, str]) -> dict[str, str]:
    """The environment in which a child finds this kit first, wherever it was found here."""
    search = os.pathsep.join(filter(None, (str(_ROOT), environment.get("PYTHONPATH"))))
    return {**environment, "PYTHONPATH": search}
