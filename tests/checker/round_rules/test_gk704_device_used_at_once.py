import pytest

from rounds import GPU, START, found, member


def used(name, *times, digest=None, device=GPU):
    busy = {device: tuple(START + second for second in times)}
    return member(name, busy=busy, digest=digest)


@pytest.mark.parametrize(
    ("start", "overlaps"), [(300, False), (240, False), (239, True), (0, True)]
)
def test_more_than_a_minute_of_overlap(start, overlaps):
    findings = found("GK704", used("a", 0, 300), used("b", start, start + 300))
    assert [number for number, _ in findings] == ([1, 0] if overlaps else [])


def test_what_is_said():
    (_, finding), _ = found("GK704", used("a", 0, 300), used("b", 120, 400))
    assert finding.place == f"data/journal.json: {GPU}"
    assert finding.found == "used from 2026-09-21 14:15:20 to 2026-09-21 14:20:00 UTC"
    assert finding.required == (
        "a time of its own; a used it from 2026-09-21 14:13:20 to 2026-09-21 14:18:20 UTC"
    )
    assert finding.severity == "fail"


def test_another_device_or_the_same_bundle_is_no_overlap():
    assert found("GK704", used("a", 0, 300), used("b", 0, 300, device="gpu-2")) == []
    same = "ab" * 32
    assert found("GK704", used("a", 0, 300, digest=same), used("b", 0, 300, digest=same)) == []
    assert found("GK704", used("a", 0, 300, 100, 400), used("b", 500, 600)) == []


def test_a_run_within_a_long_one_between_runs_of_its_own():
    findings = found("GK704", used("a", 0, 10_000), used("b", 20, 30, 5000, 5200))
    assert {number for number, _ in findings} == {0, 1}


def test_each_pair_is_told_once():
    findings = found("GK704", *(used(name, 0, 300, 300, 600, 600, 900) for name in "ab"))
    assert [number for number, _ in findings] == [1, 0]
