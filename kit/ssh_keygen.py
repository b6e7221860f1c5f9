"""Sign and verify with OpenSSH's `ssh-keygen -Y`, offline: the only place that starts it.

Nothing foreign becomes an argument but a signer's name, whose grammar leaves it no way to act as an
option or a pattern. Signatures travel through pipes, so verifying writes no file.
"""

import os
import re
import stat
import subprocess
from base64 import b64decode, b64encode
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from kit.bundle.foreign_text import shown
from kit.errors import KitError, UndecidableError, UsageError
from kit.signature import Signature, Signers

MAXIMUM_SIGNATURE_BYTES = 16 * 2**10
"""Twice the largest that OpenSSH makes: 16,384 bits of RSA with a certificate."""

_LIMIT_S = 30.0
_SIGNER = re.compile(r"[A-Za-z0-9][A-Za-z0-9@._+-]{0,127}")
_ARMOR = re.compile(
    rb"-----BEGIN SSH SIGNATURE-----\n(?P<body>(?:[A-Za-z0-9+/=]{1,76}\n)+)"
    rb"-----END SSH SIGNATURE-----\n?"
)
_GOOD = re.compile(r'Good "[^"]+" signature .*with (\S+) key (SHA256:[A-Za-z0-9+/]{43})')
_REASONS = {
    "namespace does not match": "made for another purpose than {namespace}",
    "incorrect signature": "over other bytes: what it covers was changed after it was signed, or "
    "it was made for something else",
    "key has expired": "by a key of {signer} that is no longer valid",
    "key is not yet valid": "by a key of {signer} that is not valid yet",
    "not permitted for use in signature namespace": "by a key of {signer} that is not allowed to "
    "sign for {namespace}",
}
# Any key that owns nothing makes ssh-keygen read every line of the auditor's files. Its private
# half was thrown away; the signature covers no bytes, namespace `probe`.
_PROBE_KEY = b"ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAILbLcRe7yn8AN9f23ArISP2fvrj+PIj9W4Wlz2etpc5E"
_PROBE = b"""-----BEGIN SSH SIGNATURE-----
U1NIU0lHAAAAAQAAADMAAAALc3NoLWVkMjU1MTkAAAAgtstxF7vKfwA31/bcCshI/Z++uP
48iP1bhaXPZ62lzkQAAAAFcHJvYmUAAAAAAAAABnNoYTUxMgAAAFMAAAALc3NoLWVkMjU1
MTkAAABAdPsPoQvCfwuKVAN6FYqEJ9sQhApeA/fG+rTVwN348g1vQTgBfG7fPKtUUJR2XT
yjFXoGJHKwF/gHIXTr5jQfCA==
-----END SSH SIGNATURE-----
"""


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
        raise UsageError(f"--key {key}: {_last_line(done)}", hint="the file of a private key")
    if _check(done.stdout, data, namespace).returncode:
        raise KitError("ssh-keygen does not accept the signature that it made")
    return done.stdout


def public_key(signature: bytes) -> str:
    """The key inside a signature that ssh-keygen made, as allowed signers are listed: type, base64.

    Raises:
        ValueError: not a signature.
    """
    match = _ARMOR.fullmatch(signature)
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


def verify(
    data: bytes, signature: bytes, namespace: str, signer: str, signers: Signers
) -> Signature:
    """Say what `signature` over `data` is worth to an auditor who requires it of `signer`.

    Raises:
        UndecidableError: there is no ssh-keygen, or it did not come to an end.
    """
    if problem := _malformed(signature, signer):
        return Signature("invalid", signer, None, problem)
    listed = ["-I", signer, "-f", signers.allowed, *_date(signers)]
    revoked = ["-r", signers.revoked] if signers.revoked is not None else []
    trusted = _ask(["verify", "-n", namespace, *listed, *revoked], signature, data)
    if trusted.returncode == 0:
        return Signature("trusted", signer, _key(trusted), "")
    sound = _check(signature, data, namespace)
    if sound.returncode:
        return Signature("invalid", signer, None, _reason(sound, namespace, signer))
    owners = _ask(["find-principals", "-f", signers.allowed, *_date(signers)], signature, b"")
    if revoked and _is_revoked(data, signature, namespace, revoked):
        problem = "by a key that is revoked"
    elif any(known in _said(trusted) for known in _REASONS):
        problem = _reason(trusted, namespace, signer)
    elif owners.returncode == 0:
        others = shown(owners.stdout.replace(b"\n", b" ").strip())
        problem = f"by a key that is listed for {others}, not for {signer}"
    else:
        unlisted = "by a key that no allowed signer has"
        return Signature("unknown_key", signer, _key(sound), unlisted)
    return Signature("invalid", signer, _key(sound), problem)


