"""`gemm-kit verify`, and `check --allowed-signers`: who vouches for a bundle or a verdict."""

import json
import os
import re
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from bundles import honest_cpu, reseal, with_plan, with_system, write
from keys import listing, make_key, public, stock_sign, stock_verify
from kit.bundle.schema import validate
from kit.checker import verdict_file
from kit.checker.output.report import HAS_ERRORS, LOOKS_OK
from kit.cli import main

SIGNATURE = "signatures/vendor.sshsig"
VERDICTS = "gemm-kit-verdict-v1"
SUBMISSIONS = Path(__file__).parents[2] / "submissions"


@pytest.fixture(scope="module")
def keys(tmp_path_factory):
    folder = tmp_path_factory.mktemp("keys")
    return {name: make_key(folder / name) for name in ("vendor", "auditor", "stranger")}


@pytest.fixture(scope="module")
def signed(tmp_path_factory, keys):
    folder = write(honest_cpu(), tmp_path_factory.mktemp("signed") / "cpu")
    assert main(["seal", str(folder), "--key", str(keys["vendor"])]) == 0
    return folder


@pytest.fixture
def bundle(signed, tmp_path):
    return shutil.copytree(signed, tmp_path / "cpu")


@pytest.fixture
def allowed(tmp_path, keys):
    return listing(
        tmp_path / "allowed_signers",
        ("example", 'namespaces="gemm-kit-bundle-v1"', keys["vendor"]),
        ("auditor@example.org", f'namespaces="{VERDICTS}"', keys["auditor"]),
    )


@pytest.fixture
def verdict(bundle, tmp_path, keys, capsys):
    """A signed verdict on the bundle."""
    capsys.readouterr()
    assert main(["check", "--format", "json", str(bundle)]) == 0
    path = tmp_path / "verdict.json"
    path.write_text(capsys.readouterr().out)
    assert main(["seal", str(path), "--key", str(keys["auditor"])]) == 0
    capsys.readouterr()
    return path


def run(capsys, *arguments):
    code = main([str(argument) for argument in arguments])
    printed = capsys.readouterr()
    return code, printed.out, printed.err


def verify(capsys, *arguments):
    return run(capsys, "verify", *arguments)


def renamed(folder, submitter):
    """Another submitter's bundle of the same content, on disk."""
    other = with_plan(honest_cpu(), submission__submitter=submitter)
    return write(with_system(other, submitter=submitter), folder)


def unsign(bundle, keys, allowed):
    shutil.rmtree(bundle / "signatures")


def by_a_stranger(bundle, keys, allowed):
    main(["seal", str(bundle), "--key", str(keys["stranger"]), "--force"])


def changed_and_sealed_anew(bundle, keys, allowed):
    journal = bundle / "data/journal.json"
    journal.write_bytes(journal.read_bytes() + b"\n")
    reseal(bundle)


def of_another_bundle(bundle, keys, allowed):
    other = renamed(bundle.with_name("other"), "example2")
    main(["seal", str(other), "--key", str(keys["vendor"])])
    shutil.copy(other / SIGNATURE, bundle / SIGNATURE)


def for_another_purpose(bundle, keys, allowed):
    sealed = (bundle / "tagmanifest-sha256.txt").read_bytes()
    (bundle / SIGNATURE).write_bytes(stock_sign(keys["vendor"], "git", sealed))


def binary(bundle, keys, allowed):
    (bundle / SIGNATURE).write_bytes(bytes(range(256)) * 256)


def no_longer_valid(bundle, keys, allowed):
    listing(allowed, ("example", 'valid-before="20200101"', keys["vendor"]))


def listed_for_another(bundle, keys, allowed):
    listing(allowed, ("example2", "", keys["vendor"]))


