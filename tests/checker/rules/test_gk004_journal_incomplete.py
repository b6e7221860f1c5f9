from dataclasses import replace

import pytest

from bundles import (
    GUIDELINE,
    changed,
    findings,
    honest_cpu,
    honest_gpu,
    outcome,
    with_fields,
    with_plan,
    with_run,
)

CODE = "GK004"


def with_entries(change):
    """The honest journal as `change(list of entries)` leaves it, numbered anew."""
    bundle = honest_gpu()
    entries = change(list(bundle.journal.entries))
    numbered = tuple(replace(entry, sequence=i) for i, entry in enumerate(entries))
    return replace(bundle, journal=replace(bundle.journal, entries=numbered))


def at(place, **changes):
    def change(entries):
        entries[place] = replace(entries[place], **changes)
        return entries

    return change


def texts(bundle):
    return [f"{f.place} | {f.found} | {f.required}" for f in findings(CODE, bundle)]


@pytest.mark.parametrize("bundle", [honest_gpu(), honest_gpu("closed"), honest_cpu()])
def test_honest(bundle):
    assert outcome(CODE, bundle) == "pass"


def test_a_gap_in_the_sequence():
    bundle = honest_gpu()
    entries = bundle.journal.entries[:5] + bundle.journal.entries[6:]
    broken = replace(bundle, journal=replace(bundle.journal, entries=entries))
    assert changed(broken) == {CODE: "fail"}
    assert any("entries[5] | sequence 6 | 5" in text for text in texts(broken))


def test_time_goes_back():
    broken = with_entries(at(0, t_ns=10**12))
    assert any("time that does not go back" in text for text in texts(broken))
    equal = with_entries(lambda entries: at(1, t_ns=entries[0].t_ns)(entries))
    assert outcome(CODE, equal) == "pass"


@pytest.mark.parametrize(
    ("change", "required"),
    [
        (lambda entries: entries[1:], "bundle_started"),
        (lambda entries: entries[:-1], "bundle_ended"),
        (lambda entries: [entries[0], *entries], "an event of a run"),
        (lambda _entries: [], "bundle_started first, bundle_ended last"),
    ],
)
def test_first_and_last(change, required):
    broken = with_entries(change)
    assert changed(broken) == {CODE: "fail"}
    assert any(text.endswith(f"| {required}") for text in texts(broken))


def test_a_removed_attempt():
    broken = with_entries(lambda entries: entries[:3] + entries[5:])
    (text,) = texts(broken)
    assert f"{GUIDELINE}, gpu-3f0a51c2d9e8, run 2 | no entry | run_started, run_ended" in text


def test_a_hidden_attempt():
    def more(entries):
        started = replace(entries[1], case="secret", run=7)
        return [*entries[:1], started, *entries[1:]]

    broken = with_entries(more)
    assert any("secret" in text and "outcome in case.json" in text for text in texts(broken))


def test_another_status():
    broken = with_entries(at(2, status="crashed"))
    (text,) = texts(broken)
    assert "run_ended crashed" in text
    assert text.endswith("run_ended measured")


def test_started_twice():
    broken = with_entries(lambda entries: [*entries[:2], *entries[1:]])
    assert any("run_started, run_started, run_ended" in text for text in texts(broken))


@pytest.mark.parametrize(("started", "ended"), [(-6_000_000, 0), (0, 6_000_000)])
def test_run_outside_its_entries(started, ended):
    def change(run):
        document = run.document
        times = {"started_ns": document.started_ns + started, "ended_ns": document.ended_ns + ended}
        return replace(run, document=with_fields(document, **times))

    broken = with_run(honest_gpu(), GUIDELINE, 1, change)
    assert changed(broken)[CODE] == "fail"
    (text,) = texts(broken)
    assert "-01/run.json" in text


def test_run_just_inside_its_entries():
    def change(run):
        document = run.document
        times = {
            "started_ns": document.started_ns - 5_000_000,
            "ended_ns": document.ended_ns + 5_000_000,
        }
        return replace(run, document=with_fields(document, **times))

    assert outcome(CODE, with_run(honest_gpu(), GUIDELINE, 1, change)) == "pass"


def test_runs_overlap_on_one_device():
    def swap(entries):
        entries[2], entries[3] = (
            replace(entries[3], t_ns=entries[2].t_ns),
            replace(entries[2], t_ns=entries[3].t_ns),
        )
        return entries

    broken = with_entries(swap)
    assert any("one run on a device at a time" in text for text in texts(broken))


def test_a_number_is_missing_from_the_outcomes():
    assert texts(with_plan(honest_gpu(), replicates=4)) == [
        f"data/cases/{case}/case.json: gpu-3f0a51c2d9e8 | attempts 1, 2, 3 | 1 to 4"
        for case in (GUIDELINE, "decode-bf16-nn")
    ]


def test_two_outcomes_of_one_attempt():
    bundle = honest_gpu()
    case = bundle.cases[GUIDELINE]
    record = replace(case.record, runs=(*case.record.runs, case.record.runs[0]))
    cases = bundle.cases | {GUIDELINE: replace(case, record=record)}
    found = texts(replace(bundle, cases=cases))
    assert any("two outcomes" in text for text in found)
    assert any("attempts 1, 1, 2, 3" in text for text in found)
