import getpass
import json
import os
import re
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from kit.evidence import Environment
from kit.records import from_json, to_json
from kit.system import environment, settings
from kit.system.fingerprint import operating_system, packages

SECRETS = {
    "USER": "alice.liddell",
    "LOGNAME": "alice.liddell",
    "HOME": "/home/alice.liddell",
    "HOSTNAME": "wonderland-17",
    "AWS_SECRET_ACCESS_KEY": "wJalrXUtnFEMI-K7MDENG",
    "GITHUB_TOKEN": "ghp_0123456789abcdefghij",
    "XLA_FLAGS": "--xla_dump_to=/home/alice.liddell/x --token=ghp_0123456789abcdefghij",
    "JAX_PLATFORMS": "alice.liddell",
    "JAX_COMPILATION_CACHE_DIR": "/home/alice.liddell/cache",
    "JAX_COORDINATOR_ADDRESS": "wonderland-17:4321",
    "CUDA_VISIBLE_DEVICES": "GPU-8f4a1c2e-0b3d-4e5f-a6b7-c8d9e0f1a2b3",
    "LD_PRELOAD": "/home/alice.liddell/hook.so",
    "OMP_NUM_THREADS": "2; wonderland-17",
    "XLA_PYTHON_CLIENT_MEM_FRACTION": "https://alice:pw@wonderland-17/",
    "TMPDIR": "/tmp",
}
PROGRAM = """
import json
from kit.records import to_json
from kit.system import cpu_facts, environment, settings
print(json.dumps(to_json(environment({"cublas": "13.1"}, settings(), (cpu_facts(),)))))
"""


def test_a_hostile_environment_leaves_no_trace():
    checkout = Path(__file__).resolve().parents[2]
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], check=True, capture_output=True, text=True,
        env={**SECRETS, "PATH": os.environ["PATH"], "PYTHONPATH": str(checkout)},
    )  # fmt: skip
    found = done.stdout
    for word in ("alice", "wonderland", "wJalr", "ghp_", "8f4a1c2e", "/home", "://", str(checkout)):
        assert word not in found
    for word in {getpass.getuser(), socket.gethostname()}:
        assert not re.search(rf'"[^"]*\b{re.escape(word)}\b[^"]*"', found), word
    document = from_json(Environment, json.loads(found))
    assert document.settings["JAX_PLATFORMS"] == "<hidden>"
    assert document.settings["XLA_FLAGS"] == "--xla_dump_to=<hidden> <hidden>"
    assert document.settings["CUDA_VISIBLE_DEVICES"].startswith("gpu-")
    assert "AWS_SECRET_ACCESS_KEY" not in document.settings


def test_this_machine_is_described():
    found = environment({"nvml": "13"}, {**settings(), "x": "/home/alice"}, ())
    assert found.settings["x"] == "<hidden>"
    assert found.python == ".".join(map(str, sys.version_info[:3]))
    assert found.kernel.startswith("Linux ")
    assert found.cpu_logical_cores == os.cpu_count()
    assert found.packages == packages()
    assert {"jax", "jaxlib", "numpy", "nvidia-ml-py"} <= set(found.packages)
    assert from_json(Environment, to_json(found)) == found


def test_a_package_is_its_name_and_a_plain_version(tmp_path, monkeypatch):
    folder = tmp_path / "hydra_core-1.dist-info"
    folder.mkdir()
    metadata = "Metadata-Version: 2.1\nName: hydra-core\nVersion: file:///home/alice/x\n"
    (folder / "METADATA").write_text(metadata)
    monkeypatch.syspath_prepend(tmp_path)
    assert packages()["hydra-core"] == "<hidden>"


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ('NAME=x\nPRETTY_NAME="Ubuntu 24.04.1 LTS"\nID=y', "Ubuntu 24.04.1 LTS"),
        ("PRETTY_NAME=Debian GNU/Linux 12 (bookworm)", "Debian GNU/Linux 12 (bookworm)"),
        ('PRETTY_NAME="x;`id`"', "Linux"),
        ("", "Linux"),
    ],
)
def test_the_system_is_the_name_of_os_release(tmp_path, text, name):
    (tmp_path / "etc").mkdir()
    (tmp_path / "etc" / "os-release").write_text(text)
    assert operating_system(tmp_path) == name
