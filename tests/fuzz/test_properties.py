"""No mutation of a bundle crashes the checker, and no byte of a sealed one changes unnoticed."""

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fuzz.mutations import bases
from fuzz.properties import judged_sealed, judged_unsealed
from kit.checker.judge import judge

CORPUS = sorted((Path(__file__).parent / "corpus").iterdir())
SETTINGS = settings(
    max_examples=150,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("sealed")


def test_the_bundles_that_are_mutated_are_compliant(folder):
    assert {judge(path).judgement for _, path, _ in bases(folder)} == {"compliant"}


@SETTINGS
@given(data=st.binary(max_size=48))
def test_no_sealed_mutation_crashes_a_rule(folder, data):
    judged_sealed(folder, data)


@SETTINGS
@given(data=st.binary(min_size=6, max_size=12))
def test_no_changed_byte_goes_unnoticed(folder, data):
    verdict, name, changed = judged_unsealed(folder, data)
    assert (verdict.judgement == "compliant") != changed, name


@pytest.mark.parametrize("file", CORPUS, ids=lambda file: file.name)
def test_what_the_fuzzer_found_stays_sound(folder, file):
    judged_sealed(folder, file.read_bytes())


def test_there_is_a_corpus():
    assert len(CORPUS) >= 20
