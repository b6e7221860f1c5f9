"""What in a bundle about to be sealed gives away who or where the vendor is, or a key.

Looks for the user's and the host's name, home folders, private keys and the shapes of well-known
tokens. Text that the submitter declares about themselves in the plan is theirs to publish.
"""

import getpass
import re
import socket
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass

_SHORTEST_NAME = 4
# Accounts and hosts that images come with: they point at nobody, and some are product names.
_NOBODY = frozenset(
    (
        *("admin", "debian", "docker", "ec2-user", "jovyan", "localhost"),
        *("nvidia", "root", "runner", "ubuntu", "user", "users"),
    )
)
_SHAPES = {
    "a home folder": rb"/(?:home|Users)/[^/\s\"]+|/root/",
    "a private key": rb"-----BEGIN [A-Z ]{0,40}-----",
    "an AWS key": rb"(?<![A-Z0-9])(?:AKIA|ASIA)[A-Z0-9]{16}(?![A-Z0-9])",
    "a GitHub token": rb"gh[pousr]_[A-Za-z0-9]{36}|github_pat_[A-Za-z0-9_]{22}",
    "a Hugging Face token": rb"(?<![A-Za-z0-9])hf_[A-Za-z0-9]{30}",
    "a Google Cloud key": rb"AIza[A-Za-z0-9_-]{35}|(?<![A-Za-z0-9])ya29\.[A-Za-z0-9_-]{20}",
    "a password in an address": rb"://[^/\s\"@:]+:[^/\s\"@]+@",
}


@dataclass(frozen=True, slots=True)
class Leak:
    """One place that gives something away; the secret itself is not repeated."""

    path: str
    line: int
    what: str


def own_names() -> dict[str, str]:
    """Return what is a name of this user or host, by name, where it could identify somebody."""
    host = socket.gethostname()
    names = {host: "the host's name", host.partition(".")[0]: "the host's name"}
    with suppress(KeyError, OSError):  # a container may run under a number without an account
        names[getpass.getuser()] = "the user's name"
    return {
        name: what
        for name, what in names.items()
        if len(name) >= _SHORTEST_NAME and name.lower() not in _NOBODY
    }


def find_leaks(
    files: Mapping[str, bytes], names: Mapping[str, str], declared: Iterable[str]
) -> Iterator[Leak]:
    """Yield every leak in `files`. `names` maps words to what they are; `declared` are allowed."""
    shapes = {what: re.compile(shape) for what, shape in _SHAPES.items()}
    for word in names.keys() - set(declared):
        literal = re.escape(word.encode())
        shapes[names[word]] = re.compile(rb"(?<![A-Za-z0-9])" + literal + rb"(?![A-Za-z0-9])")
    for path, content in files.items():
        for what, shape in shapes.items():
            for match in shape.finditer(content):
                yield Leak(path, content.count(b"\n", 0, match.start()) + 1, what)
