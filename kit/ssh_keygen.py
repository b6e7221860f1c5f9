"""Start OpenSSH's `ssh-keygen -Y`, offline: the only place that does.

Signatures travel through pipes, so asking about one writes no file. What the answers mean to an
auditor is in `kit.allowed_signers`.
"""

import os
import re
import subprocess
from base64 import b64decode, b64encode
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from kit.bundle.foreign_text import shown
from kit.errors import KitError, UndecidableError, UsageError

ARMOR = re.compile(
    rb"-----BEGIN SSH SIGNATURE-----\n(?P<body>(?:[A-Za-z0-9+/=]{1,76}\n)+)"
    rb"-----END SSH SIGNATURE-----\n?"
)
"""What ssh-keygen writes, byte for byte: it would also take what follows the last line."""

Answer = subprocess.CompletedProcess[bytes]

_LIMIT_S = 30.0


def sign(data: bytes, key: Path, namespace: str) -> bytes:
    """Return the armored signature of `data`; a passphrase or touch is asked for by ssh-keygen.

    Args:
        data: what is signed.
        key: file of the private key, or of a public key whose private half an agent holds.
        namespace: what the signature is for.

    Raises:
        UsageError: the key cannot be used.
        UndecidableError: there is no ssh-keygen.
    """
    if not key.is_file():
        raise UsageError(f"--key {key}: no such file", hint="ssh-keygen -t ed25519 -f FILE")
    done = _start(["-Y", "sign", "-f", str(key.absolute()), "-n", namespace], data, limit_s=None)
    if done.returncode:
        raise UsageError(f"--key {key}: {last_line(done)}", hint=_remedy(done, key))
    if check(done.stdout, data, namespace).returncode:
        raise KitError("ssh-keygen does not accept the signature that it made")
    return done.stdout


def _remedy(done: Answer, key: Path) -> str:
    text = said(done)
    if "too open" in text:
        return f"others can read it: chmod 600 {key}"
    if "passphrase" in text:
        return "sign at a terminal, or give the key to ssh-agent and name its public half"
    return "the file of a private key"


def public_key(signature: bytes) -> str:
    """The key inside a signature that ssh-keygen made, as allowed signers are listed: type, base64.

    Raises:
        ValueError: not a signature.
    """
    match = ARMOR.fullmatch(signature)
    blob = b64decode(match["body"]) if match else b""
    key, _ = _field(blob[len("SSHSIG") + 4 :])
    kind, _ = _field(key)
    return f"{kind.decode('ascii')} {b64encode(key).decode('ascii')}"


def _field(data: bytes) -> tuple[bytes, bytes]:
    """Split off a string of the SSH wire format: four bytes of length, and so many bytes."""
    end = 4 + int.from_bytes(data[:4], "big")
    if len(data) < max(end, 4):
        raise ValueError("not a signature: it ends too early")
    return data[4:end], data[end:]


def check(signature: bytes, data: bytes, namespace: str) -> Answer:
    """Whether a signature fits its own key, these bytes and this namespace, whoever made it."""
    return ask(["check-novalidate", "-n", namespace], signature, data)


def ask(question: list[str], signature: bytes, data: bytes, *descriptors: int) -> Answer:
    """Ask about a signature over `data`; `question` is the action and its options.

    Raises:
        UndecidableError: there is no ssh-keygen, or it did not come to an end.
    """
    with readable(signature) as source:
        arguments = ["-Y", *question, "-s", f"/dev/fd/{source}"]
        done = _start(arguments, data, _LIMIT_S, (source, *descriptors))
    if done.returncode < 0:
        raise UndecidableError(f"ssh-keygen ended by signal {-done.returncode}")
    return done


@contextmanager
def readable(data: bytes) -> Iterator[int]:
    """A descriptor from which `data`, which a pipe can hold, is read once."""
    source, sink = os.pipe()
    try:
        try:
            os.set_blocking(sink, False)
            held = os.write(sink, data)
        finally:
            os.close(sink)
        if held != len(data):
            raise UndecidableError("this system's pipes hold too little for a signature")
        yield source
    finally:
        os.close(source)


def said(done: Answer) -> str:
    """All that ssh-keygen printed."""
    return (done.stderr + done.stdout).decode("utf-8", "replace").strip()


def errors(done: Answer) -> list[str]:
    """Its lines on stderr."""
    return done.stderr.decode("utf-8", "replace").splitlines()


def last_line(done: Answer) -> str:
    """Its last word on stderr, safe to show."""
    lines = [line.strip() for line in errors(done) if line.strip()]
    return shown(lines[-1], 200) if lines else f"exit code {done.returncode}"


def _start(
    arguments: list[str], data: bytes, limit_s: float | None, descriptors: tuple[int, ...] = ()
) -> Answer:
    """Run ssh-keygen with `data` on its stdin, in English."""
    try:
        return subprocess.run(
            ["ssh-keygen", *arguments],
            input=data,
            capture_output=True,
            check=False,
            timeout=limit_s,
            pass_fds=descriptors,
            env={**os.environ, "LC_ALL": "C"},
        )
    except FileNotFoundError:
        raise UndecidableError(
            "signatures need ssh-keygen, which is not installed",
            hint="install OpenSSH's client: openssh-client, openssh-clients",
        ) from None
    except subprocess.TimeoutExpired:
        raise UndecidableError(f"ssh-keygen did not answer within {limit_s:.0f} s") from None
    except OSError as error:
        raise UndecidableError(f"ssh-keygen cannot be started: {error.strerror}") from None
