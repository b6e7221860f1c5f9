import json
import os
import shutil
import sqlite3
from dataclasses import replace

import pytest

from bundles import honest_cpu, with_plan, write
from kit.checker import index as module
from kit.checker.index import opened, recall
from kit.checker.judge import judge
from kit.checker.pool import judge_all
from kit.checker.tree import Candidate
from kit.checker.verdict import Waiver
from kit.checker.worker import Request
from kit.errors import UsageError

PLAIN = Request("", "", None, False, (), None)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return write(honest_cpu(), tmp_path_factory.mktemp("index") / "honest")


@pytest.fixture
def path(tmp_path):
    return tmp_path / "round.sqlite"


def remember(path, verdict):
    """How many verdicts were known before."""
    with opened(path, PLAIN) as index:
        index.add(verdict)
        return index.known


def found(path, verdict, /, **options):
    request = replace(PLAIN, **options)
    with opened(path, request) as index:
        return recall(index.key, request.waivers, verdict.digest, verdict.content)


def test_a_verdict_comes_back_as_it_was(folder, path):
    verdict = judge(folder)
    assert verdict.judgement == "compliant"
    assert found(path, verdict) is None
    assert remember(path, verdict) == 0
    assert found(path, verdict) == verdict
    assert remember(path, verdict) == 1


def test_one_file_stays(folder, path):
    remember(path, judge(folder))
    assert [entry.name for entry in path.parent.iterdir()] == [path.name]


def test_whatever_differs_is_judged_anew(folder, path, monkeypatch):
    verdict = judge(folder)
    remember(path, verdict)
    mine = Waiver("GK602", verdict.digest, "why")
    others = Waiver("GK602", "cd" * 32, "why")
    assert found(path, verdict, waivers=(others,)) == verdict
    assert found(path, verdict, waivers=(mine,)) is None
    assert found(path, verdict, path="elsewhere", name="another name") == verdict
    assert found(path, verdict, deep=True) is None
    assert found(path, verdict, challenge="ab" * 8) is None
    assert found(path, replace(verdict, content="ab" * 32)) is None
    monkeypatch.setattr(module, "version", lambda name: "0" if name == "numpy" else "1")
    assert found(path, verdict) is None


def test_another_kit_judges_anew(folder, path, monkeypatch, tmp_path):
    verdict = judge(folder)
    remember(path, verdict)
    (tmp_path / "schemas").mkdir()
    (tmp_path / "schemas" / "x.json").write_text("{}")
    monkeypatch.setattr(module, "SCHEMAS", tmp_path / "schemas")
    assert found(path, verdict) is None


def test_only_what_was_sealed_is_remembered(folder, path, tmp_path):
    altered = shutil.copytree(folder, tmp_path / "altered")
    plan = altered / "data" / "plan.json"
    plan.write_bytes(plan.read_bytes() + b"\n")
    verdict = judge(altered)
    assert (verdict.judgement, verdict.content) == ("not_compliant", None)
    failed = replace(judge(folder), judgement="internal_error")
    for each in (verdict, failed):
        remember(path, each)
    with sqlite3.connect(path) as database:
        assert database.execute("SELECT count(*) FROM verdicts").fetchone() == (0,)
    database.close()


def test_a_signature_is_part_of_what_was_judged(folder, tmp_path):
    signed = shutil.copytree(folder, tmp_path / "signed")
    (signed / "signatures").mkdir()
    (signed / "signatures" / "vendor.sshsig").write_text("x")
    one = judge(signed)
    (signed / "signatures" / "vendor.sshsig").write_text("y")
    contents = {judge(folder).content, one.content, judge(signed).content}
    assert len(contents) == 3
    assert one.digest == judge(folder).digest


def test_files_are_read_anew(folder, path, tmp_path):
    """A bundle that was changed after it was judged is not what the index knows."""
    copy = shutil.copytree(folder, tmp_path / "copy")
    with opened(path, PLAIN) as index:
        (first,) = judge_all([Candidate(copy, "x")], index=index.key)
        index.add(first)
        windows = next(copy.rglob("windows.csv"))
        before = windows.stat()
        data = bytearray(windows.read_bytes())
        data[-2] ^= 1
        windows.write_bytes(bytes(data))
        os.utime(windows, ns=(before.st_atime_ns, before.st_mtime_ns))
        (second,) = judge_all([Candidate(copy, "x")], index=index.key)
    assert (first.judgement, second.judgement) == ("compliant", "not_compliant")


