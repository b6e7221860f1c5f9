import pytest

from bundles import (
    GUIDELINE,
    changed,
    findings,
    honest_cpu,
    honest_gpu,
    outcome,
    with_environment,
    with_field,
    with_plan,
)

CODE = "GK106"


def with_limit(path, value, division="open"):
    return with_field(honest_gpu(division), GUIDELINE, 2, path, value)


def with_unread(path):
    """The value null, and its reason given."""
    when, name = path.split(".")
    return with_field(with_limit(path, None), GUIDELINE, 2, f"{when}.missing", {name: "no list"})


def test_honest():
    assert outcome(CODE, honest_gpu()) == "pass"
    assert outcome(CODE, honest_cpu()) == "not_applicable"


@pytest.mark.parametrize("when", ["limits_before", "limits_after"])
@pytest.mark.parametrize(("division", "verdict"), [("open", "warn"), ("closed", "fail")])
def test_another_process(when, division, verdict):
    broken = with_limit(f"{when}.other_processes", 1, division)
    assert changed(broken) == {CODE: verdict}
    (finding,) = findings(CODE, broken)
    assert finding.place.endswith(f"-02/run.json: {when}.other_processes")


def test_nobody_looked():
    assert changed(with_unread("limits_after.other_processes")) == {CODE: "unproven"}


def test_memory_errors_grew():
    broken = with_limit("limits_after.ecc_errors", 1)
    assert changed(broken) == {CODE: "fail"}
    assert "ecc_errors" in findings(CODE, broken)[0].place


def test_memory_errors_of_the_past_or_uncounted():
    past = with_field(with_limit("limits_before.ecc_errors", 3), GUIDELINE, 2,
                      "limits_after.ecc_errors", 3)  # fmt: skip
    assert changed(past) == {}
    assert changed(with_unread("limits_after.ecc_errors")) == {}


def test_partitioned():
    broken = with_environment(honest_gpu(), device__mig_enabled=True)
    assert changed(broken) == {CODE: "fail"}
    assert "devices[0].mig_enabled" in findings(CODE, broken)[0].place
    fixed_frequency = with_plan(broken, test_type__name="fixed_frequency")
    assert outcome(CODE, fixed_frequency) == "pass"
