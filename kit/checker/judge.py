"""One folder becomes one verdict, whatever the folder holds.

The order is that of trust: read every byte once, compare it with the sealed manifests, parse,
choose the edition's thresholds, run every rule of the catalogue. There is no way to skip one.
"""

import hashlib
from collections.abc import Callable, Collection
from dataclasses import replace
from pathlib import Path

from kit.bundle.layout import SIGNATURES
from kit.bundle.reader import Auditor, Bundle, Container, parse, read_container
from kit.checker.catalogue import all_rules
from kit.checker.extract import traits
from kit.checker.headline import headline
from kit.checker.integrity import integrity_findings
from kit.checker.limits import MAXIMUM_FINDINGS, bounded, cut
from kit.checker.rule import (
    Finding,
    NotApplicable,
    Outcome,
    Rule,
    Severity,
    Unproven,
    outcome_of,
)
from kit.checker.signed import bundle_signature
from kit.checker.traits import Traits
from kit.checker.verdict import Headline, Judgement, RuleResult, Verdict, Waiver, decide
from kit.errors import BundleError, KitError, UndecidableError
from kit.ruleset import Ruleset, is_in_force, ruleset

INTEGRITY = "GK001"
MAXIMUM_COUNTED = 100_000
"""Findings after which a rule is stopped: a hostile bundle may earn millions."""
_ALONE = Auditor()
_TOO_LARGE = "judging it takes more memory than this kit gives one bundle"


def judge(
    path: Path,
    *,
    auditor: Auditor = _ALONE,
    waivers: Collection[Waiver] = (),
    name: str | None = None,
    known: Callable[[str, str], Verdict | None] = lambda _digest, _content: None,
) -> Verdict:
    """Judge the bundle at `path`; `name` is what the verdict calls it, its path by default.

    `known` may give the verdict of an earlier check, by the bundle's digest and the SHA-256 of its
    content. It is asked after every byte was read and found to be what was sealed.
    """
    called = str(path) if name is None else name
    try:
        container = read_container(path)
    except Exception as error:  # noqa: BLE001 - hostile bytes must not end the checker
        return _unjudged(called, None, error)
    faults = tuple(integrity_findings(container))
    content = None if faults else _content(container)
    if content is not None:
        earlier = known(container.digest, content)
        if earlier is not None:
            return replace(earlier, name=called)
    try:
        bundle = replace(parse(container), auditor=auditor)
        rules = ruleset(bundle.plan.edition)
        if auditor.signers is not None:
            submitter = bundle.plan.submission.submitter
            signature = bundle_signature(container, submitter, auditor.signers)
            bundle = replace(bundle, signature=signature)
    except Exception as error:  # noqa: BLE001 - as above
        if faults:
            return _altered(called, container, faults, error)
        unjudged = _unjudged(called, container.digest, error)
        return unjudged if isinstance(error, MemoryError) else replace(unjudged, content=content)
    try:
        results = tuple(run_rule(rule, bundle, rules) for rule in all_rules())
    except MemoryError as error:  # of this process, which may hold more: not to be remembered
        return _unjudged(called, container.digest, error)
    failed = {result.code for result in results if result.outcome == "fail"}
    used = tuple(
        waiver for waiver in waivers if waiver.bundle == container.digest and waiver.code in failed
    )
    division = bundle.plan.submission.division
    judgement = decide(results, division, {waiver.code for waiver in used})
    return Verdict(
        name=called,
        digest=container.digest,
        edition=rules.edition,
        judgement=judgement,
        problem=_problem(judgement),
        headline=_headline(bundle),
        rules=results,
        waivers=used,
        signature=bundle.signature,
        traits=_traits(bundle),
        content=content,
    )


def run_rule(rule: Rule, bundle: Bundle, rules: Ruleset) -> RuleResult:
    """Run one rule to its end. A rule that crashes has the outcome `error` and never passes.

    A rule that is younger than the bundle's edition does not apply to it.

    Raises:
        MemoryError: the bundle takes more than a worker is given.
    """
    if not is_in_force(rule.since, rules.edition):
        younger = f"a rule since edition {rule.since}; the bundle is of {rules.edition}"
        return RuleResult(rule.code, rule.name, "not_applicable", younger, (), 0)
    kept: list[Finding] = []
    severities: set[Severity] = set()
    total = 0
    stopped: Outcome | None = None
    reason = None
    try:
        for finding in rule.check(bundle, rules):
            total += 1
            severities.add(finding.severity)
            if len(kept) < MAXIMUM_FINDINGS:
                kept.append(bounded(finding))
            if total == MAXIMUM_COUNTED:
                break
    except Unproven as why:
        stopped, reason = "unproven", cut(str(why))
    except NotApplicable as why:
        stopped, reason = "not_applicable", cut(str(why))
    except MemoryError:
        raise
    except Exception as error:  # noqa: BLE001 - one rule's bug must not hide the others' findings
        stopped, reason = "error", cut(_describe(error))
    outcome = outcome_of(severities)
    if stopped == "error" or (stopped is not None and outcome != "fail"):
        outcome = stopped
    return RuleResult(rule.code, rule.name, outcome, reason, tuple(kept), total)


def _altered(
    name: str, container: Container, faults: tuple[Finding, ...], error: Exception
) -> Verdict:
    """A bundle that was changed after sealing and cannot be parsed for it. Nothing is waived."""
    reason = cut(f"the bundle was changed and cannot be read: {_describe(error)}")
    results = []
    for rule in all_rules():
        if rule.code == INTEGRITY:
            kept = tuple(map(bounded, faults[:MAXIMUM_FINDINGS]))
            results.append(RuleResult(rule.code, rule.name, "fail", None, kept, len(faults)))
        else:
            results.append(RuleResult(rule.code, rule.name, "unproven", reason, (), 0))
    return Verdict(name, container.digest, None, "not_compliant", reason, None, tuple(results), ())


def _unjudged(name: str, digest: str | None, error: Exception) -> Verdict:
    judgement: Judgement = "internal_error"
    if isinstance(error, MemoryError):
        return Verdict(name, digest, None, "refused", _TOO_LARGE, None, (), ())
    if isinstance(error, BundleError):
        judgement = "refused"
    elif isinstance(error, UndecidableError):
        judgement = "undecided"
    return Verdict(name, digest, None, judgement, cut(_describe(error)), None, (), ())


def _problem(judgement: Judgement) -> str | None:
    if judgement == "undecided":
        return "evidence that this division must have is missing: see the unproven rules"
    if judgement == "internal_error":
        return "a rule ended with an error: a fault of this kit, or of the bundle's own making"
    return None


def _headline(bundle: Bundle) -> Headline | None:
    try:
        return headline(bundle)
    except Exception:  # noqa: BLE001 - the rules have their say; only the table is missing
        return None


def _traits(bundle: Bundle) -> Traits | None:
    try:
        return traits(bundle)
    except Exception:  # noqa: BLE001 - as above; without traits a round cannot be compliant
        return None


def _content(container: Container) -> str:
    """The sealed digest vouches for everything but the signature beside it."""
    total = hashlib.sha256(container.digest.encode())
    for path, data in sorted(container.files.items()):
        if path.startswith(f"{SIGNATURES}/"):
            total.update(f"\n{hashlib.sha256(data).hexdigest()} {path}".encode())
    return total.hexdigest()


def _describe(error: Exception) -> str:
    return str(error) if isinstance(error, KitError) else f"{type(error).__name__}: {error}"