def _malformed(signature: bytes, signer: str) -> str:
    """Why ssh-keygen need not be asked, "" where it must be."""
    if not is_signer(signer):
        return f"nobody can be called {shown(signer)}"
    if len(signature) > MAXIMUM_SIGNATURE_BYTES:
        return f"more than {MAXIMUM_SIGNATURE_BYTES} bytes long"
    return "" if _ARMOR.fullmatch(signature) else "not an armored SSH signature"


def is_signer(name: str) -> bool:
    """Whether `name` may name a signer: no blank, no pattern, no option of a command."""
    return _SIGNER.fullmatch(name) is not None


def refuse_unusable(signers: Signers) -> None:
    """Have ssh-keygen read the auditor's files whole, before anything is judged by them.

    Raises:
        UsageError: a file, or a line of it, that ssh-keygen cannot read.
        UndecidableError: there is no ssh-keygen, or it does not know a sound signature.
    """
    if _check(_PROBE, b"", "probe").returncode:
        raise UndecidableError("this ssh-keygen verifies no signature", hint="update OpenSSH")
    text = _content("--allowed-signers", signers.allowed)
    probed = _ask(["find-principals", "-f", signers.allowed], _PROBE, b"")
    for line in _errors(probed):
        number, _, problem = line.removeprefix(f"{signers.allowed}:").partition(":")
        # OpenSSH 9.2 complains about empty lines too, which its manual allows.
        if number.isdecimal() and text.split(b"\n")[int(number) - 1].strip():
            raise UsageError(
                f"--allowed-signers {signers.allowed}: line {number}: {problem.strip()}",
                hint='write: NAME namespaces="gemm-kit-bundle-v1" ssh-ed25519 AAAA...',
            )
    if signers.revoked is None:
        return
    _content("--revoked-keys", signers.revoked)
    if _is_revoked(b"", _PROBE, "probe", ["-r", signers.revoked]):
        raise UsageError(
            f"--revoked-keys {signers.revoked}: holds no keys that ssh-keygen can read",
            hint="a list of public keys, or what ssh-keygen -k writes",
        )


def _content(option: str, path: str) -> bytes:
    """The bytes of a file of the auditor's, which will be read again and again."""
    try:
        if stat.S_ISREG(Path(path).stat().st_mode):
            return Path(path).read_bytes()
    except OSError as error:
        raise UsageError(f"{option} {path}: cannot be read: {error.strerror}") from None
    raise UsageError(f"{option} {path}: is not a regular file")


def _is_revoked(data: bytes, signature: bytes, namespace: str, revoked: list[str]) -> bool:
    """Whether a sound signature ceases to count when its key may be among the revoked ones."""
    with _readable(f"signer {public_key(signature)}\n".encode("ascii")) as allowed:
        done = _ask(
            ["verify", "-n", namespace, "-I", "signer", "-f", f"/dev/fd/{allowed}", *revoked],
            signature,
            data,
            allowed,
        )
    return done.returncode != 0


def _check(signature: bytes, data: bytes, namespace: str) -> subprocess.CompletedProcess[bytes]:
    """Whether a signature fits its own key, these bytes and this namespace, whoever made it."""
    return _ask(["check-novalidate", "-n", namespace], signature, data)


def _date(signers: Signers) -> list[str]:
    return [] if signers.date is None else [f"-Overify-time={signers.date}"]


def _ask(
    question: list[str], signature: bytes, data: bytes, *descriptors: int
) -> subprocess.CompletedProcess[bytes]:
    with _readable(signature) as source:
        arguments = ["-Y", *question, "-s", f"/dev/fd/{source}"]
        done = _start(arguments, data, _LIMIT_S, (source, *descriptors))
    if done.returncode < 0:
        raise UndecidableError(f"ssh-keygen ended by signal {-done.returncode}")
    return done


def _start(
    arguments: list[str], data: bytes, limit_s: float | None, descriptors: tuple[int, ...] = ()
) -> subprocess.CompletedProcess[bytes]:
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


@contextmanager
def _readable(data: bytes) -> Iterator[int]:
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


def _key(done: subprocess.CompletedProcess[bytes]) -> str | None:
    match = _GOOD.search(_said(done))
    return f"{match[1]} {match[2]}" if match else None


def _reason(done: subprocess.CompletedProcess[bytes], namespace: str, signer: str) -> str:
    said = _said(done)
    for known, reason in _REASONS.items():
        if known in said:
            return reason.format(namespace=namespace, signer=signer)
    return f"ssh-keygen refuses it: {_last_line(done)}"


def _said(done: subprocess.CompletedProcess[bytes]) -> str:
    return (done.stderr + done.stdout).decode("utf-8", "replace").strip()


def _errors(done: subprocess.CompletedProcess[bytes]) -> list[str]:
    return done.stderr.decode("utf-8", "replace").splitlines()


def _last_line(done: subprocess.CompletedProcess[bytes]) -> str:
    lines = [line.strip() for line in _errors(done) if line.strip()]
    return shown(lines[-1], 200) if lines else f"exit code {done.returncode}"
