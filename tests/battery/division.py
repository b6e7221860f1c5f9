"""Evidence that the closed division must have, and flights from it."""

from dataclasses import replace

from battery.bases import CLOSED
from battery.forging import document, runs, time_line, with_runs
from battery.registry import UNDECIDED, manipulation
from bundles import with_plan, with_system


def _to(bundle, division):
    return with_system(with_plan(bundle, submission__division=division), division=division)


@manipulation("GK602", "M26", base="formats")
def open_bundle_called_closed(bundle):
    """One run of the open division is handed in as closed."""
    return _to(bundle, "closed")


@manipulation("GK603", "M07", base="cpu")
def host_bundle_called_closed(bundle):
    """A CPU host's bundle is handed in as closed."""
    return _to(bundle, "closed")


@manipulation(
    "GK603",
    "M07",
    base="closed",
    variants={
        "platform": {
            "changes": {
                "backend__platform": "cpu",
                "backend__implementation": "library",
                "backend__tuning_attempts": 0,
            }
        },
        "timing": {"changes": {"timing__method": "external_profiler"}},
        "telemetry": {"changes": {"telemetry__source": "none"}},
    },
)
def plan_without_the_evidence(bundle, changes):
    """The plan does not ask for the closed division's evidence."""
    return with_plan(bundle, **changes)


@manipulation("GK006", "M26", claims=False, variants={"2025.2": {"edition": "2025.2"}})
def claims_of_another_edition(bundle, edition):
    """The claims were derived under another edition."""
    return replace(bundle, claims=replace(bundle.claims, edition=edition))


@manipulation(
    UNDECIDED, "attack", variants={"2025.1": {"edition": "2025.1"}, "9999.9": {"edition": "9999.9"}}
)
def unknown_edition(bundle, edition):
    """An edition that the kit does not know, with laxer thresholds perhaps."""
    return with_plan(bundle, edition=edition)


@manipulation(
    "GK601",
    "M26",
    base="closed",
    variants={
        "out_of_memory": {"status": "out_of_memory"},
        "interrupted": {"status": "interrupted"},
    },
)
def case_not_measured(bundle, status):
    """A planned case has outcomes but no run."""
    case = bundle.cases[CLOSED]
    outcomes = tuple(replace(r, status=status, reason="it did not fit") for r in case.record.runs)
    changed = replace(case, runs=(), counters={}, record=replace(case.record, runs=outcomes))
    journal = replace(
        bundle.journal,
        entries=tuple(
            replace(e, status=status) if e.case == CLOSED and e.event == "run_ended" else e
            for e in bundle.journal.entries
        ),
    )
    return replace(bundle, cases=bundle.cases | {CLOSED: changed}, journal=journal)


@manipulation("GK003", "M26", base="formats")
def slow_case_dropped(bundle):
    """A case with a poor figure is deleted, but the plan still names it."""
    kept = {name: case for name, case in bundle.cases.items() if "fp16" not in name}
    return replace(bundle, cases=kept)


@manipulation("GK414", "M26", base="formats")
def slow_case_dropped_and_planned_away(bundle):
    """A case with a poor figure is deleted from plan, folders, outcomes and journal."""
    gone = "square_4096-fp16-nn"
    kept = {name: case for name, case in bundle.cases.items() if name != gone}
    plan = replace(bundle.plan, cases=tuple(c for c in bundle.plan.cases if c.id != gone))
    found = tuple(e for e in bundle.journal.entries if e.case != gone)
    journal = replace(
        bundle.journal, entries=tuple(replace(e, sequence=i) for i, e in enumerate(found))
    )
    return replace(bundle, plan=plan, cases=kept, journal=journal)


@manipulation("GK614", "M26", base="cpu")
def slow_case_never_planned(bundle):
    """A case was known to be slow and never planned, though the overrides name its suite."""
    gone = "square_512-fp32-nn"
    found = {name: list(case.runs) for name, case in bundle.cases.items() if name != gone}
    plan = replace(bundle.plan, cases=tuple(c for c in bundle.plan.cases if c.id != gone))
    length = max(run.document.ended_ns for run in bundle.cases[gone].runs)
    length -= min(run.document.started_ns for run in bundle.cases[gone].runs)
    kept = {name: case for name, case in bundle.cases.items() if name != gone}
    after = max(run.document.ended_ns for run in bundle.cases[gone].runs)
    bundle = runs(
        replace(bundle, plan=plan, cases=kept),
        lambda run: (
            time_line(lambda ns: ns - length)(run) if run.document.started_ns >= after else run
        ),
    )
    return with_runs(bundle, {name: list(bundle.cases[name].runs) for name in found})


@manipulation("GK602", "M26", base="closed")
def one_replicate_planned(bundle):
    """The plan asks for one run of each case, and the first ones are handed over."""
    cases = {
        name: replace(
            case, runs=case.runs[:1], record=replace(case.record, runs=case.record.runs[:1])
        )
        for name, case in bundle.cases.items()
    }
    found = tuple(e for e in bundle.journal.entries if e.run in (None, 1))
    journal = replace(
        bundle.journal, entries=tuple(replace(e, sequence=i) for i, e in enumerate(found))
    )
    return replace(with_plan(bundle, replicates=1), cases=cases, journal=journal)


@manipulation("GK302", "M02", base="closed")
def closed_with_an_external_profiler(bundle):
    """The windows were laid open to a profiler in the closed division."""
    bundle = with_plan(bundle, timing__method="external_profiler")
    return runs(bundle, document(timing__method="external_profiler", loops__drains=1))
