from dataclasses import replace

import pytest

from bundles import changed, findings, honest_cpu, outcome
from kit.bundle.reader import IntegrityFault

CODE = "GK001"


def with_faults(*faults):
    bundle = honest_cpu()
    return replace(bundle, container=replace(bundle.container, faults=faults))


def test_honest():
    assert outcome(CODE, honest_cpu()) == "pass"


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        (("data/plan.json", "altered", "aa", "bb"), ("SHA-256 bb", "manifest-sha256.txt")),
        (("data/plan.json", "missing", "aa", "no such file"), ("no such file", "SHA-256 aa")),
        (("data/x.json", "unlisted", "not in the manifest", "bb"), ("unlisted", "only files")),
        (("bagit.txt", "altered", "aa", "bb"), ("SHA-256 bb", "tagmanifest-sha256.txt")),
        (("bag-info.txt", "payload_oxum", "10.2", "11.2"), ("11.2", "10.2")),
    ],
)
def test_names_file_and_both_digests(fault, words):
    broken = with_faults(IntegrityFault(*fault))
    assert changed(broken) == {CODE: "fail"}
    (finding,) = findings(CODE, broken)
    assert finding.place == fault[0]
    assert words[0] in finding.found
    assert words[1] in finding.required


def test_every_file_is_named():
    faults = [IntegrityFault(f"data/{name}", "altered", "aa", "bb") for name in "abc"]
    assert len(findings(CODE, with_faults(*faults))) == 3
