"""The options by which an auditor says whom to trust to sign, alike in every command."""

from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import TypeVar

import click

from kit.errors import UsageError
from kit.signature import Signers

Command = TypeVar("Command", bound=Callable[..., int])

_EPOCH = 1970
_FILE = click.Path(path_type=Path)


def signer_options(*, required: bool) -> Callable[[Command], Command]:
    """Give a command --allowed-signers, --revoked-keys and --at."""
    options = (
        click.option(
            "--allowed-signers",
            metavar="FILE",
            type=_FILE,
            required=required,
            help="Whose signatures count: a name and a public key a line (ssh-keygen(1)).",
        ),
        click.option(
            "--revoked-keys",
            metavar="FILE",
            type=_FILE,
            help="Keys that count no more: public keys, or a list of ssh-keygen -k.",
        ),
        click.option(
            "--at",
            metavar="DATE",
            type=click.DateTime(["%Y-%m-%d"]),
            help="Day on which keys must have been valid [default: today].",
        ),
    )

    def add(command: Command) -> Command:
        for option in reversed(options):
            command = option(command)
        return command

    return add


def read_signers(
    allowed: Path, revoked: Path | None, at: datetime | None, *, required: bool
) -> Signers:
    """What the options say, once ssh-keygen has read the files.

    Raises:
        UsageError: a file, or a line of it, cannot be read.
        UndecidableError: there is no ssh-keygen.
    """
    from kit.allowed_signers import prepared

    if at is not None and at.year <= _EPOCH:  # ssh-keygen counts seconds from there
        raise UsageError(f"--at {at:%Y-%m-%d}: no key is so old", hint=f"a day after {_EPOCH}")
    return prepared(
        Signers(
            str(allowed.absolute()),
            None if revoked is None else str(revoked.absolute()),
            None if at is None else f"{at:%Y%m%d}",
            required,
        )
    )


def chosen_signers(
    allowed: Path | None, revoked: Path | None, at: datetime | None, *, required: bool
) -> Signers | None:
    """As `read_signers`; null where nobody asks about signatures.

    Raises:
        UsageError: an option asks about signatures and none says whose.
    """
    if allowed is not None:
        return read_signers(allowed, revoked, at, required=required)
    if required or revoked is not None or at is not None:
        raise UsageError("whose signatures count?", hint="--allowed-signers FILE")
    return None