STATES = {
    unsign: ("unsigned", "there is no signatures/vendor.sshsig"),
    by_a_stranger: ("unknown_key", "by a key that no allowed signer has"),
    changed_and_sealed_anew: ("invalid", "over other bytes"),
    of_another_bundle: ("invalid", "over other bytes"),
    for_another_purpose: ("invalid", "made for another purpose than gemm-kit-bundle-v1"),
    binary: ("invalid", "more than 16384 bytes long"),
    no_longer_valid: ("invalid", "by a key of example that is no longer valid"),
    listed_for_another: ("invalid", "listed for 'example2', not for example"),
}


def test_verified(capsys, bundle, allowed):
    code, out, err = verify(capsys, bundle, "--allowed-signers", allowed)
    assert (code, err) == (0, "")
    assert "signature   trusted, ED25519 SHA256:" in out
    assert out.splitlines()[-1] == "VERIFIED: unchanged and signed by example"


@pytest.mark.parametrize("change", STATES, ids=lambda change: change.__name__)
def test_not_verified(change, capsys, bundle, keys, allowed):
    state, detail = STATES[change]
    change(bundle, keys, allowed)
    capsys.readouterr()
    code, out, err = verify(capsys, bundle, "--allowed-signers", allowed)
    assert (code, err) == (1, "")
    last = out.splitlines()[-1]
    assert last.startswith(f"NOT VERIFIED: {state.replace('_', ' ')}: ")
    assert detail in last
    code, out, _ = verify(capsys, bundle, "--allowed-signers", allowed, "--format", "json")
    document = json.loads(out)
    validate("verification", document, "verification")
    assert (code, document["signature"]["state"]) == (1, state)


@pytest.mark.parametrize("change", STATES, ids=lambda change: change.__name__)
def test_check_says_the_same(change, capsys, bundle, keys, allowed):
    state, detail = STATES[change]
    change(bundle, keys, allowed)
    capsys.readouterr()
    for required in (False, True):
        options = ["--require-signer"] if required else []
        code, out, _ = run(capsys, "check", bundle, "--allowed-signers", allowed, *options)
        fails = required or state == "invalid"
        assert (code, out.splitlines()[-1]) == ((1, HAS_ERRORS) if fails else (0, LOOKS_OK))
        assert f"{'FAIL' if fails else 'warn':<8}  GK610 signer-untrusted" in out
        assert detail in out


def test_check_of_a_signed_bundle(capsys, bundle, allowed):
    options = ["--allowed-signers", allowed, "--require-signer"]
    code, out, _ = run(capsys, "check", bundle, *options)
    assert (code, out.splitlines()[-1]) == (0, LOOKS_OK)
    assert "  signature   trusted, ED25519 SHA256:" in out
    _, out, _ = run(capsys, "check", "--format", "json", bundle, *options)
    document = json.loads(out)
    validate("verdict", document, "verdict")
    assert document["bundles"][0]["signature"]["state"] == "trusted"
    _, out, _ = run(capsys, "check", "--format", "json", bundle)
    assert json.loads(out)["bundles"][0]["signature"] is None


def test_every_bundle_of_a_tree_needs_its_own_submitter(capsys, bundle, allowed, keys, tmp_path):
    other = renamed(tmp_path / "tree/other", "bolt")
    main(["seal", str(other), "--key", str(keys["vendor"])])
    shutil.copytree(bundle, tmp_path / "tree/cpu")
    capsys.readouterr()
    code, out, _ = run(
        capsys, "check", "--format", "json", tmp_path / "tree", "--allowed-signers", allowed,
        "--require-signer",
    )  # fmt: skip
    assert code == 1
    states = {b["name"]: b["signature"]["state"] for b in json.loads(out)["bundles"]}
    assert states == {"cpu": "trusted", "other": "invalid"}


