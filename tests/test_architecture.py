"""Who may import whom: the contracts hold, they can break, and the checker runs without JAX."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
LINT = (
    "import sys; from importlinter.cli import lint_imports;"
    "sys.exit(lint_imports(no_cache=True, is_debug_mode=False))"
)
HEAVY = ("jax", "jaxlib", "pynvml", "hydra", "omegaconf", "yaml", "scipy", "matplotlib")


def python(code, cwd, path):
    return subprocess.run(
        [sys.executable, "-c", code], cwd=cwd, env={"PYTHONPATH": str(path)},
        capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip


@pytest.fixture
def copy(tmp_path):
    shutil.copytree(ROOT / "kit", tmp_path / "kit", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    return tmp_path


def test_the_contracts_hold():
    done = python(LINT, ROOT, ROOT)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize(
    ("module", "line", "contract"),
    [
        ("kit/checker/judge.py", "import jax", "JAX in the edges only"),
        ("kit/runner/session.py", "import pynvml", "NVML in the edges only"),
        ("kit/cli/check.py", "import omegaconf", "Hydra in kit.cli.run only"),
        ("kit/bundle/reader.py", "import pickle", "Nothing that could run what it reads"),
        ("kit/checker/judge.py", "import kit.system", "cli > runner > edges"),
        ("kit/checker/judge.py", "import subprocess", "Programs are started in named places"),
        ("kit/workload.py", "import kit.bundle", "cli > runner > edges"),
        ("kit/unplaced.py", "", "cli > runner > edges"),
    ],
)
def test_a_wrong_import_breaks_its_contract(module, line, contract, copy):
    with (copy / module).open("a", encoding="utf-8") as source:
        source.write(f"\n{line}\n")
    done = python(LINT, copy, copy)
    assert done.returncode == 1
    (broken,) = (row for row in done.stdout.splitlines() if " BROKEN" in row)
    assert broken.startswith(contract)


def test_checking_loads_nothing_of_the_measuring_side():
    code = (
        "import sys, kit.cli.check, kit.cli.explain, kit.checker.judge, kit.checker.pool;"
        "from kit.checker.catalogue import all_rules; assert len(all_rules()) > 20;"
        "print(*{name.partition('.')[0] for name in sys.modules});"
        "print(*sorted(name for name in sys.modules if name.startswith('kit.')))"
    )
    done = python(code, ROOT, ROOT)
    loaded, modules = (set(line.split()) for line in done.stdout.splitlines())
    assert "numpy" in loaded
    assert not loaded & set(HEAVY)
    edges = ("kit.runner", "kit.backends", "kit.timing", "kit.telemetry", "kit.system")
    assert not {name for name in modules if name.startswith(edges)}
    assert "kit.checker.judge" in modules
