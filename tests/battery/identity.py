"""Bundles that are older than the challenge, or of another device or maker."""

from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

from battery.bases import GUIDELINE
from battery.forging import numbered, with_runs
from battery.registry import manipulation, on_files
from bundles import with_environment, with_fields, with_plan
from keys import make_key, stock_sign
from kit.bundle.layout import SIGNATURE
from kit.bundle.reader import Auditor
from kit.fill import fill_seed, sample_seed
from kit.signature import Signers

CHALLENGE = "00112233445566778899aabbccddeeff"
ASKED = Auditor(challenge=CHALLENGE)


def _challenged(bundle):
    return with_plan(bundle, submission__challenge=CHALLENGE)


@manipulation("GK605", "M26", auditor=ASKED, sealed=False)
def measured_before_the_challenge(bundle):
    """A bundle that was lying about, handed in as the answer to a challenge."""
    return bundle


@manipulation("GK605", "M26", auditor=ASKED)
def answers_another_challenge(bundle):
    """A bundle made for somebody else's challenge."""
    return with_plan(bundle, submission__challenge="ff" * 16)


@manipulation("GK202", "M26", auditor=ASKED)
def challenge_written_in(bundle):
    """The challenge is written into the plan of an older bundle."""
    return _challenged(bundle)


@manipulation("GK204", "M26", auditor=ASKED)
def challenge_and_seeds_written_in(bundle):
    """The challenge and the seeds that follow from it are written into an older bundle."""
    bundle = _challenged(bundle)
    plan = bundle.plan

    def change(run):
        found = run.document
        who = (found.case, found.device, found.number)
        return replace(
            run,
            document=with_fields(
                found,
                fill_seed=fill_seed(plan.seed, CHALLENGE, found.case),
                sample_seed=sample_seed(plan.seed, CHALLENGE, *who),
            ),
        )

    case = bundle.cases[GUIDELINE]
    changed = replace(case, runs=tuple(map(change, case.runs)))
    return replace(bundle, cases={GUIDELINE: changed})


def _of_device(bundle, uuid, identity):
    device = f"gpu-{uuid}"
    bundle = with_environment(bundle, device__id=device)
    case = bundle.cases[GUIDELINE]
    kept = []
    for run in case.runs:
        found = with_fields(run.document, device=device)
        if identity:
            found = with_fields(found, identity__cuda_uuid_hash=uuid, identity__nvml_uuid_hash=uuid)
        kept.append(numbered(bundle, replace(run, document=found), found.number))
    counters = dict.fromkeys([device], replace(next(iter(case.counters.values())), device=device))
    bundle = replace(bundle, cases={GUIDELINE: replace(case, counters=counters)})
    return with_runs(bundle, {GUIDELINE: kept})


@manipulation("GK102", "M12", variants={"name": {"identity": False}, "uuid": {"identity": True}})
def device_renamed(bundle, identity):
    """Every document calls the device by another UUID, that which CUDA and NVML saw too or not."""
    return _of_device(bundle, "0123456789ab", identity)


@manipulation("GK004", "M26", variants={"submitter": {"name": "somebody-else"}})
def taken_from_another(bundle, name):
    """Another's bundle is handed in under one's own name."""
    bundle = with_plan(bundle, submission__submitter=name)
    return replace(bundle, system=replace(bundle.system, submitter=name))


# Whose private half nobody has any more: the auditor trusts this key and no other.
_ALLOWED = Path(__file__).with_name("allowed_signers")
TRUSTING = Auditor(signers=Signers(str(_ALLOWED)))
DEMANDING = Auditor(signers=Signers(str(_ALLOWED), required=True))
NAMESPACE = "gemm-kit-bundle-v1"


def _signed(folder, namespace, data):
    with TemporaryDirectory() as keys:
        key = make_key(Path(keys) / "key")
        signature = stock_sign(key, namespace, data)
    (folder / SIGNATURE).parent.mkdir()
    (folder / SIGNATURE).write_bytes(signature)


@on_files("GK610", "M26", sealed=False, auditor=DEMANDING)
def not_signed(folder):
    """There is no signature where the auditor asks for one, or it was taken away."""


@on_files("GK610", "M26", sealed=False, auditor=DEMANDING)
def signed_by_a_stranger(folder):
    """Somebody whom the auditor does not know signed the bundle."""
    _signed(folder, NAMESPACE, (folder / "tagmanifest-sha256.txt").read_bytes())


@on_files(
    "GK610",
    "M26",
    sealed=False,
    auditor=TRUSTING,
    variants={"bundle": {"namespace": NAMESPACE}, "purpose": {"namespace": "git"}},
)
def signature_of_something_else(folder, namespace):
    """The signature is over other bytes, or was given for another purpose."""
    _signed(folder, namespace, b"another bundle's manifest\n")