def test_changed_content_under_a_good_signature(capsys, bundle, allowed):
    """The signed manifest still says what the files were: plain ssh-keygen alone would not see."""
    journal = bundle / "data/journal.json"
    journal.write_bytes(journal.read_bytes() + b"\n")
    code, out, _ = verify(capsys, bundle, "--allowed-signers", allowed)
    assert code == 1
    assert "signature   trusted" in out
    last = out.splitlines()[-1]
    assert last == "NOT VERIFIED: data/journal.json: altered since it was sealed"
    assert run(capsys, "check", bundle, "--allowed-signers", allowed)[0] == 1


def test_revoked_and_dated(capsys, bundle, keys, allowed, tmp_path):
    revoked = listing(tmp_path / "revoked", public(keys["vendor"]))
    arguments = (bundle, "--allowed-signers", allowed, "--revoked-keys", revoked)
    assert verify(capsys, *arguments)[0] == 1
    code, out, _ = run(capsys, "check", *arguments)
    assert code == 1
    assert "by a key that is revoked" in out
    once = 'valid-after="20200101",valid-before="20210101"'
    listing(allowed, ("example", once, keys["vendor"]))
    dated = (bundle, "--allowed-signers", allowed, "--at", "2020-06-01")
    assert verify(capsys, *dated)[0] == 0
    assert run(capsys, "check", *dated, "--require-signer")[0] == 0


