"""Signatures as the real ssh-keygen makes and judges them, honest and hostile."""

import base64
import os
import subprocess
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from keys import listing, make_key, public, stock_sign, stock_verify
from kit.allowed_signers import (
    MAXIMUM_SIGNATURE_BYTES,
    is_signer,
    prepared,
    verify,
)
from kit.errors import UndecidableError, UsageError
from kit.signature import BUNDLE_NAMESPACE, VERDICT_NAMESPACE, Signers
from kit.ssh_keygen import public_key, sign

DATA = b"what is sealed\n"
KINDS = {
    "ed25519": ("-t", "ed25519"),
    "rsa": ("-t", "rsa", "-b", "2048"),
    "ecdsa": ("-t", "ecdsa"),
}


@pytest.fixture(scope="module")
def keys(tmp_path_factory):
    folder = tmp_path_factory.mktemp("keys")
    found = {kind: make_key(folder / kind, *options) for kind, options in KINDS.items()}
    return found | {"other": make_key(folder / "other"), "authority": make_key(folder / "ca")}


@pytest.fixture(scope="module")
def signature(keys):
    return sign(DATA, keys["ed25519"], BUNDLE_NAMESPACE)


@pytest.fixture
def judged(tmp_path, keys):
    """Judge a signature by allowed signers; (name, options) stand for the ed25519 key's line."""

    def judge(signature, *lines, data=DATA, name="acme", **options):
        rows = [(*line, keys["ed25519"]) if len(line) == 2 else line for line in lines]
        allowed = listing(tmp_path / "allowed_signers", *rows)
        signers = prepared(Signers(str(allowed), **options))
        return verify(data, signature, BUNDLE_NAMESPACE, name, signers)

    return judge


@pytest.mark.parametrize("kind", KINDS)
def test_trusted(kind, keys, judged):
    made = sign(DATA, keys[kind], BUNDLE_NAMESPACE)
    found = judged(made, ("acme", "", keys[kind]))
    assert (found.state, found.signer, found.detail) == ("trusted", "acme", "")
    fingerprint = subprocess.run(
        ["ssh-keygen", "-l", "-f", f"{keys[kind]}.pub"], capture_output=True, text=True, check=True
    )
    assert found.key == f"{kind.upper()} {fingerprint.stdout.split()[1]}"


@pytest.mark.parametrize("kind", KINDS)
def test_the_key_inside_a_signature(kind, keys):
    assert public_key(sign(DATA, keys[kind], BUNDLE_NAMESPACE)) == public(keys[kind])


@pytest.mark.parametrize("junk", [b"", b"junk", b"-----BEGIN SSH SIGNATURE-----\nU1NI\n"])
def test_no_key_inside_junk(junk):
    with pytest.raises(ValueError, match="not a signature"):
        public_key(junk)


def test_ed25519_signs_as_plain_ssh_keygen_does(keys, signature):
    assert signature == stock_sign(keys["ed25519"], BUNDLE_NAMESPACE, DATA)


@pytest.mark.parametrize("hash_name", ["sha256", "sha512"])
def test_both_hashes_of_the_format(hash_name, keys, judged):
    made = stock_sign(keys["ed25519"], BUNDLE_NAMESPACE, DATA, f"-Ohashalg={hash_name}")
    assert judged(made, ("acme", "")).state == "trusted"


def test_unknown_key(signature, judged, keys):
    found = judged(signature, ("acme", "", keys["other"]))
    assert (found.state, found.detail) == ("unknown_key", "by a key that no allowed signer has")
    assert found.key.startswith("ED25519 SHA256:")


@pytest.mark.parametrize(
    ("options", "detail"),
    [
        ('namespaces="git,file"', "not allowed to sign for gemm-kit-bundle-v1"),
        (f'namespaces="{VERDICT_NAMESPACE}"', "not allowed to sign for gemm-kit-bundle-v1"),
        ('valid-before="20200101"', "by a key of acme that is no longer valid"),
        ('valid-after="20990101"', "by a key of acme that is not valid yet"),
    ],
)
def test_a_key_that_the_listing_rules_out(options, detail, signature, judged):
    found = judged(signature, ("acme", options))
    assert found.state == "invalid"
    assert detail in found.detail
    assert found.key is not None


