import pytest

from kit.cli.run import compose
from kit.resources import CONFIGS
from kit.suites import left_out, suite_of, suites

SHIPPED = sorted(path.stem for path in (CONFIGS / "suite").glob("*.yaml"))


@pytest.mark.parametrize("suite", SHIPPED)
@pytest.mark.parametrize("number_format", ["bf16", "fp32"])
def test_the_table_is_the_composed_configuration(suite, number_format):
    fixed = [found for _, found in suites().get(suite, ()) if found]
    chosen = () if fixed else (f"number_format={number_format}",)
    cases = compose((f"suite={suite}", *chosen)).plan.cases
    found = [(case.workload.name, case.number_format) for case in cases]
    if suite not in suites():
        assert len(found) == 1
        return
    assert [(name, own or number_format) for name, own in suites()[suite]] == found


def test_no_other_suite_stands_in_the_table():
    assert suites().keys() <= set(SHIPPED)


@pytest.mark.parametrize(
    ("overrides", "suite"),
    [
        ((), None),
        (("backend=cuda", "suite=square"), "square"),
        (("suite=square", "suite=quick"), "quick"),
        (("suite=square", "suite.cases=[]"), None),
        (("suite=square", "~suite.cases"), None),
        (("suite=quick", "workload@suite.catalogue.square_512=square_1024"), None),
    ],
)
def test_the_suite_that_overrides_name(overrides, suite):
    assert suite_of(overrides) == suite


def test_a_suite_that_nobody_knows_lacks_nothing():
    assert left_out(compose(("suite=quick",)).plan, "theirs") == ()
