from dataclasses import replace

from bundles import changed, findings, honest_cpu, outcome

CODE = "GK002"


def test_honest():
    assert outcome(CODE, honest_cpu()) == "pass"


def test_unknown_file_is_named():
    broken = replace(honest_cpu(), unknown_files=("data/cases/x/notes.txt",))
    assert changed(broken) == {CODE: "fail"}
    (finding,) = findings(CODE, broken)
    assert finding.place == "data/cases/x/notes.txt"