@pytest.mark.parametrize(
    "options",
    [
        f'namespaces="{BUNDLE_NAMESPACE}"',
        f'namespaces="git,{BUNDLE_NAMESPACE}",valid-after="20200101",valid-before="20990101"',
    ],
)
def test_options_that_allow(options, signature, judged):
    assert judged(signature, ("acme", options)).state == "trusted"


def test_the_day_on_which_keys_must_have_been_valid(signature, judged):
    once = ("acme", 'valid-after="20200101",valid-before="20210101"')
    assert judged(signature, once).state == "invalid"
    assert judged(signature, once, date="20200601").state == "trusted"
    assert "not valid yet" in judged(signature, once, date="20191231").detail


def test_another_signers_key(signature, judged):
    found = judged(signature, ("bolt,bolt-labs", ""))
    assert (found.state, found.signer) == ("invalid", "acme")
    assert found.detail == "by a key that is listed for 'bolt bolt-labs', not for acme"


def test_patterns_mean_what_ssh_keygen_says(signature, judged):
    """Who writes `*` trusts that key in any name: the file is the auditor's."""
    assert judged(signature, ("*", "")).state == "trusted"
    assert judged(signature, ("ac*", "")).state == "trusted"
    assert judged(signature, ("!acme,*", "")).state == "invalid"
    assert judged(signature, ("!acme,*", ""), name="bolt").state == "trusted"


@pytest.mark.parametrize("name", ["*", "ac*", "!acme", "-oProxy", "", "a b", "a\nb", "x" * 200])
def test_a_name_is_no_pattern_and_no_option(name, signature, judged):
    assert not is_signer(name)
    assert judged(signature, ("acme", ""), ("*", ""), name=name).state == "invalid"


def test_revoked(signature, judged, keys, tmp_path):
    listed = ("acme", "")
    as_text = listing(tmp_path / "revoked", public(keys["ed25519"]))
    others = listing(tmp_path / "others", public(keys["other"]))
    krl = tmp_path / "krl"
    subprocess.run(["ssh-keygen", "-k", "-q", "-f", str(krl), f"{keys['ed25519']}.pub"], check=True)
    for file in (as_text, krl):
        found = judged(signature, listed, revoked=str(file))
        assert (found.state, found.detail) == ("invalid", "by a key that is revoked")
    assert judged(signature, listed, revoked=str(others)).state == "trusted"
    # Struck from the list of signers too, it is still worse than unknown.
    other = ("acme", "", keys["other"])
    assert judged(signature, other, revoked=str(as_text)).state == "invalid"
    assert judged(signature, other, revoked=str(others)).state == "unknown_key"


def test_certificates_of_an_authority(judged, keys, tmp_path):
    key = make_key(tmp_path / "user")
    subprocess.run(
        ["ssh-keygen", "-q", "-s", str(keys["authority"]), "-I", "id", "-n", "acme",
         "-V", "-1d:+1d", f"{key}.pub"],
        check=True,
    )  # fmt: skip
    made = stock_sign(f"{key}-cert.pub", BUNDLE_NAMESPACE, DATA)
    authority = ("*", "cert-authority", keys["authority"])
    assert judged(made, authority).state == "trusted"
    assert judged(made, authority, name="bolt").state != "trusted"
    assert judged(made, ("*", "", keys["authority"])).state == "unknown_key"


def of_blob(change):
    """The signature with its binary content changed."""

    def edit(signature):
        lines = signature.split(b"\n")
        blob = change(base64.b64decode(b"".join(lines[1:-2])))
        text = base64.b64encode(blob)
        rows = [text[at : at + 70] for at in range(0, len(text), 70)]
        return b"\n".join([lines[0], *rows, *lines[-2:]])

    return edit


