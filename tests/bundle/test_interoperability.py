"""Stock tools read a sealed bundle: coreutils' `sha256sum`, the Library of Congress' `bagit`."""

import subprocess

import bagit
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


def test_bagit(bundle):
    bag = bagit.Bag(str(bundle))
    assert bag.validate()
    assert bag.version_info == (1, 0)
    assert bag.info["External-Identifier"] == "small"
    assert bag.info["Kit-Bundle-Format"] == "1"
    assert set(bag.payload_entries()) == {
        path.relative_to(bundle).as_posix()
        for path in (bundle / "data").rglob("*")
        if path.is_file()
    }


def test_bagit_sees_a_missing_file(bundle):
    (bundle / "data/plan.json").unlink()
    with pytest.raises(bagit.BagValidationError):
        bagit.Bag(str(bundle)).validate()
