"""`gemm-kit seal`: signing changes nothing that was sealed, and any later change shows."""

import json
import os
import shutil
import sys

import pytest

from bundles import honest_cpu, reseal, write
from keys import make_key, public, stock_verify
from kit.bundle.reader import read_container
from kit.checker.judge import judge
from kit.cli import main

SIGNATURE = "signatures/vendor.sshsig"


@pytest.fixture(scope="module")
def key(tmp_path_factory):
    return make_key(tmp_path_factory.mktemp("keys") / "vendor")


@pytest.fixture(scope="module")
def pristine(tmp_path_factory):
    return write(honest_cpu(), tmp_path_factory.mktemp("pristine") / "cpu")


@pytest.fixture
def bundle(pristine, tmp_path):
    return shutil.copytree(pristine, tmp_path / "cpu")


def seal(capsys, *arguments):
    code = main(["seal", *map(str, arguments)])
    printed = capsys.readouterr()
    return code, printed.out, printed.err


def files(folder):
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }


def test_only_the_signature_is_new(capsys, bundle, key):
    before, container = files(bundle), read_container(bundle)
    code, out, err = seal(capsys, bundle, "--key", key)
    assert code == 0
    assert out == f'example namespaces="gemm-kit-bundle-v1" {public(key)}\n'
    assert f"wrote {bundle / SIGNATURE}" in err
    after = files(bundle)
    assert set(after) - set(before) == {SIGNATURE}
    assert after.items() >= before.items()
    assert read_container(bundle).digest == container.digest
    assert read_container(bundle).faults == ()
    assert judge(bundle).judgement == "compliant"


def test_the_line_that_it_prints_is_all_that_ssh_keygen_needs(capsys, bundle, key, tmp_path):
    _, out, _ = seal(capsys, bundle, "--key", key)
    allowed = tmp_path / "allowed_signers"
    allowed.write_text(out.splitlines()[0].removeprefix("allowed signer: ") + "\n")
    sealed = (bundle / "tagmanifest-sha256.txt").read_bytes()
    namespace = "gemm-kit-bundle-v1"
    assert stock_verify(allowed, "example", namespace, bundle / SIGNATURE, sealed)
    assert main(["verify", str(bundle), "--allowed-signers", str(allowed)]) == 0


def test_another_signature_needs_to_be_forced(capsys, bundle, key, tmp_path):
    assert seal(capsys, bundle, "--key", key)[0] == 0
    first = (bundle / SIGNATURE).read_bytes()
    other = make_key(tmp_path / "other")
    code, out, err = seal(capsys, bundle, "--key", other)
    assert (code, out) == (2, "")
    assert err == f"gemm-kit: error: {bundle / SIGNATURE} exists (--force signs anew)\n"
    assert (bundle / SIGNATURE).read_bytes() == first
    code, out, _ = seal(capsys, bundle, "--key", other, "--force")
    assert code == 0
    assert public(other) in out
    assert [path.name for path in (bundle / "signatures").iterdir()] == ["vendor.sshsig"]


@pytest.mark.parametrize("change", ["edit", "lose", "add"])
def test_what_was_changed_since_is_not_signed(change, capsys, bundle, key):
    plan = bundle / "data/plan.json"
    match change:
        case "edit":
            plan.write_bytes(plan.read_bytes() + b" ")
        case "lose":
            (bundle / "data/journal.json").unlink()
        case "add":
            (bundle / "data/more.json").write_text("{}")
    code, out, err = seal(capsys, bundle, "--key", key)
    assert (code, out) == (3, "")
    assert "since the bundle was sealed (not signed)" in err
    assert not (bundle / "signatures").exists()


def test_sealing_anew_invalidates(capsys, bundle, key, tmp_path):
    _, out, _ = seal(capsys, bundle, "--key", key)
    allowed = tmp_path / "allowed_signers"
    allowed.write_text(out.splitlines()[0].removeprefix("allowed signer: ") + "\n")
    journal = bundle / "data/journal.json"
    journal.write_bytes(journal.read_bytes() + b"\n")
    reseal(bundle)
    assert read_container(bundle).faults == ()
    assert main(["verify", str(bundle), "--allowed-signers", str(allowed)]) == 1
    assert "invalid: over other bytes" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "code", "text"),
    [
        (["cpu"], 2, "Missing option '--key'"),
        (["--key", "key"], 2, "Missing argument"),
        (["cpu", "--key", "missing"], 2, "--key missing: no such file"),
        (["cpu", "--key", "."], 2, "--key .: no such file"),
        (["cpu", "--key", "cpu/bagit.txt"], 2, "--key cpu/bagit.txt: "),
        (["missing", "--key", "key"], 2, "missing: cannot be read: No such file"),
        (["empty", "--key", "key"], 3, "error: empty: not a bundle"),
        (["cpu/data/plan.json", "--key", "key"], 3, "cpu/data/plan.json: "),
        (["cpu/bagit.txt", "--key", "key"], 3, "not a verdict"),
    ],
)
def test_wrong_use_is_one_line(arguments, code, text, bundle, key, gemm_kit, tmp_path):
    (tmp_path / "empty").mkdir()
    shutil.copy(key, tmp_path / "key")
    done = gemm_kit("seal", *arguments)
    assert (done.returncode, done.stdout) == (code, "")
    assert done.stderr.startswith("gemm-kit: error: ")
    assert text in done.stderr
    assert done.stderr.count("\n") == 1