@pytest.mark.parametrize("command", ["verify", "check"])
@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["--allowed-signers", "missing"], "cannot be read: No such file or directory"),
        (["--allowed-signers", "cpu"], "is not a regular file"),
        (["--allowed-signers", "cpu/bagit.txt"], "line 1: "),
        (["--revoked-keys", "allowed_signers"], "--allowed-signers"),
        (["--at", "2026-11-30"], "--allowed-signers"),
        (["--allowed-signers", "allowed_signers", "--at", "soon"], "--at"),
        (["--allowed-signers", "allowed_signers", "--at", "1970-01-01"], "no key is so old"),
        (["--allowed-signers", "allowed_signers", "--revoked-keys", "cpu/bagit.txt"], "no keys"),
    ],
)
def test_wrong_use_is_one_line(command, arguments, text, bundle, allowed, gemm_kit):
    done = gemm_kit(command, "cpu", *arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("gemm-kit: error: ")
    assert text in done.stderr
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize(
    "given", [("empty",), ("verdict.json", "--signer", "x", "--bundle", "empty")]
)
def test_a_bundle_that_cannot_be_read_is_named(given, bundle, allowed, gemm_kit, tmp_path):
    (tmp_path / "empty").mkdir()
    (tmp_path / "verdict.json").write_text(gemm_kit("check", "cpu", "--format", "json").stdout)
    (tmp_path / "verdict.json.sig").write_text("no signature")
    done = gemm_kit("verify", *given, "--allowed-signers", "allowed_signers")
    assert (done.returncode, done.stdout) == (3, "")
    assert done.stderr.startswith("gemm-kit: error: empty: not a bundle")


def test_a_signer_is_required_but_none_is_named(capsys, bundle):
    code, out, err = run(capsys, "check", bundle, "--require-signer")
    assert (code, out) == (2, "")
    assert err == "gemm-kit: error: whose signatures count? (--allowed-signers FILE)\n"


@pytest.mark.parametrize("command", ["verify", "check"])
def test_without_ssh_keygen_nothing_is_decided(command, gemm_kit, bundle, allowed, tmp_path):
    (tmp_path / "bin").mkdir()
    done = gemm_kit(
        command, "cpu", "--allowed-signers", "allowed_signers", environment={"PATH": "bin"}
    )
    assert (done.returncode, done.stdout) == (5, "")
    assert "ssh-keygen, which is not installed" in done.stderr
    assert done.stderr.count("\n") == 1


def test_no_bundle(capsys, allowed, tmp_path):
    (tmp_path / "empty").mkdir()
    assert verify(capsys, tmp_path / "empty", "--allowed-signers", allowed)[0] == 3
    assert verify(capsys, tmp_path / "missing", "--allowed-signers", allowed)[0] == 2


def audited(capsys, verdict, allowed, *arguments, signer="auditor@example.org"):
    return verify(capsys, verdict, "--allowed-signers", allowed, "--signer", signer, *arguments)


def test_a_signed_verdict(capsys, verdict, bundle, allowed):
    code, out, err = audited(capsys, verdict, allowed, "--bundle", bundle)
    assert (code, err) == (0, "")
    assert out.splitlines()[-1] == (
        "VERIFIED: unchanged and signed by auditor@example.org, who calls it compliant"
    )
    assert audited(capsys, verdict, allowed)[0] == 0
    _, out, _ = audited(capsys, verdict, allowed, "--bundle", bundle, "--format", "json")
    document = json.loads(out)
    validate("verification", document, "verification")
    assert (document["subject"], document["judgement"]) == ("verdict", "compliant")
    assert document["digest"] is not None


def test_plain_ssh_keygen_verifies_a_verdict_and_makes_one(capsys, verdict, allowed, keys):
    signature = verdict.with_name("verdict.json.sig")
    assert stock_verify(allowed, "auditor@example.org", VERDICTS, signature, verdict.read_bytes())
    signature.write_bytes(stock_sign(keys["auditor"], VERDICTS, verdict.read_bytes()))
    assert audited(capsys, verdict, allowed)[0] == 0


def test_a_vendor_cannot_sign_the_verdict_on_itself(capsys, verdict, allowed, keys):
    main(["seal", str(verdict), "--key", str(keys["vendor"]), "--force"])
    capsys.readouterr()
    code, out, _ = audited(capsys, verdict, allowed)
    assert code == 1
    assert "NOT VERIFIED: invalid: by a key that is listed for 'example'" in out
    code, out, _ = audited(capsys, verdict, allowed, signer="example")
    assert code == 1
    assert "not allowed to sign for gemm-kit-verdict-v1" in out


def test_an_edited_verdict(capsys, verdict, allowed):
    verdict.write_text(verdict.read_text().replace('"unproven"', '"pass"', 1) + "\n")
    code, out, _ = audited(capsys, verdict, allowed)
    assert code == 1
    assert "NOT VERIFIED: invalid: over other bytes" in out


def test_a_bundle_signature_is_none_for_a_verdict(capsys, verdict, allowed, keys):
    signature = stock_sign(keys["auditor"], "gemm-kit-bundle-v1", verdict.read_bytes())
    verdict.with_name("verdict.json.sig").write_bytes(signature)
    code, out, _ = audited(capsys, verdict, allowed)
    assert code == 1
    assert "made for another purpose than gemm-kit-verdict-v1" in out


def test_the_verdict_on_another_bundle(capsys, verdict, allowed, tmp_path):
    other = renamed(tmp_path / "other", "bolt")
    code, out, _ = audited(capsys, verdict, allowed, "--bundle", other)
    assert code == 1
    assert "NOT VERIFIED: this verdict is not about the bundle " in out


def test_the_bundle_changed_after_the_verdict(capsys, verdict, bundle, allowed):
    journal = bundle / "data/journal.json"
    journal.write_bytes(journal.read_bytes() + b"\n")
    code, out, _ = audited(capsys, verdict, allowed, "--bundle", bundle)
    assert code == 1
    assert "NOT VERIFIED: data/journal.json: altered since it was sealed" in out


def test_a_verified_verdict_may_be_a_bad_one(capsys, bundle, allowed, keys, tmp_path):
    (bundle / SIGNATURE).write_bytes(b"broken")
    _, out, _ = run(capsys, "check", "--format", "json", bundle, "--allowed-signers", allowed)
    path = tmp_path / "bad.json"
    path.write_text(out)
    main(["seal", str(path), "--key", str(keys["auditor"])])
    capsys.readouterr()
    code, out, _ = audited(capsys, path, allowed, "--bundle", bundle)
    assert code == 1
    assert out.splitlines()[-1].endswith("who calls it not compliant")
    assert "NOT VERIFIED" not in out


def test_an_unsigned_verdict(capsys, verdict, allowed):
    verdict.with_name("verdict.json.sig").unlink()
    code, out, _ = audited(capsys, verdict, allowed)
    assert code == 1
    assert "NOT VERIFIED: unsigned: there is no verdict.json.sig" in out


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"{}",
        b"[]",
        b"\xff\xfe",
        b"[" * 10**5,
        b'{"verdict": NaN}',
        b'{"verdict": 1e999}',
        b'{"verdict": "compliant", "verdict": "refused"}',
    ],
)
def test_no_verdict_is_refused_in_one_line(text, capsys, verdict, allowed):
    verdict.write_bytes(text)
    code, out, err = audited(capsys, verdict, allowed)
    assert (code, out) == (3, "")
    assert err.startswith("gemm-kit: error: ")
    assert err.count("\n") == 1
    assert len(err) < 600


