"""What a signature is worth to an auditor who has a file of allowed signers.

`ssh-keygen` decides; this module asks it, and says in one line why it does not trust. Nothing
foreign becomes an argument but a signer's name, whose grammar leaves it no way to act as an option
or a pattern.
"""

import re
import stat
from dataclasses import replace
from datetime import datetime
from hashlib import sha256
from pathlib import Path

from kit.bundle.foreign_text import shown
from kit.errors import UndecidableError, UsageError
from kit.signature import Signature, Signers
from kit.ssh_keygen import ARMOR, Answer, ask, check, errors, last_line, public_key, readable, said

MAXIMUM_SIGNATURE_BYTES = 16 * 2**10
"""RSA of 16,384 bits, OpenSSH's longest key, comes to some 6 KiB: 2 KiB each of key and signature
in base64. A pipe must hold it."""

_SIGNER = re.compile(r"[A-Za-z0-9][A-Za-z0-9@._+-]{0,127}")
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
# A key that nobody lists makes ssh-keygen read every line of the auditor's files. Its private half
# was thrown away; the signature covers no bytes, in the namespace `probe`.
_PROBE = b"""-----BEGIN SSH SIGNATURE-----
U1NIU0lHAAAAAQAAADMAAAALc3NoLWVkMjU1MTkAAAAgtstxF7vKfwA31/bcCshI/Z++uP
48iP1bhaXPZ62lzkQAAAAFcHJvYmUAAAAAAAAABnNoYTUxMgAAAFMAAAALc3NoLWVkMjU1
MTkAAABAdPsPoQvCfwuKVAN6FYqEJ9sQhApeA/fG+rTVwN348g1vQTgBfG7fPKtUUJR2XT
yjFXoGJHKwF/gHIXTr5jQfCA==
-----END SSH SIGNATURE-----
"""
_LINE_OF_A_KEY = 'write: NAME namespaces="gemm-kit-bundle-v1" ssh-ed25519 AAAA...'


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
    trusted = ask(["verify", "-n", namespace, *listed, *revoked], signature, data)
    if trusted.returncode == 0:
        return Signature("trusted", signer, _key(trusted), "")
    sound = check(signature, data, namespace)
    if sound.returncode:
        return Signature("invalid", signer, None, _reason(sound, namespace, signer))
    owners = ask(["find-principals", "-f", signers.allowed, *_date(signers)], signature, b"")
    if revoked and _is_revoked(data, signature, namespace, revoked):
        problem = "by a key that is revoked"
    elif any(known in said(trusted) for known in _REASONS):
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
    return "" if ARMOR.fullmatch(signature) else "not an armored SSH signature"


def is_signer(name: str) -> bool:
    """Whether `name` may name a signer: no blank, no pattern, no option of a command."""
    return _SIGNER.fullmatch(name) is not None


def prepared(signers: Signers) -> Signers:
    """Have ssh-keygen read the auditor's files whole, before anything is judged by them.

    Returns:
        `signers` with the `digest` of what the files say today.

    Raises:
        UsageError: a file, or a line of it, that ssh-keygen cannot read.
        UndecidableError: there is no ssh-keygen, or it does not know a sound signature.
    """
    if check(_PROBE, b"", "probe").returncode:
        raise UndecidableError("this ssh-keygen verifies no signature", hint="update OpenSSH")
    allowed = _content("--allowed-signers", signers.allowed)
    revoked = b"" if signers.revoked is None else _content("--revoked-keys", signers.revoked)
    _refuse_meaningless_lines(signers.allowed, allowed)
    if signers.revoked is not None and _is_revoked(b"", _PROBE, "probe", ["-r", signers.revoked]):
        raise UsageError(
            f"--revoked-keys {signers.revoked}: holds no keys that ssh-keygen can read",
            hint="a list of public keys, or what ssh-keygen -k writes",
        )
    day = (signers.date or f"{datetime.now().astimezone():%Y%m%d}").encode("ascii")
    parts = (sha256(part).digest() for part in (allowed, revoked, day))
    return replace(signers, digest=sha256(b"".join(parts)).hexdigest())


def _refuse_meaningless_lines(path: str, content: bytes) -> None:
    lines = content.split(b"\n")
    if all(not line.strip() or line.lstrip().startswith(b"#") for line in lines):
        raise UsageError(f"--allowed-signers {path}: names nobody", hint=_LINE_OF_A_KEY)
    for complaint in errors(ask(["find-principals", "-f", path], _PROBE, b"")):
        number, _, problem = complaint.removeprefix(f"{path}:").partition(":")
        # OpenSSH 9.2 complains about empty lines too, which its manual allows.
        if number.isdecimal() and lines[int(number) - 1].strip():
            raise UsageError(
                f"--allowed-signers {path}: line {number}: {problem.strip()}",
                hint=_LINE_OF_A_KEY,
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
    with readable(f"signer {public_key(signature)}\n".encode("ascii")) as allowed:
        done = ask(
            ["verify", "-n", namespace, "-I", "signer", "-f", f"/dev/fd/{allowed}", *revoked],
            signature,
            data,
            allowed,
        )
    return done.returncode != 0


def _date(signers: Signers) -> list[str]:
    return [] if signers.date is None else [f"-Overify-time={signers.date}"]


def _key(done: Answer) -> str | None:
    match = _GOOD.search(said(done))
    return f"{match[1]} {match[2]}" if match else None


def _reason(done: Answer, namespace: str, signer: str) -> str:
    text = said(done)
    for known, reason in _REASONS.items():
        if known in text:
            return reason.format(namespace=namespace, signer=signer)
    return f"ssh-keygen refuses it: {last_line(done)}"