HOSTILE = {
    "empty": lambda s: b"",
    "binary": lambda s: bytes(range(256)) * 8,
    "huge": lambda s: b"-----BEGIN SSH SIGNATURE-----\n" + b"A" * 2**20,
    "long": lambda s: s.replace(b"\nU1NI", b"\n" + (b"A" * 70 + b"\n") * 300 + b"U1NI"),
    "cut": lambda s: s[:-40],
    "cut-inside": lambda s: s.replace(s.split(b"\n")[2] + b"\n", b""),
    "trailing": lambda s: s + b"trailing\n",
    "leading": lambda s: b"leading\n" + s,
    "carriage-returns": lambda s: s.replace(b"\n", b"\r\n"),
    "nul": lambda s: s.replace(b"\nU1NI", b"\n\0U1NI"),
    "escape": lambda s: s.replace(b"\nU1NI", b"\n\x1b[2JU1NI"),
    "public-key": lambda s: b"ssh-ed25519 AAAAC3NzaC1lZDI1NTE5\n",
    "armor-only": lambda s: b"-----BEGIN SSH SIGNATURE-----\n=\n-----END SSH SIGNATURE-----\n",
    "magic": of_blob(lambda b: b"SSHSIX" + b[6:]),
    "version": of_blob(lambda b: b[:9] + b"\x02" + b[10:]),
    "other-hash": of_blob(lambda b: b.replace(b"\x00\x00\x00\x06sha512", b"\x00\x00\x00\x03md5")),
    "hash-swapped": of_blob(lambda b: b.replace(b"sha512", b"sha256")),
    "giant-length": of_blob(lambda b: b[:10] + b"\xff\xff\xff\xff" + b[14:]),
    "zero-length": of_blob(lambda b: b[:10] + bytes(4) + b[14:]),
    "trailing-in-blob": of_blob(lambda b: b + b"more"),
    "namespace-renamed": of_blob(lambda b: b.replace(b"bundle-v1", b"bundle-v2")),
    "signature-zeroed": of_blob(lambda b: b[:-64] + bytes(64)),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile(name, signature, judged):
    made = HOSTILE[name](signature)
    assert made != signature
    found = judged(made, ("acme", ""))
    assert (found.state, found.key) == ("invalid", None)
    assert found.detail
    assert found.detail.isprintable()
    assert len(found.detail) < 300


def test_a_signature_for_another_purpose(keys, judged):
    for namespace in ("git", "file", VERDICT_NAMESPACE):
        found = judged(stock_sign(keys["ed25519"], namespace, DATA), ("acme", ""))
        assert found.state == "invalid"
        assert found.detail == "made for another purpose than gemm-kit-bundle-v1"


def test_a_signature_over_other_bytes(signature, judged):
    found = judged(signature, ("acme", ""), data=DATA + b" ")
    assert found.state == "invalid"
    assert found.detail.startswith("over other bytes")


def test_the_longest_signature_of_openssh_fits(tmp_path, judged):
    """RSA of 16,384 bits takes minutes to make; a signature by it is four times as long."""
    key = make_key(tmp_path / "rsa", "-t", "rsa", "-b", "4096")
    made = sign(DATA, key, BUNDLE_NAMESPACE)
    assert 4 * len(made) < MAXIMUM_SIGNATURE_BYTES
    assert judged(made, ("acme", "", key)).state == "trusted"


@settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(data=st.data())
def test_no_changed_signature_is_trusted(data, signature, judged):
    at = data.draw(st.integers(0, len(signature) - 1))
    byte = data.draw(st.integers(0, 255).filter(lambda b: b != signature[at]))
    changed = signature[:at] + bytes([byte]) + signature[at + 1 :]
    assert judged(changed, ("acme", "")).state == "invalid"


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("junk\n", "line 1: missing key"),
        ('acme foo="x" {key}\n', "line 1: bad options: unknown key option"),
        ("acme {key}\nacme\n", "line 2: missing key"),
        ("# fine\n\nacme ssh-ed25519 AAAA\n", "line 3: "),
        ('acme valid-after="soon" {key}\n', "line 1: "),
        ('acme namespaces="x {key}\n', "line 1: "),
        ("acme namespaces=x {key}\n", "line 1: "),
        ("\x1b[2J\x00\xff\n", "line 1: "),
    ],
)
def test_a_line_of_allowed_signers_that_means_nothing(text, problem, keys, tmp_path):
    path = tmp_path / "allowed"
    path.write_text(text.format(key=public(keys["ed25519"])))
    with pytest.raises(UsageError) as caught:
        prepared(Signers(str(path)))
    assert f"--allowed-signers {path}: {problem}" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_files_that_cannot_be_read(tmp_path, keys):
    good = str(listing(tmp_path / "good", ("acme", "", keys["ed25519"])))
    junk = tmp_path / "junk"
    junk.write_bytes(bytes(range(256)))
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "nobody").write_text("\n# acme ssh-ed25519 AAAA\n")
    for signers, line in (
        (Signers(str(tmp_path / "nobody")), "nobody: names nobody"),
        (Signers(str(tmp_path / "missing")), "missing: cannot be read: No such file"),
        (Signers(str(tmp_path)), "is not a regular file"),
        (Signers(str(tmp_path / "pipe")), "pipe: is not a regular file"),
        (Signers(good, str(tmp_path / "missing")), "--revoked-keys"),
        (Signers(good, str(junk)), "junk: holds no keys that ssh-keygen can read"),
    ):
        with pytest.raises(UsageError, match=line):
            prepared(signers)
    prepared(Signers(good))


