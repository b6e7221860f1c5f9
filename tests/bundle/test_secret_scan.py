import pytest

from kit.bundle import secret_scan
from kit.bundle.secret_scan import Leak, find_leaks, own_names

NAMES = {"mallory": "the user's name", "build-host-7": "the host's name"}

SECRETS = {
    "/home/mallory2/xla/dump": "a home folder",
    "/Users/eve/x": "a home folder",
    "/root/.cache/jax": "a home folder",
    "run by mallory today": "the user's name",
    "mallory@example": "the user's name",
    "on build-host-7.example.com": "the host's name",
    "-----BEGIN OPENSSH PRIVATE KEY-----": "a private key",
    "-----BEGIN PRIVATE KEY-----": "a private key",
    "AKIAIOSFODNN7EXAMPLE": "an AWS key",
    "ghp_" + "a1" * 18: "a GitHub token",
    "github_pat_" + "a1" * 20: "a GitHub token",
    "hf_" + "aB" * 17: "a Hugging Face token",
    "AIza" + "aB3_-" * 7: "a Google Cloud key",
    "ya29." + "a" * 30: "a Google Cloud key",
    "https://me:pw@git.example.com/x": "a password in an address",
}
HARMLESS = (
    "smallory", "mallory2", "Mallory", "my-build-host-77", "/homework/x", "/home/", "/rootless/x",
    "the root cause", "https://example.com:8080/@x", "AKIASHORT", "hf_token", "ghp_short",
    "/opt/cuda/lib", "-----BEGINNING-----", "XAKIAIOSFODNN7EXAMPLE0",
)  # fmt: skip


@pytest.mark.parametrize("text", SECRETS)
def test_found_with_its_line_and_not_repeated(text):
    files = {"data/a.json": b'{\n "reason": "' + text.encode() + b'"\n}\n', "data/b.json": b"{}"}
    leaks = list(find_leaks(files, NAMES, ()))
    assert leaks == [Leak("data/a.json", 2, SECRETS[text])]


@pytest.mark.parametrize("text", HARMLESS)
def test_harmless(text):
    assert list(find_leaks({"data/a.json": text.encode()}, NAMES, ())) == []


def test_what_the_submitter_declares_is_his_to_publish():
    files = {"data/plan.json": b'"mallory" on "build-host-7"'}
    assert [leak.what for leak in find_leaks(files, NAMES, ("mallory",))] == ["the host's name"]
    assert list(find_leaks(files, NAMES, ("mallory", "build-host-7"))) == []


@pytest.mark.parametrize(
    ("user", "host", "expected"),
    [
        ("alice", "gpu42.example.org", {"alice", "gpu42.example.org", "gpu42"}),
        ("root", "localhost", set()),
        ("ubuntu", "vm", set()),
        ("bob", "h200", {"h200"}),
    ],
)
def test_own_names(monkeypatch, user, host, expected):
    monkeypatch.setattr(secret_scan.getpass, "getuser", lambda: user)
    monkeypatch.setattr(secret_scan.socket, "gethostname", lambda: host)
    assert set(own_names()) == expected


def test_a_number_without_an_account(monkeypatch):
    def nobody():
        raise KeyError

    monkeypatch.setattr(secret_scan.getpass, "getuser", nobody)
    monkeypatch.setattr(secret_scan.socket, "gethostname", lambda: "x")
    assert own_names() == {}


def test_long_tables_take_no_time():
    table = {"data/clocks.csv": b"t_ns,burst_ns\n" + b"123456789012,12345\n" * 200_000}
    assert list(find_leaks(table, NAMES, ())) == []
