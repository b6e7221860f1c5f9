"""Two documents of the bundle tell different stories.

## What it checks
The plan, the case folders, `case.json` and the claims name the same cases. A run's outcome is
`measured` exactly where its folder lies, and the claims list exactly those runs. Each `run.json`
belongs to its folder, ran on a device that `environment.json` describes, with the plan's telemetry
source, and names a compiled program and autotune results that are there; the file of either is
called by its own digest. Hardware counters belong to their folder and to a device that ran the
case. The system description repeats the plan's submitter, division and availability.

## Why it matters
What a rule finds in one document must hold for the others, or nothing is proven.

## How to fix
Measure again; a bundle that the kit wrote agrees with itself.

## Clause
M26: a result is traceable from the claim to the run that gave it.

## Example
Passes: outcome `measured` for run 2, and a folder `runs/gpu-3f0a51c2d9e8-02`.
Fails: that folder without an outcome, or the outcome `timed_out` beside it.
"""

from collections import Counter
from collections.abc import Iterable, Iterator

from kit.bundle import layout
from kit.bundle.reader import Bundle, CaseEvidence, RunEvidence
from kit.checker.rule import Finding, rule
from kit.ruleset import Ruleset


@rule("GK003", "documents-disagree", clauses=("M26",), since="2026.1")
def check(bundle: Bundle, _rules: Ruleset) -> Iterator[Finding]:
    """Compare each document with the others."""
    planned = [case.id for case in bundle.plan.cases]
    yield from _same_names(
        layout.CASES, list(bundle.cases), planned, "case folder", "planned cases"
    )
    yield from _system(bundle)
    devices = [device.id for device in bundle.environment.devices]
    yield from _same_names(layout.ENVIRONMENT, devices, set(devices), "device", "devices once each")
    for folder, case in bundle.cases.items():
        if case.record.id != folder:
            place = f"{layout.case_file(folder)}: id"
            yield Finding(place, case.record.id, f"{folder}, as its folder")
        yield from _outcomes(folder, case)
        yield from _programs(folder, case)
        yield from _counters(folder, case)
        for run in case.runs:
            yield from _run(folder, case, run, bundle)
    yield from _claims(bundle)


def _same_names(
    place: str, found: Iterable[str], required: Iterable[str], what: str, source: str
) -> Iterator[Finding]:
    """Every required name once, and no other."""
    counts, wanted = Counter(found), set(required)
    for name in sorted(counts.keys() | wanted):
        if counts[name] != (name in wanted):
            times = {0: "no", 1: "a"}.get(counts[name], f"{counts[name]} times the")
            yield Finding(place, f"{times} {what} {name}", f"exactly the {source}")


def _system(bundle: Bundle) -> Iterator[Finding]:
    system, submission = bundle.system, bundle.plan.submission
    pairs = (
        ("submitter", system.submitter, submission.submitter),
        ("division", system.division, submission.division),
        ("status", system.status, submission.availability),
    )
    for name, found, required in pairs:
        if found != required:
            yield Finding(f"{layout.SYSTEM}: {name}", found, f"{required}, as {layout.PLAN}")


def _outcomes(folder: str, case: CaseEvidence) -> Iterator[Finding]:
    named = [
        layout.run_folder(folder, outcome.device, outcome.number)
        for outcome in case.record.runs
        if outcome.status == "measured"
    ]
    there = {run.path for run in case.runs}
    place = layout.case_file(folder)
    yield from _same_names(place, named, there, "measured outcome for", "run folders")


def _programs(folder: str, case: CaseEvidence) -> Iterator[Finding]:
    for name, text in case.hlo.items():
        required = layout.hlo_name(text)
        if name != required:
            yield Finding(
                layout.hlo_file(folder, name), name, f"the name {required}, by its content"
            )
    for name, text in case.autotune.items():
        required = layout.autotune_name(text)
        if name != required:
            place = layout.autotune_file(folder, name)
            yield Finding(place, name, f"the name {required}, by its content")


def _counters(folder: str, case: CaseEvidence) -> Iterator[Finding]:
    ran = {run.document.device for run in case.runs}
    for device, document in case.counters.items():
        place = layout.counters_file(folder, device)
        if (document.case, document.device) != (folder, device):
            found = f"case {document.case}, device {document.device}"
            yield Finding(place, found, "those of its path")
        if device not in ran:
            yield Finding(place, f"counters of {device}", "a device that ran the case")


def _run(folder: str, case: CaseEvidence, run: RunEvidence, bundle: Bundle) -> Iterator[Finding]:
    document, place = run.document, f"{run.path}/{layout.RUN}"
    named = layout.run_folder(document.case, document.device, document.number)
    if document.case != folder or named != run.path:
        found = f"case {document.case}, device {document.device}, number {document.number}"
        yield Finding(place, found, "those of its folder")
    if document.device not in {device.id for device in bundle.environment.devices}:
        required = f"a device of {layout.ENVIRONMENT}"
        yield Finding(f"{place}: device", document.device, required)
    if document.executable.hlo not in case.hlo:
        required = f"a file in {layout.case_folder(folder)}"
        yield Finding(f"{place}: executable.hlo", document.executable.hlo, required)
    autotune = document.executable.autotune
    if autotune is not None and autotune not in case.autotune:
        required = f"null, or a file in {layout.case_folder(folder)}"
        yield Finding(f"{place}: executable.autotune", autotune, required)
    source, planned = document.telemetry.source, bundle.plan.telemetry.source
    if source != planned:
        yield Finding(f"{place}: telemetry.source", source, f"{planned}, as {layout.PLAN}")


def _claims(bundle: Bundle) -> Iterator[Finding]:
    place = layout.RESULTS
    claimed = [case.id for case in bundle.claims.cases]
    planned = [case.id for case in bundle.plan.cases]
    yield from _same_names(place, claimed, planned, "case", "planned cases")
    for claim in bundle.claims.cases:
        if claim.id in bundle.cases:
            found = [layout.run_folder(claim.id, run.device, run.number) for run in claim.runs]
            there = {run.path for run in bundle.cases[claim.id].runs}
            yield from _same_names(place, found, there, "claim for", "measured runs")
