"""Numbers forged and sealed again: whatever they do to a rule, none may crash or end the judge."""

import re
import shutil

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bundles import honest_cpu, honest_gpu, reseal, write
from kit.checker.judge import judge

NUMBER = re.compile(rb'(?<![0-9a-zA-Z."-])[0-9]+(?![0-9a-zA-Z"-])')
FORGED = st.sampled_from([b"0", b"1", b"2", b"1000", b"2147483647", b"999999999999999"])


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    """The two honest bundles on disk, and a folder to forge in."""
    root = tmp_path_factory.mktemp("forgeries")
    honest = {
        name: write(b, root / name) for name, b in (("cpu", honest_cpu()), ("gpu", honest_gpu()))
    }
    return honest, root / "forged"


@settings(
    max_examples=60,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(data=st.data())
def test_no_forgery_crashes_a_rule(folders, data):
    honest, forged = folders
    shutil.rmtree(forged, ignore_errors=True)
    shutil.copytree(honest[data.draw(st.sampled_from(sorted(honest)), "bundle")], forged)
    files = sorted(file for file in (forged / "data").rglob("*") if file.is_file())
    for _ in range(data.draw(st.integers(1, 3), "forgeries")):
        file = data.draw(st.sampled_from(files), "file")
        content = file.read_bytes()
        numbers = list(NUMBER.finditer(content))
        if numbers:
            place = data.draw(st.sampled_from(numbers), "place")
            number = data.draw(FORGED, "number")
            file.write_bytes(content[: place.start()] + number + content[place.end() :])
    reseal(forged)
    verdict = judge(forged)
    assert verdict.judgement != "internal_error"
    assert [entry for entry in verdict.rules if entry.outcome == "error"] == []
    assert verdict.judgement == "refused" or verdict.headline is not None
