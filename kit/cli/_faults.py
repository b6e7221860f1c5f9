"""What was wrong with an override, in one line: Hydra's and OmegaConf's exceptions explained.

They are told apart by the attributes that say what we need, so that Hydra is imported in one
module only.
"""

from traceback import walk_tb
from typing import Any

from kit.errors import KitError, UsageError
from kit.nearest import did_you_mean
from kit.resources import CONFIGS

_HELP = "see gemm-kit run --help"
_HYDRA = ("hydra", "omegaconf", "antlr4")


def explained(error: Exception) -> Exception:
    """A usage error for what Hydra raised about a configuration; any other exception unchanged."""
    module = type(error).__module__.partition(".")[0]
    if module == "yaml" or (isinstance(error, OSError) and error.filename is not None):
        return _about_files(error)
    if isinstance(error, KitError) or not (module in _HYDRA or _raised_by_hydra(error)):
        return error
    cause: Any = error if hasattr(error, "full_key") else error.__cause__
    if getattr(error, "missing_cfg_file", None):
        return _unknown_option(error)
    if hasattr(error, "override"):
        return UsageError(
            f"cannot parse {error.override}",
            hint="write GROUP=OPTION or KEY=VALUE, with quotes around a value of several words",
        )
    if getattr(cause, "full_key", None):
        return _about_key(cause)
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    problem, hint = " ".join(lines) or type(error).__name__, _HELP
    if problem.startswith("Ambiguous value for argument"):
        problem, hint = lines[0], "-m measures each; [1,2] is a list; quotes make it one text"
    return UsageError(problem, hint=hint)


def _about_files(error: Exception) -> UsageError:
    """What a folder that cannot be written, or a file that is no YAML, means to the user."""
    if isinstance(error, OSError):
        problem = f"cannot write {error.filename}: {error.strerror}"
        return UsageError(problem, hint="choose a folder that can be written to")
    said = " ".join(line.strip() for line in str(error).splitlines())
    return UsageError(f"a configuration file is not YAML: {said}", hint="mend the file")


def _inner_keys(configuration: Any, word: str) -> list[str]:
    """Where a key that is none of the outermost stands in their groups: `workload.layout`."""
    return [
        f"{name}.{word}"
        for name, group in configuration.items_ex(resolve=False)
        if name != "hydra" and word in getattr(group, "keys", tuple)()
    ]


def _raised_by_hydra(error: Exception) -> bool:
    """Whether Hydra itself broke down, over what it was given: it lacks many a check.

    A stream that cannot be written is no fault of a configuration.
    """
    frames = [frame for frame, _ in walk_tb(error.__traceback__)]
    if not frames or getattr(error, "errno", None) is not None:
        return False
    return str(frames[-1].f_globals.get("__name__")).partition(".")[0] in _HYDRA


def _unknown_option(error: Any) -> UsageError:
    group, _, option = error.missing_cfg_file.rpartition("/")
    if not group:
        return UsageError(f"configuration {option} is unknown", hint=_HELP)
    return UsageError(
        f"{group}={option} is unknown", hint=did_you_mean(option, error.options or ())
    )


def _about_key(cause: Any) -> UsageError:
    key = str(cause.full_key)
    kind = type(cause).__name__
    if kind == "MissingMandatoryValue":
        return UsageError(f"{key} has no value yet", hint=f"give it: {key}=VALUE")
    if kind in ("ConfigAttributeError", "ConfigKeyError"):
        parent, _, word = key.rpartition(".")
        known = {str(name) for name in cause.parent_node or ()}
        if not parent:
            known |= {folder.name for folder in CONFIGS.iterdir() if folder.is_dir()}
        nearest = did_you_mean(word, known - {"hydra"})
        if not parent and cause.parent_node and (inner := _inner_keys(cause.parent_node, word)):
            nearest = f"did you mean {' or '.join(inner)}?"
        return UsageError(f"{key} is unknown", hint=nearest)
    first = str(cause).splitlines()[0] if str(cause) else kind
    return UsageError(f"{key}: {first}", hint=_HELP)
