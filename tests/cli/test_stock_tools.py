"""Stock tools and the kit agree: coreutils' sha256sum, the Library of Congress' bagit, ssh-keygen.

Where a tool cannot see a change, the table says so, and the kit must see it all the same.
"""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from bundles import honest_gpu, reseal, with_plan, with_system, write
from keys import listing, make_key, stock_sign, stock_verify
from kit.bundle.reader import read_container
from kit.cli import main
from kit.resources import CONFIGS

SIGNATURE = "signatures/vendor.sshsig"
NAMESPACE = "gemm-kit-bundle-v1"
SUBMITTER = "example"
COMMITTED = sorted(path.parent for path in (CONFIGS.parent / "submissions").rglob("bagit.txt"))


@pytest.fixture(scope="module")
def key(tmp_path_factory):
    return make_key(tmp_path_factory.mktemp("keys") / "vendor")


@pytest.fixture(scope="module")
def signed(tmp_path_factory, key):
    """A bundle that its submitter signed with the kit."""
    folder = write(honest_gpu(), tmp_path_factory.mktemp("signed") / "gpu")
    assert main(["seal", str(folder), "--key", str(key)]) == 0
    return folder


@pytest.fixture
def allowed(tmp_path, key):
    return listing(tmp_path / "allowed_signers", (SUBMITTER, f'namespaces="{NAMESPACE}"', key))


def succeeds(*command, folder=None):
    done = subprocess.run(command, cwd=folder, capture_output=True, check=False, timeout=60)
    return done.returncode == 0


def sums(folder, manifest):
    return succeeds("sha256sum", "--strict", "--quiet", "-c", manifest, folder=folder)


def opinions(folder, allowed, submitter=SUBMITTER):
    """What each stock tool thinks of a bundle."""
    return {
        "payload": sums(folder, "manifest-sha256.txt"),
        "tags": sums(folder, "tagmanifest-sha256.txt"),
        "bagit": succeeds(sys.executable, "-m", "bagit", "--validate", str(folder)),
        "ssh": stock_verify(
            allowed, submitter, NAMESPACE, folder / SIGNATURE,
            (folder / "tagmanifest-sha256.txt").read_bytes(),
        ),
    }  # fmt: skip


def verify(folder, allowed):
    return main(["verify", str(folder), "--allowed-signers", str(allowed)])


@pytest.mark.parametrize("folder", COMMITTED, ids=lambda path: path.name)
@pytest.mark.parametrize("signer", ["kit", "ssh-keygen"])
def test_every_tool_accepts_a_real_bundle(signer, folder, key, tmp_path):
    copy = shutil.copytree(folder, tmp_path / "copy")
    if signer == "kit":
        assert main(["seal", str(copy), "--key", str(key)]) == 0
    else:
        (copy / "signatures").mkdir()
        sealed = (copy / "tagmanifest-sha256.txt").read_bytes()
        (copy / SIGNATURE).write_bytes(stock_sign(key, NAMESPACE, sealed))
    allowed = listing(tmp_path / "allowed_signers", ("gemm-kit", "", key))
    assert opinions(copy, allowed, "gemm-kit") == dict.fromkeys(
        ("payload", "tags", "bagit", "ssh"), True
    )
    assert verify(copy, allowed) == 0
    assert read_container(copy).digest == read_container(folder).digest
    assert main(["check", str(copy), "--allowed-signers", str(allowed), "--require-signer"]) == 0


def append(path):
    path.write_bytes(path.read_bytes() + b"\n")


def edit(folder):
    append(folder / "data/system.json")


def edit_and_seal(folder):
    edit(folder)
    reseal(folder)


def lose(folder):
    (folder / "data/journal.json").unlink()


def lose_and_seal(folder):
    lose(folder)
    reseal(folder)


def add(folder):
    (folder / "data/more.json").write_text("{}")


def edit_manifest(folder):
    manifest = folder / "manifest-sha256.txt"
    manifest.write_bytes(manifest.read_bytes().replace(b"a", b"b", 1))


def edit_bag_info(folder):
    path = folder / "bag-info.txt"
    path.write_bytes(path.read_bytes().replace(b"gemm-kit ", b"gemm-kit 9", 1))


def add_on_top(folder):
    (folder / "notes.txt").write_text("unlisted")


def link(folder):
    path = folder / "data/journal.json"
    path.rename(folder.with_name("outside.json"))
    path.symlink_to(folder.with_name("outside.json"))


def cut_signature(folder):
    path = folder / SIGNATURE
    path.write_bytes(path.read_bytes()[:-60])


def unsign(folder):
    (folder / SIGNATURE).unlink()


ALTERED = [
    # what was done     sha256sum of payload and tags, bagit, ssh-keygen; exit code of verify
    (edit, (False, True, False, True), 1),
    (edit_and_seal, (True, True, True, False), 1),
    (lose, (False, True, False, True), 1),
    (lose_and_seal, (True, True, True, False), 1),
    (add, (True, True, False, True), 1),
    (edit_manifest, (False, False, False, True), 1),
    (edit_bag_info, (True, False, False, True), 1),
    (cut_signature, (True, True, True, False), 1),
    (unsign, (True, True, True, False), 1),
    (link, (True, True, False, True), 3),
    # What no stock tool sees:
    (add_on_top, (True, True, True, True), 3),
]


@pytest.mark.parametrize(
    ("alter", "expected", "code"), ALTERED, ids=[alter.__name__ for alter, _, _ in ALTERED]
)
def test_what_was_altered(alter, expected, code, signed, allowed, tmp_path):
    copy = shutil.copytree(signed, tmp_path / "copy")
    alter(copy)
    assert tuple(opinions(copy, allowed).values()) == expected
    assert verify(copy, allowed) == code
    checked = main(["check", str(copy), "--allowed-signers", str(allowed), "--require-signer"])
    assert checked in (1, 3)


def documented():
    """The commands of README's section on identity, in their order."""
    readme = (CONFIGS.parent / "README.md").read_text(encoding="utf-8")
    section = readme.partition("\n## Identity and freshness\n")[2].partition("\n## ")[0]
    lines = section.replace("\\\n", " ").splitlines()
    return [
        line.strip() for line in lines if re.match("    (gemm-kit|\\(cd|bagit|ssh-keygen)", line)
    ]


def test_the_documented_commands(tmp_path, key):
    """Vendor, auditor and third party share a folder, and here a key too."""
    acme = with_plan(honest_gpu(), submission__submitter="acme")
    write(with_system(acme, submitter="acme"), tmp_path / "bundle").rename(tmp_path / "BUNDLE")
    listing(
        tmp_path / "allowed_signers",
        ("acme", f'namespaces="{NAMESPACE}"', key),
        ("auditor@example.org", 'namespaces="gemm-kit-verdict-v1"', key),
    )
    (tmp_path / ".ssh").mkdir()
    shutil.copy(key, tmp_path / ".ssh/id_ed25519")
    (tmp_path / "bin").mkdir()
    program = tmp_path / "bin/gemm-kit"
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m kit "$@"\n')
    program.chmod(0o755)
    search = f"{tmp_path}/bin:{Path(sys.executable).parent}:{os.environ['PATH']}"
    commands = documented()
    assert len(commands) == 10
    for command in commands:
        done = subprocess.run(
            ["bash", "-c", command], cwd=tmp_path, capture_output=True, check=False, timeout=120,
            env={"PATH": search, "HOME": str(tmp_path), "PYTHONPATH": str(CONFIGS.parent)},
        )  # fmt: skip
        assert done.returncode == 0, (command, done.stdout, done.stderr)
