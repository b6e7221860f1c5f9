"""`gemm-kit check` on a whole round: bundles against each other, the table, the index, formats."""

import csv
import json
import os
import re
import shutil
from xml.etree import ElementTree as ET

import pytest

from bundles import honest_cpu, honest_gpu, with_environment, with_plan, with_system, write
from kit.cli import main

LOOKS_OK = "SUMMARY: submission looks OK"
HAS_ERRORS = "SUMMARY: submission has errors"


@pytest.fixture(scope="module")
def honest(tmp_path_factory):
    """A round of two bundles that have nothing in common."""
    tree = tmp_path_factory.mktemp("round") / "submissions"
    write(honest_gpu(), tree / "open" / "acme" / "gpu")
    write(honest_cpu(), tree / "open" / "acme" / "cpu")
    return tree


@pytest.fixture(scope="module")
def copied(tmp_path_factory, honest):
    """The same round, in which another submitter hands in the GPU's bundle as its own."""
    tree = shutil.copytree(honest, tmp_path_factory.mktemp("copied") / "submissions")
    theirs = with_plan(honest_gpu(), submission__submitter="apex")
    write(with_system(theirs, submitter="apex"), tree / "open" / "apex" / "gpu")
    return tree


def check(capsys, *arguments):
    code = main(["check", *map(str, arguments)])
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def verdicts(capsys, *arguments):
    code, out, _ = check(capsys, *arguments, "--format", "json")
    return code, {bundle["name"]: bundle for bundle in json.loads(out)["bundles"]}


def failed(bundle):
    return {rule["code"] for rule in bundle["rules"] if rule["outcome"] == "fail"}


def test_an_honest_round_passes(capsys, honest):
    code, found = verdicts(capsys, honest)
    assert code == 0
    for bundle in found.values():
        outcomes = {rule["code"]: rule["outcome"] for rule in bundle["rules"]}
        assert {outcomes[code] for code in ("GK701", "GK702", "GK703", "GK704")} == {"pass"}


def test_the_same_measurement_of_two_submitters(capsys, copied):
    code, found = verdicts(capsys, copied)
    assert code == 1
    assert found["open/acme/cpu"]["verdict"] == "compliant"
    for name in ("open/acme/gpu", "open/apex/gpu"):
        assert {"GK702", "GK704"} <= failed(found[name]) <= {"GK702", "GK704"}


def test_each_of_them_alone_is_compliant(capsys, copied):
    for name in ("acme", "apex"):
        code, out, _ = check(capsys, copied / "open" / name / "gpu")
        assert (code, out.splitlines()[-1]) == (0, LOOKS_OK)


def test_a_waiver_clears_the_original(capsys, copied, tmp_path):
    _, found = verdicts(capsys, copied)
    digest = found["open/acme/gpu"]["digest"]
    entries = [
        {"code": code, "bundle": digest, "reason": "measured before our eyes"}
        for code in ("GK702", "GK704")
    ]
    file = tmp_path / "waivers.json"
    file.write_text(json.dumps({"waivers": entries}))
    code, found = verdicts(capsys, copied, "--waivers", file)
    assert code == 1
    assert found["open/acme/gpu"]["verdict"] == "compliant"
    assert found["open/apex/gpu"]["verdict"] == "not_compliant"


def test_the_same_bundle_in_two_folders(capsys, honest, tmp_path):
    tree = shutil.copytree(honest, tmp_path / "tree")
    shutil.copytree(tree / "open" / "acme" / "cpu", tree / "open" / "apex" / "cpu")
    code, found = verdicts(capsys, tree)
    assert code == 1
    assert {name for name, bundle in found.items() if failed(bundle) == {"GK701"}} == {
        "open/acme/cpu", "open/apex/cpu"
    }  # fmt: skip


