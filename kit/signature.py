"""Who signed what, as far as an auditor can know it: four states, never a boolean.

A signature is OpenSSH's (PROTOCOL.sshsig), detached, over bytes and a namespace of the kit's own,
so that one made for another purpose never counts here. A key inside a signature proves nothing:
trust comes only from the auditor's file of allowed signers (ssh-keygen(1), ALLOWED SIGNERS).
"""

from dataclasses import dataclass
from typing import Literal

BUNDLE_NAMESPACE = "gemm-kit-bundle-v1"
VERDICT_NAMESPACE = "gemm-kit-verdict-v1"

SignatureState = Literal["trusted", "unknown_key", "invalid", "unsigned"]
"""`trusted`: by a key that the auditor's file lists for the required signer. `unknown_key`: sound,
by a key that the file does not list. `invalid`: not a signature over these bytes, or by a key that
the auditor rules out: another signer's, revoked, out of date. `unsigned`: there is none."""


@dataclass(frozen=True, slots=True)
class Signature:
    """What became of one signature.

    `signer` is who had to sign. `key` is the type and SHA-256 fingerprint of the key that signed,
    null where no sound signature names one. `detail` says why the state is not `trusted`, and is
    empty otherwise.
    """

    state: SignatureState
    signer: str
    key: str | None
    detail: str


@dataclass(frozen=True, slots=True)
class Signers:
    """Whom the auditor trusts to sign.

    `allowed` is the path of a file of allowed signers, `revoked` that of a key revocation list or
    of a list of public keys. `date` (YYYYMMDD, local time) is when keys must have been valid; null:
    now. `required` makes a signature that is missing, or by an unknown key, a failure. `digest` is
    the SHA-256 of what the files said and of the day: a verdict by other ones may differ.
    """

    allowed: str
    revoked: str | None = None
    date: str | None = None
    required: bool = False
    digest: str = ""
