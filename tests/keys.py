"""SSH keys made by the real ssh-keygen, and signatures made without the kit."""

import subprocess
from pathlib import Path


def make_key(path, *options, passphrase=""):
    """A new private key at `path` (ed25519 unless `options` say otherwise); returns `path`."""
    kind = options or ("-t", "ed25519")
    subprocess.run(
        ["ssh-keygen", "-q", *kind, "-N", passphrase, "-C", "", "-f", str(path)],
        check=True,
        timeout=60,
    )
    return path


def public(key):
    """Type and base64 of a key, as a line of allowed signers needs them."""
    return " ".join(Path(f"{key}.pub").read_text().split()[:2])


def listing(path, *lines):
    """A file of allowed signers; a line is the text or (name, options, key)."""
    rows = [line if isinstance(line, str) else _row(*line) for line in lines]
    path.write_text("".join(f"{row}\n" for row in rows))
    return path


def _row(name, options, key):
    return " ".join(filter(None, (name, options, public(key))))


def stock_sign(key, namespace, data, *options):
    """Sign as anybody would who has no kit."""
    return subprocess.run(
        ["ssh-keygen", "-Y", "sign", "-q", "-f", str(key), "-n", namespace, *options],
        input=data, capture_output=True, check=True, timeout=60,
    ).stdout  # fmt: skip


def stock_verify(allowed, name, namespace, signature, data, *options):
    """Whether plain ssh-keygen accepts the signature in the file `signature`."""
    done = subprocess.run(
        ["ssh-keygen", "-Y", "verify", "-f", str(allowed), "-I", name, "-n", namespace,
         "-s", str(signature), *options],
        input=data, capture_output=True, check=False, timeout=60,
    )  # fmt: skip
    return done.returncode == 0
