import pytest

from bundles import (
    GUIDELINE,
    changed,
    findings,
    honest_cpu,
    honest_gpu,
    in_every_run,
    outcome,
    result,
    with_field,
    with_system,
)

CODE = "GK404"
LIMITS = ("power_enforced_mw", "power_default_mw", "power_minimum_mw", "power_maximum_mw")


def enforced(bundle, limit_mw):
    for side in ("before", "after"):
        bundle = in_every_run(bundle, with_field, f"limits_{side}.power_enforced_mw", limit_mw)
    return bundle


@pytest.mark.parametrize("name", LIMITS)
@pytest.mark.parametrize("difference", [-1, 1])
def test_a_limit_that_moved_by_a_milliwatt_fails_alone(name, difference):
    bundle = with_field(
        honest_gpu(), GUIDELINE, 2, f"limits_after.{name}", lambda limit: limit + difference
    )
    assert changed(bundle) == {CODE: "fail"}
    (finding,) = findings(CODE, bundle)
    assert finding.place.endswith(f"-02/run.json: limits_after.{name}")


@pytest.mark.parametrize(("division", "severity"), [("open", "warn"), ("closed", "fail")])
def test_a_limit_other_than_the_default_must_be_declared(division, severity):
    bundle = enforced(honest_gpu(division), 690_000)
    assert changed(bundle) == {CODE: severity}
    assert len(findings(CODE, bundle)) == 6
    assert findings(CODE, bundle)[0].found == "690000 mW, undeclared"


@pytest.mark.parametrize(
    ("notes", "wanted"),
    [
        ("power limit 690 W", "pass"),
        ("690W by the site", "pass"),
        ("power limit 1690 W", "fail"),
        ("power limit 690 Watts-ish", "fail"),
        ("2.690 W", "fail"),
        ("", "fail"),
    ],
)
def test_the_declaration_names_the_limit_in_watts(notes, wanted):
    bundle = with_system(enforced(honest_gpu("closed"), 690_000), hw_notes=notes)
    assert outcome(CODE, bundle) == wanted


def test_a_fraction_of_a_watt_is_declared_as_such():
    bundle = enforced(honest_gpu("closed"), 690_500)
    assert outcome(CODE, with_system(bundle, hw_notes="690.5 W")) == "pass"
    assert outcome(CODE, with_system(bundle, hw_notes="690 W")) == "fail"


@pytest.mark.parametrize(
    ("limit_mw", "wanted"),
    [(200_000, "pass"), (199_999, "fail"), (700_000, "pass"), (700_001, "fail")],
)
def test_the_enforced_limit_lies_between_the_bounds(limit_mw, wanted):
    bundle = with_system(enforced(honest_gpu(), limit_mw), hw_notes=f"{limit_mw / 1000:g} W")
    assert outcome(CODE, bundle) == wanted


@pytest.mark.parametrize("name", LIMITS)
def test_an_unknown_limit_proves_nothing(name):
    found = result(CODE, with_field(honest_gpu(), GUIDELINE, 1, f"limits_after.{name}", None))
    assert found.outcome == "unproven"
    assert f"{name} is missing" in found.reason


def test_a_cpu_is_not_judged():
    assert outcome(CODE, honest_cpu()) == "not_applicable"


@pytest.mark.parametrize(
    ("default_mw", "wanted"), [(700_000, "pass"), (707_000, "pass"), (707_001, "warn")]
)
def test_a_default_other_than_the_products_is_remarked_on(default_mw, wanted):
    bundle = honest_gpu("closed")
    for side in ("before", "after"):
        for name in ("power_default_mw", "power_enforced_mw", "power_maximum_mw"):
            bundle = in_every_run(bundle, with_field, f"limits_{side}.{name}", default_mw)
    assert outcome(CODE, bundle) == wanted


def test_a_limit_that_was_raised_on_paper_leaves_the_cap_unreached():
    bundle = honest_gpu()
    for side in ("before", "after"):
        for name in ("power_default_mw", "power_enforced_mw", "power_maximum_mw"):
            bundle = in_every_run(bundle, with_field, f"limits_{side}.{name}", 750_000)
    assert changed(bundle) == {CODE: "warn", "GK411": "fail"}
