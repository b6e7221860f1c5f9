"""Which kit is this: its version, and its commit when it runs from a checkout of its own?"""

import os
import subprocess
from pathlib import Path

import kit
from kit.evidence import KitVersion

# What decides the kit's behaviour; bundles and notes beside it do not make a checkout unclean.
_OWN = ("kit", "schemas", "configs", "pyproject.toml")
_TIMEOUT_S = 10.0


def kit_version(package: Path | None = None) -> KitVersion:
    """Version, commit and cleanness; the last two are null unless `package` lies in a checkout.

    Git runs without the user's or the system's configuration, hooks, prompts or file watcher, and
    only if the folder that holds the package is itself the top of a repository.
    """
    top = (package or Path(kit.__file__).parent).resolve().parent
    if not (top / ".git").exists():
        return KitVersion(kit.__version__, None, None)
    commit = _git(top, "rev-parse", "--verify", "HEAD")
    changes = _git(top, "status", "--porcelain", "--untracked-files=normal", "--", *_OWN)
    if commit is None or changes is None:
        return KitVersion(kit.__version__, None, None)
    return KitVersion(kit.__version__, commit, changes == "")


def _git(top: Path, *arguments: str) -> str | None:
    """Output of one git command in `top`, None if git is absent or refuses."""
    safe = [
        f"safe.directory={top}", "core.fsmonitor=false", f"core.hooksPath={os.devnull}",
    ]  # fmt: skip
    command = ["git", "-C", str(top), *(word for setting in safe for word in ("-c", setting))]
    environment = {
        "PATH": os.environ.get("PATH", os.defpath),
        "LC_ALL": "C",
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_OPTIONAL_LOCKS": "0",
        "GIT_TERMINAL_PROMPT": "0",
    }
    try:
        done = subprocess.run(
            [*command, *arguments], env=environment, stdin=subprocess.DEVNULL,
            capture_output=True, timeout=_TIMEOUT_S, check=False,
        )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.decode(errors="replace").strip() if done.returncode == 0 else None
