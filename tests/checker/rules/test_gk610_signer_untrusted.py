from dataclasses import replace

import pytest

from bundles import changed, findings, honest_cpu, outcome
from kit.bundle.reader import Auditor
from kit.signature import Signature, Signers

CODE = "GK610"
TRUSTED = Signature("trusted", "example", "ED25519 SHA256:x", "")
UNKNOWN = Signature("unknown_key", "example", "ED25519 SHA256:x", "by a key that nobody has")
INVALID = Signature("invalid", "example", None, "over other bytes")
UNSIGNED = Signature("unsigned", "example", None, "there is none")


def asked(signature, *, required=False):
    auditor = Auditor(signers=Signers("allowed_signers", required=required))
    return replace(honest_cpu(), auditor=auditor, signature=signature)


def test_nobody_asked():
    assert outcome(CODE, honest_cpu()) == "not_applicable"


@pytest.mark.parametrize(
    ("signature", "optional", "required"),
    [
        (TRUSTED, "pass", "pass"),
        (UNKNOWN, "warn", "fail"),
        (UNSIGNED, "warn", "fail"),
        (INVALID, "fail", "fail"),
    ],
)
def test_every_state(signature, optional, required):
    assert outcome(CODE, asked(signature)) == optional
    assert outcome(CODE, asked(signature, required=True)) == required


def test_no_other_rule_minds():
    assert changed(asked(TRUSTED)) == {CODE: "pass"}
    assert changed(asked(INVALID)) == {CODE: "fail"}


def test_the_finding_names_state_key_and_signer():
    (finding,) = findings(CODE, asked(UNKNOWN))
    assert finding.place == "signatures/vendor.sshsig"
    assert finding.found == "unknown key: by a key that nobody has (ED25519 SHA256:x)"
    assert finding.required == "a signature by a key that the auditor lists for example"