def a_pipe(path):
    path.unlink()
    os.mkfifo(path)


def a_link_to_a_device(path):
    path.unlink()
    path.symlink_to("/dev/zero")


def a_link_to_a_pipe(path):
    a_pipe(path.with_name("elsewhere.json"))
    path.unlink()
    path.symlink_to("elsewhere.json")


@pytest.mark.parametrize("name", ["verdict.json", "verdict.json.sig"])
@pytest.mark.parametrize("put", [a_pipe, a_link_to_a_device, a_link_to_a_pipe])
def test_nothing_but_a_file_is_opened(put, name, verdict, allowed, gemm_kit, tmp_path):
    (tmp_path / "elsewhere.json").touch()
    put(tmp_path / name)
    options = ["--allowed-signers", allowed, "--signer", "auditor@example.org"]
    done = gemm_kit("verify", verdict.name, *options)
    assert (done.returncode, done.stdout) == (3, "")
    problem = "is not a regular file (name a plain copy)"
    assert done.stderr == f"gemm-kit: error: {name}: {problem}\n"


def test_a_pipe_that_takes_the_files_place_is_not_waited_for(capsys, verdict, allowed, monkeypatch):
    before = verdict.stat()
    a_pipe(verdict)
    look = type(verdict).stat
    monkeypatch.setattr(
        type(verdict), "stat", lambda path, **how: before if path == verdict else look(path, **how)
    )
    code, out, err = audited(capsys, verdict, allowed)
    assert (code, out) == (3, "")
    assert err.endswith("verdict.json: is not a regular file (name a plain copy)\n")


def test_links_to_files_are_followed(capsys, verdict, allowed, tmp_path):
    (tmp_path / "audited").mkdir()
    link = tmp_path / "audited/link.json"
    link.symlink_to(verdict)
    link.with_name("link.json.sig").symlink_to(f"{verdict}.sig")
    assert audited(capsys, link, allowed)[0] == 0


@pytest.mark.parametrize(
    ("limit", "problem"),
    [
        ("MAXIMUM_BYTES", "more than 1000 bytes long"),
        ("MAXIMUM_MARKS", r"holds \d+ commas and opening brackets; 1000 are allowed"),
    ],
)
def test_a_verdict_is_bounded_before_it_is_built(
    limit, problem, capsys, verdict, allowed, monkeypatch
):
    verdict.write_bytes(b"[" + b"[]," * 1000 + b"[]]")
    monkeypatch.setattr(verdict_file, limit, 1000)
    monkeypatch.setattr(verdict_file.json, "loads", None)
    code, out, err = audited(capsys, verdict, allowed)
    assert (code, out) == (3, "")
    line = rf"gemm-kit: error: .*verdict\.json: {problem} \(check fewer bundles at a time\)\n"
    assert re.fullmatch(line, err)


