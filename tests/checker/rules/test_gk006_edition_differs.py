from dataclasses import replace

from bundles import changed, findings, honest_cpu, outcome

CODE = "GK006"


def test_honest():
    assert outcome(CODE, honest_cpu()) == "pass"


def test_other_edition():
    bundle = honest_cpu()
    broken = replace(bundle, claims=replace(bundle.claims, edition="2025.2"))
    assert changed(broken) == {CODE: "fail"}
    (finding,) = findings(CODE, broken)
    assert (finding.place, finding.found) == ("data/derived/results.json: edition", "2025.2")
    assert "2026.1" in finding.required
