"""The verdicts of one round, after every bundle was held against the others.

A round can only worsen a verdict. It needs nothing but the verdicts: each carries the traits of its
bundle, so this runs in the process that collects them. A bundle that is not compliant by itself
fails no other one, nor does one without a trusted signature a trusted one: the other is warned.
"""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace

from kit.checker.catalogue import all_round_rules
from kit.checker.limits import MAXIMUM_FINDINGS, bounded, cut
from kit.checker.round_rule import Member, RoundRule
from kit.checker.rule import Finding, Outcome, outcome_of
from kit.checker.verdict import Judgement, RuleResult, Verdict, Waiver, worst

_ALONE = "no other bundle was given that could be read"
_NO_TRAITS = "what of this bundle compares with others could not be taken from it"


def compare(verdicts: Sequence[Verdict], waivers: Collection[Waiver] = ()) -> tuple[Verdict, ...]:
    """Return each verdict with the results of the round's rules, in the same order.

    A bundle that no rule could judge has none to add to.
    """
    members = [
        Member(
            verdict.name,
            verdict.digest,
            verdict.traits,
            is_compliant=verdict.judgement == "compliant",
            is_trusted=verdict.signature is None or verdict.signature.state == "trusted",
        )
        for verdict in verdicts
        if verdict.digest is not None and verdict.traits is not None
    ]
    columns = [_run(rule, members) for rule in all_round_rules()]
    rows = iter(zip(*columns, strict=True))
    return tuple(
        _judged(verdict, next(rows), waivers)
        if verdict.digest is not None and verdict.traits is not None
        else _unproven(verdict)
        for verdict in verdicts
    )


def _run(rule: RoundRule, members: Sequence[Member]) -> list[RuleResult]:
    """One result for each member."""
    if len(members) < 2:
        return [_result(rule, "not_applicable", reason=_ALONE) for _ in members]
    found: list[list[Finding]] = [[] for _ in members]
    order = sorted(range(len(members)), key=lambda at: members[at].credibility, reverse=True)
    ranked = [members[at] for at in order]
    try:
        for number, other, finding in rule.check(ranked):
            weighed = _weighed(finding, ranked[number], ranked[other])
            found[order[number]].append(weighed)
    except Exception as error:  # noqa: BLE001 - a rule's bug must not hide the other verdicts
        reason = cut(f"{type(error).__name__}: {error}")
        return [_result(rule, "error", reason=reason) for _ in members]
    return [
        _result(rule, outcome_of([finding.severity for finding in findings]), findings)
        for findings in found
    ]


def _weighed(finding: Finding, member: Member, other: Member) -> Finding:
    """The finding about `member`, which is a warning where `other` is not to be believed."""
    if finding.severity != "fail" or other.may_fail(member):
        return finding
    doubt = "its signature is not trusted" if other.is_compliant else "it is not compliant itself"
    required = f"{finding.required}; {other.name} fails no other bundle: {doubt}"
    return replace(finding, required=required, severity="warn")


def _result(
    rule: RoundRule,
    outcome: Outcome,
    findings: Sequence[Finding] = (),
    reason: str | None = None,
) -> RuleResult:
    kept = tuple(map(bounded, findings[:MAXIMUM_FINDINGS]))
    return RuleResult(rule.code, rule.name, outcome, reason, kept, len(findings))


def _judged(
    verdict: Verdict, results: Iterable[RuleResult], waivers: Collection[Waiver]
) -> Verdict:
    results = tuple(results)
    failed = {result.code for result in results if result.outcome == "fail"}
    used = tuple(
        waiver for waiver in waivers if waiver.bundle == verdict.digest and waiver.code in failed
    )
    judgements: list[Judgement] = [verdict.judgement]
    if any(result.outcome == "error" for result in results):
        judgements.append("internal_error")
    if failed - {waiver.code for waiver in used}:
        judgements.append("not_compliant")
    return replace(
        verdict,
        judgement=worst(judgements),
        rules=verdict.rules + results,
        waivers=verdict.waivers + used,
    )


def _unproven(verdict: Verdict) -> Verdict:
    """A bundle that was judged but gave nothing to compare: nobody knows whose data it holds."""
    if not verdict.rules:
        return verdict
    reason = verdict.problem or _NO_TRAITS
    results = tuple(_result(rule, "unproven", reason=reason) for rule in all_round_rules())
    judgement = worst((verdict.judgement, "undecided"))
    return replace(verdict, judgement=judgement, rules=verdict.rules + results)
