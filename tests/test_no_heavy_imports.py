"""The checker runs where nothing but its five dependencies is installed, and imports no more."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from bundles import honest_gpu, write
from keys import listing, make_key

FORBIDDEN = {"jax", "jaxlib", "pynvml", "hydra", "omegaconf", "yaml"}
ENVIRONMENT = os.environ | {"PYTHONPATH": str(Path(__file__).resolve().parents[1])}


def loaded_by(code):
    """Top-level modules in a fresh interpreter after `code`."""
    listing = f"{code}\nimport json, sys; print(json.dumps(sorted(sys.modules)))"
    done = subprocess.run(
        [sys.executable, "-c", listing], env=ENVIRONMENT, capture_output=True, text=True, check=True
    )
    return {name.partition(".")[0] for name in json.loads(done.stdout.splitlines()[-1])}


def test_check_and_every_rule():
    loaded = loaded_by(
        "import kit.cli.check, kit.cli.explain, kit.checker.worker, kit.checker.pool\n"
        "from kit.checker.catalogue import all_rules\nassert len(all_rules()) > 20\n"
        "import kit.checker.judge, kit.checker.output.formats\n"
        "import kit.checker.reference, kit.checker.waivers"
    )
    assert {"numpy", "click"} <= loaded
    assert not loaded & FORBIDDEN


def test_judging_a_bundle(tmp_path):
    folder = write(honest_gpu(), tmp_path / "bundle")
    loaded = loaded_by(
        "from pathlib import Path\nfrom kit.checker.judge import judge\n"
        f"assert judge(Path({str(folder)!r})).judgement == 'compliant'"
    )
    assert not loaded & FORBIDDEN


@pytest.mark.parametrize(
    "code",
    [
        "import kit.cli.check",
        "from kit.cli import main; main(['--help'])",
        "from kit.cli import main; main(['check', '--help'])",
        "from kit.cli import main; main(['seal', '--help'])",
        "from kit.cli import main; main(['verify', '--help'])",
    ],
)
def test_help_needs_no_library(code):
    assert not loaded_by(code) & {*FORBIDDEN, "numpy", "jsonschema", "rich"}


def test_the_parent_reads_no_bundle(tmp_path):
    """Whatever parses foreign bytes lives in the worker process."""
    folder = write(honest_gpu(), tmp_path / "bundle")
    somebody = listing(tmp_path / "allowed_signers", ("somebody", "", make_key(tmp_path / "key")))
    arguments = ["check", str(folder), "--allowed-signers", str(somebody)]
    loaded = loaded_by(f"from kit.cli import main\nassert main({arguments!r}) == 0")
    assert not loaded & {*FORBIDDEN, "numpy", "jsonschema"}
