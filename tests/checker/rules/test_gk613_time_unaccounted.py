from dataclasses import replace

import pytest

from bundles import changed, findings, honest_cpu, honest_gpu, outcome, uncounted_gpu, with_plan

CODE = "GK613"


def later(bundle, place, seconds):
    """The journal's entries from this one on, so much later; runs keep their times."""
    entries = tuple(
        replace(entry, t_ns=entry.t_ns + round(seconds * 1e9)) if number >= place else entry
        for number, entry in enumerate(bundle.journal.entries)
    )
    return replace(bundle, journal=replace(bundle.journal, entries=entries))


@pytest.mark.parametrize(
    "bundle", [honest_gpu(), honest_gpu("closed"), uncounted_gpu(), honest_cpu()]
)
def test_honest(bundle):
    assert outcome(CODE, bundle) == "pass"


@pytest.mark.parametrize(("seconds", "wanted"), [(9.9, "pass"), (9.99, "fail")])
def test_ten_seconds_are_the_edge(seconds, wanted):
    """The last attempt ends 0.05 s before the bundle does; counters are read after first ones."""
    bundle = honest_gpu()
    bundle = later(bundle, len(bundle.journal.entries) - 1, seconds)
    assert changed(bundle) == ({CODE: "fail"} if wanted == "fail" else {})


@pytest.mark.parametrize(
    ("bundle", "seconds", "wanted"),
    [
        (honest_gpu(), 900, "pass"),
        (honest_gpu(), 910, "fail"),
        (uncounted_gpu(), 7.9, "pass"),
        (uncounted_gpu(), 8.1, "fail"),
    ],
)
def test_counting_may_take_the_plans_timeout(bundle, seconds, wanted):
    """1.99 s lie between the first run and the second; `timeout_s` is 900."""
    texts = [f.place for f in findings(CODE, later(bundle, 3, seconds))]
    assert any("entries[3]" in text for text in texts) == (wanted == "fail")


def test_a_long_silence_at_the_end_of_a_cpus_bundle():
    bundle = honest_cpu()
    bundle = later(bundle, len(bundle.journal.entries) - 1, 7200)
    (finding,) = findings(CODE, bundle)
    assert finding.required == "at most 10 s in which no attempt runs"


def earlier(bundle, place, seconds):
    entry = bundle.journal.entries[place]
    assert entry.event == "run_started"
    return later(later(bundle, place, -seconds), place + 1, seconds)


@pytest.mark.parametrize(("seconds", "wanted"), [(29.9, "pass"), (30.1, "fail")])
def test_an_attempt_begins_soon_unless_it_tunes(seconds, wanted):
    """The second attempt's process begins 5 ms after the attempt."""
    assert outcome(CODE, earlier(honest_gpu(), 3, seconds)) == wanted


def test_the_first_attempt_may_tune():
    assert outcome(CODE, earlier(honest_gpu(), 1, 120)) == "pass"
    without = with_plan(honest_gpu(), backend__tuning_attempts=0)
    assert outcome(CODE, earlier(without, 1, 120)) == "fail"