def test_committed_rounds_are_far_below_the_bounds(capsys):
    code, out, _ = run(capsys, "check", "--format", "json", SUBMISSIONS)
    assert code == 0
    assert len(out) < verdict_file.MAXIMUM_BYTES / 100
    assert sum(map(out.count, ",[{")) < verdict_file.MAXIMUM_MARKS / 100


def test_a_verdict_needs_a_signer_and_a_bundle_none(capsys, verdict, bundle, allowed):
    code, _, err = verify(capsys, verdict, "--allowed-signers", allowed)
    assert code == 2
    assert "whose verdict must it be? (--signer NAME" in err
    code, _, err = verify(capsys, bundle, "--allowed-signers", allowed, "--signer", "example")
    assert code == 2
    assert "--signer and --bundle are for a verdict" in err


@pytest.mark.parametrize("name", ["*", "-Y", "auditor@*", "a b", "", "\x1b[2J"])
def test_a_signer_is_no_pattern(name, capsys, verdict, allowed):
    code, out, _ = audited(capsys, verdict, allowed, signer=name)
    assert code == 1
    assert "NOT VERIFIED: invalid: nobody can be called" in out
    assert "\x1b" not in out


def test_a_waiver_is_in_what_the_auditor_signs(capsys, bundle, allowed, keys, tmp_path):
    shutil.rmtree(bundle / "signatures")
    options = ["--allowed-signers", allowed, "--require-signer", "--format", "json"]
    _, out, _ = run(capsys, "check", bundle, *options)
    entry = {"code": "GK610", "bundle": json.loads(out)["bundles"][0]["digest"], "reason": "known"}
    waivers = tmp_path / "waivers.json"
    waivers.write_text(json.dumps({"waivers": [entry]}))
    code, out, _ = run(capsys, "check", bundle, *options, "--waivers", waivers)
    assert code == 0
    assert json.loads(out)["bundles"][0]["waivers"] == [entry]
    verdict = tmp_path / "waived.json"
    verdict.write_text(out)
    assert main(["seal", str(verdict), "--key", str(keys["auditor"])]) == 0
    capsys.readouterr()
    for about in ([], ["--bundle", bundle]):
        code, out, _ = audited(capsys, verdict, allowed, *about)
        assert code == 0
        assert f"  waived      GK610 for {entry['bundle']}: known" in out.splitlines()
        assert out.splitlines()[-1].endswith(", who calls it compliant and waives GK610")
        _, out, _ = audited(capsys, verdict, allowed, *about, "--format", "json")
        document = json.loads(out)
        validate("verification", document, "verification")
        assert document["waivers"] == [entry]


def test_honest_bundles_without_a_signature_are_judged_as_before(capsys, bundle):
    shutil.rmtree(bundle / "signatures")
    assert run(capsys, "check", bundle)[0] == 0


def test_the_submitter_of_a_record_is_a_signer():
    from kit.allowed_signers import is_signer

    submission = honest_cpu().plan.submission
    for name in ("a", "0", "a" * 64, "a.b_c-d"):
        replace(honest_cpu().plan, submission=replace(submission, submitter=name)).validate()
        assert is_signer(name)


def test_an_index_remembers_for_the_same_signers_only(capsys, bundle, allowed, keys, tmp_path):
    index = tmp_path / "verdicts.sqlite"
    arguments = ["check", bundle, "--index", index, "--allowed-signers", allowed]
    required = [*arguments, "--require-signer"]
    assert run(capsys, *required)[0] == 0
    code, _, err = run(capsys, *required)
    assert code == 0
    assert "1 of 1 verdicts from" in err
    listing(allowed, ("example", "", keys["stranger"]))
    code, out, err = run(capsys, *required)
    assert code == 1
    assert "unknown key" in out
    assert "0 of 1 verdicts from" in err
    assert run(capsys, *arguments)[0] == 0
    (bundle / SIGNATURE).unlink()
    code, out, _ = run(capsys, *required)
    assert code == 1
    assert "unsigned" in out