def test_the_digest_follows_what_the_files_say_and_the_day(tmp_path, keys):
    allowed = listing(tmp_path / "allowed", ("acme", "", keys["ed25519"]))
    revoked = listing(tmp_path / "revoked", public(keys["other"]))

    def digest(**options):
        return prepared(Signers(str(allowed), **options)).digest

    found = [digest(), digest(revoked=str(revoked)), digest(date="20200101")]
    assert digest() == found[0]
    listing(allowed, ("acme", "", keys["other"]))
    found.append(digest())
    listing(revoked, public(keys["ed25519"]))
    found.append(digest(revoked=str(revoked)))
    assert len(set(found)) == len(found) == 5


def test_keys_that_cannot_sign(tmp_path, keys):
    exposed = tmp_path / "exposed"
    exposed.write_bytes(keys["ed25519"].read_bytes())
    exposed.chmod(0o644)
    text = tmp_path / "text"
    text.write_text("no key")
    lonely = tmp_path / "lonely.pub"
    lonely.write_text(public(keys["other"]))
    for path in (tmp_path / "missing", tmp_path, text, exposed, lonely):
        with pytest.raises(UsageError) as caught:
            sign(DATA, path, BUNDLE_NAMESPACE)
        assert str(caught.value).startswith(f"--key {path}: ")
        assert "\n" not in str(caught.value)


def test_a_path_cannot_act_as_an_option(tmp_path, monkeypatch, keys):
    monkeypatch.chdir(tmp_path)
    Path("-Y").write_bytes(keys["ed25519"].read_bytes())
    Path("-Y").chmod(0o600)
    assert public_key(sign(DATA, Path("-Y"), BUNDLE_NAMESPACE)) == public(keys["ed25519"])


def test_without_ssh_keygen_nothing_is_decided(signature, judged, monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(UndecidableError, match=r"ssh-keygen, which is not installed \(install"):
        judged(signature, ("acme", ""))


@pytest.mark.parametrize(
    ("script", "problem"),
    [
        ("exit 1", "verifies no signature"),
        ("kill -SEGV $$", "ended by signal 11"),
        ("sleep 60", "did not answer within 1 s"),
    ],
)
def test_an_ssh_keygen_that_fails_decides_nothing(
    script, problem, signature, judged, monkeypatch, tmp_path
):
    from kit import ssh_keygen

    program = tmp_path / "ssh-keygen"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    monkeypatch.setattr(ssh_keygen, "_LIMIT_S", 1.0)
    with pytest.raises(UndecidableError, match=problem):
        judged(signature, ("acme", ""))


def test_another_language_changes_nothing(signature, judged, monkeypatch):
    monkeypatch.setenv("LC_ALL", "de_DE.UTF-8")
    monkeypatch.setenv("LANGUAGE", "de")
    assert "over other bytes" in judged(signature, ("acme", ""), data=b"").detail


@pytest.mark.parametrize("kind", KINDS)
def test_plain_ssh_keygen_agrees(kind, keys, judged, tmp_path):
    file = tmp_path / "x.sig"
    for key in (keys[kind], keys["other"]):
        for namespace in (BUNDLE_NAMESPACE, "git"):
            for signed in (DATA, b"other"):
                file.write_bytes(stock_sign(key, namespace, signed))
                found = judged(file.read_bytes(), ("acme", "", keys[kind]))
                stock = stock_verify(
                    tmp_path / "allowed_signers", "acme", BUNDLE_NAMESPACE, file, DATA
                )
                assert (found.state == "trusted") == stock
                assert stock == (key == keys[kind] and namespace != "git" and signed == DATA)
