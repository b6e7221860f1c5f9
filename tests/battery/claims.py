"""Claimed figures that do not follow from the evidence."""

from dataclasses import fields, replace

from battery.bases import CLOSED, GUIDELINE
from battery.registry import Manipulation, add, manipulation
from bundles import with_claims
from kit.evidence import Results, RunMetrics

_NAMES = tuple(f.name for f in fields(RunMetrics) if f.name not in ("device", "number"))


def _run_figure(bundle, name, change):
    claim = bundle.claims.cases[0].runs[0]
    return with_claims(bundle, GUIDELINE, 1, **{name: change(getattr(claim, name))})


def _better(value):
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return value + 1
    return value * (1 + 1e-6) if isinstance(value, float) else "fp8"


def _nothing(_):
    return None


def _figures():
    """Every claimed figure of a run raised by a millionth, and every one taken away that may be."""
    optional = {f.name for f in fields(RunMetrics) if "None" in str(f.type)}
    for name in _NAMES:
        for label, change in (("raised", _better), ("taken_away", _nothing)):
            if change is _nothing and name not in optional:
                continue
            add(
                Manipulation(
                    "claims",
                    f"{name}-{label}",
                    "guideline",
                    "M11",
                    "GK501",
                    f"The claimed {name} is {label.replace('_', ' ')}.",
                    "records",
                    _run_figure,
                    {"name": name, "change": change},
                    claims=False,
                )
            )


_figures()


def _case(bundle, **changes):
    first, *others = bundle.claims.cases
    return replace(
        bundle, claims=replace(bundle.claims, cases=(replace(first, **changes), *others))
    )


@manipulation("GK501", "M26", base="closed", claims=False)
def best_run_as_headline(bundle):
    """The headline is the best run's, where it should be the median."""
    claim = bundle.claims.cases[0]
    best = min(claim.runs, key=lambda run: run.mean_period_ns)
    return _case(bundle, period_ns=best.mean_period_ns, flops_per_s=best.flops_per_s)


@manipulation(
    "GK501",
    "M26",
    base="closed",
    claims=False,
    variants={
        "less": {"value": 0.0001},
        "none": {"value": None},
    },
)
def range_polished(bundle, value):
    """The range of the replicates is told smaller, or not told."""
    return _case(bundle, replicate_range=value)


@manipulation(
    "GK501",
    "M11",
    claims=False,
    variants={
        "period": {"name": "period_ns"},
        "flops": {"name": "flops_per_s"},
    },
)
def headline_polished(bundle, name):
    """The headline is a hundredth better than the evidence."""
    value = getattr(bundle.claims.cases[0], name)
    return _case(bundle, **{name: value * (0.99 if name == "period_ns" else 1.01)})


@manipulation("GK003", "M26", base="closed", claims=False)
def run_left_out(bundle):
    """The claims leave out the slowest run."""
    claim = bundle.claims.cases[0]
    slowest = max(claim.runs, key=lambda run: run.mean_period_ns)
    return _case(bundle, runs=tuple(run for run in claim.runs if run is not slowest))


@manipulation("GK003", "M26", base="closed", claims=False)
def case_left_out(bundle):
    """The claims leave out a case."""
    return replace(bundle, claims=replace(bundle.claims, cases=bundle.claims.cases[:1]))


@manipulation("GK003", "M26", claims=False)
def case_invented(bundle):
    """The claims speak of a case that nobody measured."""
    claim = bundle.claims.cases[0]
    more = (*bundle.claims.cases, replace(claim, id="square_16384-fp64-nn"))
    return replace(bundle, claims=replace(bundle.claims, cases=more))


@manipulation("GK003", "M26", claims=False)
def nothing_claimed(bundle):
    """There are no claims."""
    return replace(bundle, claims=Results(bundle.plan.edition, ()))


@manipulation("GK501", "M26", base="closed", claims=False)
def claims_of_runs_exchanged(bundle):
    """Two runs claim each other's figures."""
    first, second, *rest = bundle.claims.cases[0].runs
    swapped = (replace(second, number=first.number), replace(first, number=second.number), *rest)
    assert bundle.claims.cases[0].id == CLOSED
    return _case(bundle, runs=swapped)


@manipulation("GK501", "M11", base="formats", claims=False)
def figures_of_another_case(bundle):
    """The fp32 case claims the figures of tf32."""
    claims = {claim.id: claim for claim in bundle.claims.cases}
    fp32, tf32 = "square_4096-fp32-nn", "square_4096-tf32-nn"
    swapped = tuple(
        replace(claims[tf32], id=fp32) if c.id == fp32 else c for c in bundle.claims.cases
    )
    return replace(bundle, claims=replace(bundle.claims, cases=swapped))
