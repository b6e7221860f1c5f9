"""Which of the tuner's candidates is measured: the fastest one that does nothing but its GEMMs."""

from collections.abc import Iterable

from kit.evidence import Candidate


def choose(candidates: Iterable[Candidate]) -> Candidate | None:
    """The candidate to measure; None if none was timed.

    Extra device work beside the GEMMs (a split-K reduction, a conversion) makes a candidate
    unclean. It is chosen only where no clean one was timed, as when Triton was asked for by name
    (clause M04). The order of equally fast ones decides.
    """
    timed = [candidate for candidate in candidates if candidate.period_ns is not None]
    clean = [candidate for candidate in timed if not candidate.extra]
    return min(clean or timed, key=lambda candidate: candidate.period_ns or 0.0, default=None)
