"""Wheel, source distribution, editable install and bare checkout: each finds the kit's data.

Every install is real, in a virtual environment of its own and without network: what the kit needs
is lent to it from the environment of the tests.
"""

import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import venv
import zipfile
from importlib.metadata import distribution
from pathlib import Path

import pytest
from packaging.requirements import Requirement

ROOT = Path(__file__).resolve().parents[1]
OURS = ("kit", "schemas", "configs")
LENT = Path(sysconfig.get_path("purelib"))
# Prints where the data was found and how many files it has, from whatever directory.
FIND = (
    "from kit.resources import CONFIGS, SCHEMAS; import kit;"
    "print(kit.__file__, len(list(SCHEMAS.glob('*.json'))), len(list(CONFIGS.rglob('*.yaml'))))"
)


def run(*command, cwd, check=True, **environment):
    clean = {key: value for key, value in os.environ.items() if not key.startswith("PYTHON")}
    done = subprocess.run(
        [str(word) for word in command], cwd=cwd, env={**clean, **environment}, check=False,
        capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    assert not check or done.returncode == 0, done.stdout + done.stderr
    return done


def shipped_files():
    """Every file that belongs in a wheel, as it lies in the checkout."""
    return {
        path.relative_to(ROOT).as_posix()
        for folder in OURS
        for path in (ROOT / folder).rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }


def inside_wheel(path):
    return path if path.startswith("kit/") else f"kit/{path}"


@pytest.fixture(scope="module")
def checkout(tmp_path_factory):
    """Copy the source tree, so that builds leave nothing behind here."""
    copy = tmp_path_factory.mktemp("source") / "gemm-kit"
    kept = (*OURS, "tests", "requirements", ".ci")
    copy.mkdir()
    for name in kept:
        shutil.copytree(
            ROOT / name, copy / name, ignore=shutil.ignore_patterns("__pycache__", "data")
        )
    for path in ROOT.iterdir():
        if path.is_file():
            shutil.copy(path, copy)
    return copy


@pytest.fixture(scope="module")
def built(checkout, tmp_path_factory):
    """Build the source distribution and, from the checkout, the wheel."""
    out = tmp_path_factory.mktemp("dist")
    run(sys.executable, "-m", "hatchling", "build", "-d", out, cwd=checkout)
    (wheel,), (sdist,) = out.glob("*.whl"), out.glob("*.tar.gz")
    return wheel, sdist


@pytest.fixture
def environment(tmp_path):
    """Make a virtual environment; returns how to install into it and how to run its Python."""
    return Environment(tmp_path / "venv")


class Environment:
    def __init__(self, folder):
        venv.create(folder, with_pip=False, symlinks=True)
        self.python = folder / "bin/python"
        self.command = folder / "bin/gemm-kit"
        (self.packages,) = folder.glob("lib/python*/site-packages")

    def lend_everything(self):
        (self.packages / "lent.pth").write_text(f"{LENT}\n")

    def lend(self, names):
        """Link the named distributions and nothing else."""
        for name in names:
            for file in distribution(name).files:
                top = file.parts[0]
                if top not in ("..", "__pycache__") and not (self.packages / top).exists():
                    (self.packages / top).symlink_to(LENT / top)

    def install(self, *what, cwd):
        pip = (sys.executable, "-m", "pip", "--disable-pip-version-check", "--python", self.python)
        run(*pip, "install", "--no-index", "--no-deps", "--no-build-isolation", *what, cwd=cwd)

    def found(self, cwd):
        package, schemas, configs = run(self.python, "-c", FIND, cwd=cwd).stdout.split()
        return Path(package), int(schemas), int(configs)

    def plan(self, cwd):
        """Compose a plan, which needs configs, and validate it, which needs schemas."""
        done = run(self.command, "plan", "suite=quick", "--out", "plan.json", cwd=cwd)
        assert "square_256-fp32-nn" in done.stdout
        return (cwd / "plan.json").read_bytes()


SCHEMAS = len(list((ROOT / "schemas").glob("*.json")))
CONFIGS = len(list((ROOT / "configs").rglob("*.yaml")))


def test_the_wheel_holds_exactly_the_shipped_files(built):
    with zipfile.ZipFile(built[0]) as wheel:
        names = {name for name in wheel.namelist() if ".dist-info/" not in name}
        licence = [name for name in wheel.namelist() if name.endswith("licenses/LICENSE")]
        assert b"Apache License" in wheel.read(licence[0])
    assert names == {inside_wheel(path) for path in shipped_files()}
    assert not [name for name in names if re.match(r"kit/(configs|schemas)/.*\.py", name)]


def test_the_source_distribution_holds_what_building_and_testing_need(built):
    with tarfile.open(built[1]) as sdist:
        names = {name.partition("/")[2] for name in sdist.getnames()}
    assert shipped_files() <= names
    assert {
        "pyproject.toml",
        "README.md",
        "LICENSE",
        "Makefile",
        "requirements/test.txt",
        ".ci/run",
    } <= names
    assert "tests/test_packaging.py" in names


def test_installed_from_the_wheel(built, environment, tmp_path):
    environment.lend_everything()
    environment.install(built[0], cwd=tmp_path)
    package, *counts = environment.found(tmp_path)
    assert environment.packages in package.parents
    assert counts == [SCHEMAS, CONFIGS]
    assert environment.plan(tmp_path)


def test_installed_from_the_source_distribution(built, environment, tmp_path):
    environment.lend_everything()
    environment.install(built[1], cwd=tmp_path)
    package, *counts = environment.found(tmp_path)
    assert environment.packages in package.parents
    assert counts == [SCHEMAS, CONFIGS]


def test_installed_editable(checkout, environment, tmp_path):
    environment.lend_everything()
    environment.install("--editable", checkout, cwd=tmp_path)
    package, *counts = environment.found(tmp_path)
    assert package == checkout / "kit/__init__.py"
    assert counts == [SCHEMAS, CONFIGS]
    assert not (environment.packages / "kit").exists()
    # An edit in the checkout is live.
    option = checkout / "configs/workload/edited.yaml"
    option.write_text("name: edited\nm: 8\nn: 8\nk: 8\nbatch: 1\nlayout: nn\n")
    try:
        done = run(environment.command, "plan", "workload=edited", cwd=tmp_path)
    finally:
        option.unlink()
    assert "edited-fp32-nn" in done.stdout


def test_a_bare_checkout_on_the_path(checkout, environment, tmp_path):
    environment.lend_everything()
    path = {"PYTHONPATH": str(checkout)}
    done = run(environment.python, "-c", FIND, cwd=tmp_path, **path)
    assert done.stdout.split() == [str(checkout / "kit/__init__.py"), str(SCHEMAS), str(CONFIGS)]
    done = run(environment.python, "-m", "kit", "plan", "suite=quick", cwd=tmp_path, **path)
    assert "square_256-fp32-nn" in done.stdout


def test_the_checker_alone(built, environment, tmp_path):
    """`pip install gemm-kit` without extras: what it declares is enough, and JAX is not there."""
    environment.lend(core_distributions())
    environment.install(built[0], cwd=tmp_path)
    probe = "import importlib.util as u; print(*(n for n in {names!r} if u.find_spec(n)))"
    absent = ("jax", "jaxlib", "hydra", "omegaconf", "yaml", "pynvml", "scipy")
    assert run(environment.python, "-c", probe.format(names=absent), cwd=tmp_path).stdout == "\n"

    checked = run(environment.command, "check", tmp_path / "nothing", cwd=tmp_path, check=False)
    assert checked.returncode == 2
    assert "Traceback" not in checked.stderr
    (tmp_path / "empty").mkdir()
    checked = run(environment.command, "check", "empty", cwd=tmp_path, check=False)
    assert checked.returncode in (2, 3)
    assert "Traceback" not in checked.stderr
    explained = run(environment.command, "explain", cwd=tmp_path)
    assert "GK" in explained.stdout

    measured = run(environment.command, "run", cwd=tmp_path, check=False)
    assert measured.returncode == 2
    assert "pip install '.[run]' in the checkout" in measured.stderr


def core_distributions():
    """Names of what gemm-kit requires without extras, and of what that requires in turn."""
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    listed = re.search(r"^dependencies = \[(.*?)^\]", text, re.MULTILINE | re.DOTALL)
    pending = [Requirement(word) for word in re.findall(r'"([^"]+)"', listed[1])]
    names = set()
    while pending:
        requirement = pending.pop()
        if requirement.name in names or not _applies(requirement):
            continue
        names.add(requirement.name)
        pending += [Requirement(line) for line in distribution(requirement.name).requires or ()]
    return names


def _applies(requirement):
    return requirement.marker is None or requirement.marker.evaluate({"extra": ""})


@pytest.mark.parametrize("name", ["build.txt", "demo.txt", "test.txt"])
def test_requirements_are_pinned_hashed_and_name_no_host(name):
    text = (ROOT / "requirements" / name).read_text(encoding="utf-8")
    pins = re.split(r"\n(?=\S)", text.strip())
    assert len(pins) > 5
    for pin in pins:
        assert re.match(r"[a-z0-9-]+==[0-9][\w.]*", pin), pin
        assert re.search(r"--hash=sha256:[0-9a-f]{64}", pin), pin
    assert "://" not in text
    assert "--index" not in text


def test_requirements_cover_what_the_extras_ask_for():
    build, demo, test = (pins(name) for name in ("build", "demo", "test"))
    assert {"jax", "hydra-core", "omegaconf", "nvidia-ml-py", "antlr4-python3-runtime"} <= demo
    assert core_distributions() <= demo
    assert demo <= test
    assert {"hatchling", "editables", "setuptools"} <= build


def pins(name):
    text = (ROOT / f"requirements/{name}.txt").read_text(encoding="utf-8")
    return set(re.findall(r"^([a-z0-9-]+)==", text, re.MULTILINE))
