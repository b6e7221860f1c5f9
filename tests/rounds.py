"""Members of a round as the rules about it see them, and what those rules find."""

from kit.checker.catalogue import all_round_rules
from kit.checker.round_rule import Member
from kit.checker.traits import Traits

H200 = {"name": "NVIDIA H200", "sm_count": "132", "cache_bytes": "62914560"}
GPU = "gpu-1dd20b1a6155"
START = 1_790_000_000


def member(name, *, digest=None, submitter="acme", devices=(), busy=(), series=(), **standing):
    """A bundle of a round; by default it has a digest of its own and nothing to compare."""
    digest = f"{abs(hash(name)):064x}" if digest is None else digest
    traits = Traits(submitter, {}, dict(devices), dict(busy), dict(series))
    return Member(name, digest, traits, **standing)


def found(code, *members):
    """What a rule finds: the number of the bundle and the finding."""
    (rule,) = [rule for rule in all_round_rules() if rule.code == code]
    return [(number, finding) for number, _, finding in rule.check(members)]
