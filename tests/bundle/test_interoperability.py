"""Stock tools read a sealed bundle: coreutils' `sha256sum`, the Library of Congress' `bagit`."""

import subprocess
import sys

import pytest


def sha256sum(folder, manifest):
    return subprocess.run(
        ["sha256sum", "--strict", "--quiet", "-c", manifest],
        cwd=folder,
        capture_output=True,
        check=False,
    )


@pytest.mark.parametrize("manifest", ["tagmanifest-sha256.txt", "manifest-sha256.txt"])
def test_sha256sum(bundle, manifest):
    result = sha256sum(bundle, manifest)
    assert (result.returncode, result.stdout, result.stderr) == (0, b"", b"")


def test_sha256sum_sees_an_altered_file(bundle):
    with (bundle / "data/plan.json").open("a") as file:
        file.write(" ")
    assert sha256sum(bundle, "manifest-sha256.txt").returncode == 1


def test_sha256sum_would_write_the_same_manifest(bundle):
    names = sorted(path.relative_to(bundle).as_posix() for path in (bundle / "data").rglob("*.*"))
    result = subprocess.run(["sha256sum", *names], cwd=bundle, capture_output=True, check=True)
    assert result.stdout == (bundle / "manifest-sha256.txt").read_bytes()


def bagit(folder):
    return subprocess.run(
        [sys.executable, "-m", "bagit", "--validate", str(folder)],
        capture_output=True,
        text=True,
        check=False,
    )


def test_bagit(bundle):
    result = bagit(bundle)
    assert result.returncode == 0, result.stderr
    assert f"{bundle} is valid" in result.stderr


def test_bagit_sees_a_missing_file(bundle):
    (bundle / "data/plan.json").unlink()
    result = bagit(bundle)
    assert result.returncode == 1
    assert "is invalid" in result.stderr


def test_bagit_sees_an_altered_file(bundle):
    text = (bundle / "data/plan.json").read_text()
    (bundle / "data/plan.json").write_text(text.replace('"seed": 7', '"seed": 8'))
    result = bagit(bundle)
    assert result.returncode == 1
    assert "data/plan.json sha256 validation failed" in result.stderr