def test_the_worker_takes_the_verdict_from_the_index(folder, path):
    """Shown by a verdict that judging could not give; its name is that of the candidate."""
    verdict = replace(judge(folder), problem="from the index")
    with opened(path, PLAIN) as index:
        index.add(verdict)
        (known,) = judge_all([Candidate(folder, "new name")], index=index.key)
        assert known == replace(verdict, name="new name")
        (anew,) = judge_all([Candidate(folder, "x")])
    assert anew.problem is None


def stored(path, change):
    """Put what `change` makes of the row's verdict, an object of JSON, in its place."""
    with sqlite3.connect(path) as database:
        (text,) = database.execute("SELECT verdict FROM verdicts").fetchone()
        put(database, json.dumps(change(json.loads(text))))
    database.close()


def put(database, text):
    database.execute("UPDATE verdicts SET verdict = ?", (text,))


@pytest.mark.parametrize(
    "text",
    ["", "{}", '{"name": 1}', "not JSON", "[" * 100_000, 5, b"\xff\xfe"],
    ids=lambda text: repr(text)[:12],
)
def test_what_cannot_be_read_back_is_judged_anew_and_replaced(folder, path, text):
    verdict = judge(folder)
    remember(path, verdict)
    with sqlite3.connect(path) as database:
        put(database, text)
    database.close()
    assert found(path, verdict) is None
    assert remember(path, verdict) == 0
    assert found(path, verdict) == verdict


def without_its_fault(row):
    """The rule that failed is not there any more, and the rest is compliant."""
    row["rules"] = [result for result in row["rules"] if result["outcome"] != "fail"]
    return row | {"judgement": "compliant"}


def passed(row):
    """The rule that failed is called passed; its finding stays."""
    for result in row["rules"]:
        result["outcome"] = "pass" if result["outcome"] == "fail" else result["outcome"]
    return row | {"judgement": "compliant"}


def waived(row):
    """It is waived, by a waiver that the auditor did not give."""
    waivers = [
        {"code": result["code"], "bundle": row["digest"], "reason": "why"}
        for result in row["rules"]
        if result["outcome"] == "fail"
    ]
    return row | {"judgement": "compliant", "waivers": waivers}


@pytest.mark.parametrize(
    "forge",
    [
        lambda row: row | {"judgement": "compliant"},
        lambda row: row | {"judgement": "compliant", "rules": []},
        without_its_fault,
        passed,
        waived,
    ],
    ids=["judgement", "no rules", "rule left out", "outcome", "waiver"],
)
def test_a_row_whose_judgement_does_not_follow_from_its_rules_is_judged_anew(tmp_path, path, forge):
    faulty = with_plan(honest_cpu(), seed=1)
    verdict = judge(write(faulty, tmp_path / "faulty"))
    assert verdict.judgement == "not_compliant"
    remember(path, verdict)
    stored(path, forge)
    assert found(path, verdict) is None
    assert remember(path, verdict) == 0
    assert found(path, verdict) == verdict


def test_a_view_in_the_tables_place_is_refused(path):
    with sqlite3.connect(path) as database:
        database.execute(f"PRAGMA application_id = {module._APPLICATION_ID}")
        database.execute(f"PRAGMA user_version = {module._LAYOUT}")
        database.execute("CREATE VIEW verdicts AS SELECT 1 AS content")
    database.close()
    with pytest.raises(UsageError, match="not an index of this kit"), opened(path, PLAIN):
        pass


def test_a_verdict_on_something_else_is_not_believed(folder, path):
    verdict = judge(folder)
    remember(path, verdict)
    with sqlite3.connect(path) as database:
        text = database.execute("SELECT verdict FROM verdicts").fetchone()[0]
        other = text.replace(verdict.digest, "ab" * 32)
        database.execute("UPDATE verdicts SET verdict = ?", (other,))
    database.close()
    assert found(path, verdict) is None


@pytest.mark.parametrize("kind", ["text", "another database", "folder"])
def test_another_file_is_not_touched(path, kind):
    if kind == "text":
        path.write_text("notes of the auditor, long enough to be taken for something " * 9)
    elif kind == "folder":
        path.mkdir()
    else:
        with sqlite3.connect(path) as database:
            database.execute("CREATE TABLE mine (x)")
        database.close()
    before = path.read_bytes() if path.is_file() else None
    with pytest.raises(UsageError, match="--index"), opened(path, PLAIN):
        pass
    assert before is None or path.read_bytes() == before


def test_a_disk_that_fills_up_costs_no_verdict_and_is_said(folder, path):
    verdict = judge(folder)
    with opened(path, PLAIN) as index:
        index._database.execute("PRAGMA max_page_count = 1")  # what SQLite answers is the same
        index.add(verdict)
        index.add(verdict)
        assert (index.known, index.fault) == (0, "database or disk is full")
    assert found(path, verdict) is None