def test_links_are_not_written_through(capsys, bundle, key, tmp_path):
    (tmp_path / "elsewhere").mkdir()
    (bundle / "signatures").symlink_to(tmp_path / "elsewhere")
    code, out, err = seal(capsys, bundle, "--key", key, "--force")
    assert (code, out) == (3, "")
    assert "signatures: is a symbolic link" in err
    assert not list((tmp_path / "elsewhere").iterdir())


def test_without_ssh_keygen(capsys, bundle, key, monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    code, out, err = seal(capsys, bundle, "--key", key)
    assert (code, out) == (5, "")
    assert "ssh-keygen, which is not installed" in err
    assert err.count("\n") == 1


@pytest.mark.parametrize(("passphrase", "code"), [("secret", 0), ("wrong", 2)])
def test_a_passphrase_is_asked_for(passphrase, code, bundle, gemm_kit, tmp_path):
    key = make_key(tmp_path / "locked", passphrase="secret")
    program = tmp_path / "askpass"
    program.write_text(f"#!/bin/sh\necho {passphrase}\n")
    program.chmod(0o755)
    asked = {"SSH_ASKPASS": str(program), "SSH_ASKPASS_REQUIRE": "force"}
    done = gemm_kit("seal", "cpu", "--key", str(key), environment=asked)
    assert done.returncode == code
    assert (bundle / SIGNATURE).exists() == (code == 0)
    if code:
        assert "incorrect passphrase" in done.stderr
        assert "ssh-agent" in done.stderr
        assert done.stderr.count("\n") == 1


def test_a_key_that_others_can_read_says_what_to_do(bundle, key, gemm_kit, tmp_path):
    shutil.copy(key, tmp_path / "open")
    (tmp_path / "open").chmod(0o644)
    done = gemm_kit("seal", "cpu", "--key", "open")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.endswith("(others can read it: chmod 600 open)\n")
    assert not (bundle / SIGNATURE).exists()


def test_an_agent_holds_the_private_half(bundle, key, start, tmp_path):
    lonely = tmp_path / "lonely.pub"
    lonely.write_text(f"{public(key)}\n")
    seal = f'"{sys.executable}" -m kit seal "{bundle}" --key "{lonely}"'
    script = f'ssh-add -q "{key}" && {seal}; code=$?; ssh-agent -k >&2; exit $code'
    done = start("-c", "import os, sys; os.execvp('ssh-agent', sys.argv[1:])",
                 "ssh-agent", "sh", "-c", script)  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert public(key) in done.stdout
    assert (bundle / SIGNATURE).is_file()


def test_a_verdict_is_signed_beside_it(capsys, bundle, key, tmp_path):
    assert main(["check", "--format", "json", str(bundle)]) == 0
    verdict = tmp_path / "verdict.json"
    verdict.write_text(capsys.readouterr().out)
    code, out, err = seal(capsys, verdict, "--key", key)
    assert code == 0
    assert out == f'AUDITOR namespaces="gemm-kit-verdict-v1" {public(key)}\n'
    assert f"wrote {verdict}.sig" in err
    assert json.loads(verdict.read_text())["verdict"] == "compliant"
    assert seal(capsys, verdict, "--key", key)[0] == 2


def test_what_acts_in_a_files_name_is_escaped(capsys, bundle, key, tmp_path):
    assert main(["check", "--format", "json", str(bundle)]) == 0
    verdict = tmp_path / "x\x1b[31mred\nSUMMARY: looks OK\u202e.json"
    verdict.write_text(capsys.readouterr().out)
    code, _, err = seal(capsys, verdict, "--key", key)
    assert code == 0
    shown = r"x\x1b[31mred\x0aSUMMARY: looks OK\u202e.json.sig"
    assert f"gemm-kit: wrote {tmp_path}/{shown}\n" in err
    assert err.count("\n") == 2


def test_a_pipe_is_no_verdict(key, tmp_path, gemm_kit):
    os.mkfifo(tmp_path / "verdict.json")
    done = gemm_kit("seal", "verdict.json", "--key", key)
    assert (done.returncode, done.stdout) == (3, "")
    problem = "verdict.json: is not a regular file (name a plain copy)"
    assert done.stderr == f"gemm-kit: error: {problem}\n"


def test_a_signature_that_cannot_be_written(capsys, bundle, key, tmp_path):
    main(["check", "--format", "json", str(bundle)])
    verdict = tmp_path / "verdict.json"
    verdict.write_text(capsys.readouterr().out)
    (tmp_path / "verdict.json.sig").mkdir()
    code, out, err = seal(capsys, verdict, "--key", key, "--force")
    assert (code, out) == (2, "")
    assert "verdict.json.sig: cannot be written: Is a directory" in err
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "cpu", "verdict.json", "verdict.json.sig",
    ]  # fmt: skip
