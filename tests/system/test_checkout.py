import subprocess

import pytest

import kit
from kit.evidence import KitVersion
from kit.system.checkout import kit_version


def git(folder, *arguments):
    identity = ["-c", "user.name=x", "-c", "user.email=x@example.org"]
    done = subprocess.run(
        ["git", "-C", folder, *identity, *arguments], capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


@pytest.fixture
def checkout(tmp_path):
    (tmp_path / "kit").mkdir()
    (tmp_path / "kit" / "__init__.py").write_text("")
    (tmp_path / ".gitignore").write_text("*.pyc\n")
    git(tmp_path, "init", "-q")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "-q", "-m", "first")
    return tmp_path


def test_a_clean_checkout_is_its_commit(checkout):
    found = kit_version(checkout / "kit")
    assert found == KitVersion(kit.__version__, git(checkout, "rev-parse", "HEAD"), clean=True)


def test_what_lies_beside_the_kit_does_not_make_it_unclean(checkout):
    (checkout / "submissions").mkdir()
    (checkout / "submissions" / "bundle").write_text("x")
    (checkout / "kit" / "x.pyc").write_text("x")
    assert kit_version(checkout / "kit").clean is True


@pytest.mark.parametrize("path", ["kit/__init__.py", "kit/new.py", "configs/new.yaml"])
def test_a_change_to_the_kit_makes_it_unclean(checkout, path):
    (checkout / path).parent.mkdir(exist_ok=True)
    (checkout / path).write_text("changed")
    assert kit_version(checkout / "kit").clean is False


def test_an_installed_kit_has_no_commit_even_inside_another_repository(checkout):
    package = checkout / "venv" / "site-packages" / "kit"
    package.mkdir(parents=True)
    assert kit_version(package) == KitVersion(kit.__version__, None, None)


def test_without_git_there_is_no_commit(checkout, monkeypatch):
    monkeypatch.setenv("PATH", str(checkout))
    assert kit_version(checkout / "kit").commit is None


def test_git_runs_nothing_that_the_repository_names(checkout):
    trap = checkout / "trap.sh"
    trap.write_text(f"#!/bin/sh\ntouch {checkout}/sprung\n")
    trap.chmod(0o755)
    git(checkout, "config", "core.fsmonitor", str(trap))
    hook = checkout / ".git" / "hooks" / "post-index-change"
    hook.write_text(trap.read_text())
    hook.chmod(0o755)
    assert kit_version(checkout / "kit").clean is True
    assert not (checkout / "sprung").exists()