def test_the_same_device_with_other_facts(capsys, honest, tmp_path):
    """A bundle that is not compliant itself says that half of the GPU's cache is there."""
    (device,) = honest_gpu().environment.devices
    other = with_environment(honest_gpu(), device__cache_bytes=device.cache_bytes // 2)
    write(other, tmp_path / "other")
    code, found = verdicts(capsys, honest, tmp_path / "other")
    assert code == 1
    assert "GK703" in failed(found[str(tmp_path / "other")])
    victim = found["open/acme/gpu"]
    assert (victim["verdict"], failed(victim)) == ("compliant", set())
    (told,) = [rule for rule in victim["rules"] if rule["code"] == "GK703"]
    assert told["outcome"] == "warn"
    assert str(tmp_path / "other") in told["findings"][0]["required"]


def test_order_and_content_do_not_depend_on_jobs(capsys, copied):
    one, two, five = (
        check(capsys, copied, "--format", "json", "--jobs", jobs) for jobs in (1, 2, 5)
    )
    assert one == two == five


def test_counts_in_are_counts_out(capsys, copied, tmp_path):
    (tmp_path / "empty").mkdir()
    (tmp_path / "file").write_text("text")
    broken = shutil.copytree(copied / "open" / "acme" / "cpu", tmp_path / "broken")
    (broken / "bagit.txt").unlink()
    code, out, _ = check(capsys, copied, tmp_path / "empty", tmp_path / "file", broken)
    assert code == 3
    assert len(re.findall(r"^bundle ", out, re.MULTILINE)) == 6
    assert out.splitlines()[-2:] == [
        "6 bundles: 1 compliant, 2 not compliant, 3 refused", HAS_ERRORS
    ]  # fmt: skip


def test_table(capsys, copied, tmp_path):
    table = tmp_path / "summary.csv"
    (tmp_path / "nothing").mkdir()
    code, _, err = check(capsys, copied, tmp_path / "nothing", "--csv", table)
    assert (code, err) == (3, "")
    rows = list(csv.DictReader(table.read_text(encoding="utf-8").splitlines()))
    assert [row["Organization"] for row in rows].count("apex") == 2
    assert {row["Location"] for row in rows} == {
        "open/acme/cpu", "open/acme/gpu", "open/apex/gpu", str(tmp_path / "nothing")
    }  # fmt: skip
    (guideline,) = [
        row for row in rows if row["Location"] == "open/acme/gpu" and "guideline" in row["Model"]
    ]
    assert (guideline["Units"], guideline["accelerator_model_name"]) == ("TFLOP/s", "NVIDIA H200")
    assert float(guideline["Result"]) == pytest.approx(689.2, abs=0.1)
    assert (guideline["total_accelerators"], guideline["compliance"]) == ("1", "not_compliant")
    assert {entry.name for entry in tmp_path.iterdir()} == {"summary.csv", "nothing"}


def test_index(capsys, copied, tmp_path):
    index = tmp_path / "round.sqlite"
    plain = check(capsys, copied)
    first = check(capsys, copied, "--index", index)
    again = check(capsys, copied, "--index", index, "--jobs", 2)
    assert first[:2] == again[:2] == plain[:2]
    assert (first[2], again[2]) == (
        f"0 of 3 verdicts from {index}\n", f"3 of 3 verdicts from {index}\n"
    )  # fmt: skip
    other = check(capsys, copied, "--index", index, "--challenge", "ab" * 16)
    assert other[0] == 1
    assert other[2] == f"0 of 3 verdicts from {index}\n"


def test_an_index_does_not_hide_a_change(capsys, honest, tmp_path):
    tree, index = shutil.copytree(honest, tmp_path / "tree"), tmp_path / "round.sqlite"
    assert check(capsys, tree, "--index", index)[0] == 0
    file = next(tree.rglob("outputs.csv"))
    before = file.stat()
    file.write_bytes(file.read_bytes()[:-2] + b"7\n")
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))
    code, out, err = check(capsys, tree, "--index", index)
    assert code == 1
    assert "GK001 file-differs-from-manifest" in out
    assert err == f"1 of 2 verdicts from {index}\n"


@pytest.mark.parametrize("option", ["--csv", "--index"])
def test_nothing_is_written_into_a_bundle_or_where_it_cannot_be(capsys, honest, tmp_path, option):
    inside = honest / "open" / "acme" / "cpu" / "data" / "x"
    for file, why in (
        (inside, "would lie in a bundle"),
        (tmp_path / "missing" / "x", "cannot be written"),
        (tmp_path, "cannot be written"),
    ):
        code, out, err = check(capsys, honest, option, file)
        assert (code, out, err.count("\n")) == (2, "", 1)
        assert f"{option} {file} {why}" in err
    assert not inside.exists()


def test_junit_and_github_of_a_round(capsys, copied):
    code, out, _ = check(capsys, copied, "--format", "junit")
    suites = ET.fromstring(out)
    assert (code, [suite.get("name") for suite in suites]) == (
        1, ["open/acme/cpu", "open/acme/gpu", "open/apex/gpu"]
    )  # fmt: skip
    code, out, _ = check(capsys, copied, "--format", "github")
    lines = out.splitlines()
    assert (code, lines[-1]) == (1, HAS_ERRORS)
    assert sum(line.startswith("::error ") for line in lines) == 4


def test_files_in_annotations_are_below_the_working_directory(capsys, copied, monkeypatch):
    monkeypatch.chdir(copied.parent)
    for given in (copied, "submissions", "./submissions/open"):
        _, out, _ = check(capsys, given, "--format", "github")
        (line, *_) = [each for each in out.splitlines() if "GK702" in each]
        assert "::error file=submissions/open/acme/gpu/data/cases/" in line


def test_an_unknown_waiver_is_refused_with_the_nearest_code(capsys, honest, tmp_path):
    file = tmp_path / "waivers.json"
    entry = {"code": "GK720", "bundle": "ab" * 32, "reason": "x"}
    file.write_text(json.dumps({"waivers": [entry]}))
    code, out, err = check(capsys, honest, "--waivers", file)
    assert (code, out) == (2, "")
    assert "waivers[0].code: there is no rule 'GK720' (did you mean GK70" in err


def test_a_bundle_that_cannot_be_read_gives_one_line_for_all_rules(capsys, honest, tmp_path):
    copy = shutil.copytree(honest / "open" / "acme" / "cpu", tmp_path / "copy")
    (copy / "data" / "plan.json").write_bytes(b"{}")
    code, out, _ = check(capsys, copy)
    assert code == 1
    assert len([line for line in out.splitlines() if line.startswith("  unproven")]) == 1
    assert re.search(r"unproven  \d\d rules: the bundle was changed and cannot be read", out)


@pytest.mark.parametrize("bundle", ["cpu", "gpu"])
def test_figures_fit_80_columns(capsys, honest, bundle):
    _, out, _ = check(capsys, honest / "open" / "acme" / bundle)
    figures = out.split("\n\n")[1].splitlines()
    assert len(figures) >= 3
    assert max(map(len, figures)) <= 80


def test_a_terminal_is_told_how_far_a_round_has_come(capsys, honest, monkeypatch):
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    _, out, err = check(capsys, honest)
    assert err == "\r1 of 2 bundles\r2 of 2 bundles\r\x1b[K"
    assert "of 2" not in out
    assert check(capsys, honest / "open" / "acme" / "cpu")[2] == ""
