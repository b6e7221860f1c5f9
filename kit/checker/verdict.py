"""What the checker says of one bundle, and which verdict and exit code follow from the rules.

Plain data that survives the way through JSON (`kit.records`), since a bundle is judged in a
process of its own.
"""

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Literal

from kit.checker.rule import Finding, Outcome
from kit.checker.traits import Traits
from kit.plan import Availability, Division
from kit.signature import Signature

Judgement = Literal["compliant", "undecided", "not_compliant", "refused", "internal_error"]

EXIT_CODES: dict[Judgement, int] = {
    "compliant": 0,
    "not_compliant": 1,
    "refused": 3,
    "internal_error": 4,
    "undecided": 5,
}
JUDGEMENTS: tuple[Judgement, ...] = (
    "compliant", "undecided", "not_compliant", "refused", "internal_error",
)  # fmt: skip
"""From best to worst: of many bundles, the worst decides."""


@dataclass(frozen=True, slots=True)
class RuleResult:
    """One rule's outcome; `findings` are the first of `findings_total`."""

    code: str
    name: str
    outcome: Outcome
    reason: str | None
    findings: tuple[Finding, ...]
    findings_total: int


@dataclass(frozen=True, slots=True)
class Waiver:
    """The auditor's decision to accept that rule `code` fails for the bundle with this digest."""

    code: str
    bundle: str
    reason: str


@dataclass(frozen=True, slots=True)
class CaseFigures:
    """A case's figures as recomputed; null where the evidence does not give them.

    `period_ns` is the median of the runs' mean periods, `replicate_range` their range over it,
    `spread` the largest of the runs' own; clock, power, energy and the shares of speed of light
    and data sheet are medians over the runs, as is `period_over_kernel`, the mean period over the
    kernels' own time. `dram_read_ratio` is the bytes that a GEMM read from DRAM over those of its
    inputs, where they were counted. `executed` is the arithmetic of the runs' programs and `native`
    whether all of them ran the number format as it is. `problem` says why nothing was measured, and
    is empty otherwise.
    """

    id: str
    number_format: str
    executed: str | None
    native: bool | None
    runs: int
    period_ns: float | None
    flops_per_s: float | None
    spread: float | None
    replicate_range: float | None
    graphics_mhz: float | None
    power_mw: float | None
    sol_fraction: float | None
    period_over_kernel: float | None
    dram_read_ratio: float | None
    sol_fraction_at_maximum_clock: float | None
    datasheet_fraction: float | None
    energy_per_gemm_j: float | None
    flops_per_s_per_watt: float | None
    problem: str


@dataclass(frozen=True, slots=True)
class Headline:
    """Who submitted what, and the figures that the evidence gives."""

    submitter: str
    system_id: str
    division: Division
    availability: Availability
    cases: tuple[CaseFigures, ...]


@dataclass(frozen=True, slots=True)
class Verdict:
    """The checker's word on one bundle. `problem` says why it could not be judged by the rules.

    `signature` is what the auditor's allowed signers make of the submitter's; null: not asked.
    No part of the word are `traits`, null where the bundle could not be parsed, and `content`: the
    SHA-256 of all that was judged, null where the bytes are not those that were sealed.
    """

    name: str
    digest: str | None
    edition: str | None
    judgement: Judgement
    problem: str | None
    headline: Headline | None
    rules: tuple[RuleResult, ...]
    waivers: tuple[Waiver, ...]
    traits: Traits | None = None
    content: str | None = None
    signature: Signature | None = None

    @property
    def exit_code(self) -> int:
        """Exit code that this bundle alone gives."""
        return EXIT_CODES[self.judgement]

    @property
    def waived(self) -> frozenset[str]:
        """Codes of the rules whose failing the auditor accepted for this bundle."""
        return frozenset(waiver.code for waiver in self.waivers)


def decide(results: Iterable[RuleResult], division: Division, waived: Collection[str]) -> Judgement:
    """Weigh the outcomes; `waived` are codes of rules whose failing the auditor accepts.

    A rule that crashed proves nothing, and neither do rules none of which reached a result.
    """
    results = tuple(results)
    outcomes = {result.outcome for result in results}
    if "error" in outcomes:
        return "internal_error"
    if any(result.outcome == "fail" and result.code not in waived for result in results):
        return "not_compliant"
    if not outcomes & {"pass", "warn", "fail"}:
        return "undecided"
    if division == "closed" and "unproven" in outcomes:
        return "undecided"
    return "compliant"


def worst(judgements: Iterable[Judgement]) -> Judgement:
    """The verdict over many bundles.

    Raises:
        ValueError: there are none.
    """
    return max(judgements, key=JUDGEMENTS.index)
