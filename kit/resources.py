"""Where the kit's JSON Schemas and Hydra configs lie, installed or in a checkout."""

from pathlib import Path

_PACKAGE = Path(__file__).resolve().parent


def _shipped(name: str) -> Path:
    """Return `kit/<name>` of an installed wheel, `<checkout>/<name>` otherwise."""
    installed = _PACKAGE / name
    return installed if installed.is_dir() else _PACKAGE.parent / name


SCHEMAS = _shipped("schemas")
CONFIGS = _shipped("configs")
