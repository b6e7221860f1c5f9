"""What reaches terminals, CI systems, viewers and spreadsheets, whatever a bundle says."""

import csv
import io
import json
import re
import unicodedata
from dataclasses import replace
from pathlib import Path
from urllib.parse import unquote, urlsplit
from xml.etree import ElementTree as ET

import pytest
import xmlschema
from hypothesis import given, settings
from jsonschema import Draft4Validator

from hostile import ORDERS, TEXTS, entries, refused, verdict_of
from kit.bundle.schema import validate
from kit.checker.output.annotations import github_report
from kit.checker.output.formats import FORMATS
from kit.checker.output.judged import file_of, judged
from kit.checker.output.junit import junit_report
from kit.checker.output.report import json_report, text_report
from kit.checker.output.sarif import sarif_report
from kit.checker.output.summary_csv import COLUMNS, summary_csv
from kit.checker.rule import Finding
from kit.checker.verdict import EXIT_CODES, Waiver

DATA = Path(__file__).parents[2] / "data"
SARIF = Draft4Validator(json.loads((DATA / "sarif" / "sarif-2.1.0-rtm.5.json").read_bytes()))
JUNIT = xmlschema.XMLSchema(DATA / "junit" / "junit-10.xsd")
FORMULA = tuple("=+-@\t\r\uff1d\uff0b\uff0d\uff20")


def test_the_schemas_can_fail():
    assert not SARIF.is_valid({"version": "2.1.0", "runs": [{}]})
    assert not JUNIT.is_valid("<testsuites><testsuite/></testsuites>")


def acts(text):
    """Whether something in a line drives a terminal, reorders it, or cannot be written."""
    return any(unicodedata.category(c) in {"Cc", "Cf", "Cn", "Co", "Cs", "Zl", "Zp"} for c in text)


@settings(deadline=None)
@given(TEXTS)
def test_text_does_not_act(text):
    for entry in entries(text):
        for line in text_report(entry.verdict, verbose=True):
            assert not acts(line)
            assert not line.lstrip().startswith(("::", "SUMMARY"))
            assert "##" not in line


@settings(deadline=None)
@given(TEXTS)
def test_json_is_ascii_and_gives_the_text_back(text):
    document = json_report([entry.verdict for entry in entries(text)])
    assert document.isascii()
    assert not acts(document.replace("\n", ""))
    parsed = json.loads(document)
    # To JSON, two surrogates that fit are the one character that they stand for.
    same = text.encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass")
    assert [bundle["problem"] for bundle in parsed["bundles"]] == [same, same]


def test_json_of_an_ordinary_round_follows_its_schema():
    document = json.loads(json_report([verdict_of("plain"), refused("plain")]))
    validate("verdict", document, "verdict")


@settings(deadline=None)
@given(TEXTS)
def test_sarif_follows_the_official_schema(text):
    document = sarif_report(entries(text))
    assert document.isascii()
    log = json.loads(document)
    SARIF.validate(log)
    (run,) = log["runs"]
    rules = run["tool"]["driver"]["rules"]
    for result in run["results"]:
        assert rules[result["ruleIndex"]]["id"] == result["ruleId"]
        shown = result["message"]["text"]
        assert not acts(shown)
        assert "](" not in shown  # no embedded link
        assert not re.search(r"\{\d", shown.replace("{{", "").replace("}}", ""))  # no placeholder
        (location,) = result["locations"]
        uri = location["physicalLocation"]["artifactLocation"]["uri"]
        assert re.fullmatch(r"[A-Za-z0-9._~/%-]+", uri)
        assert not urlsplit(uri).scheme
        assert not urlsplit(uri).netloc


def test_sarif_says_what_the_verdict_says():
    log = json.loads(sarif_report([judged(verdict_of("x"), Path("round/x"))]))
    (run,) = log["runs"]
    found = [(each["ruleId"], each["kind"], each["level"]) for each in run["results"]]
    assert found == [
        ("GK404", "fail", "error"), ("GK404", "fail", "warning"), ("GK404", "fail", "error"),
        ("GK405", "fail", "error"), ("GK105", "fail", "warning"), ("GK312", "open", "none"),
        ("GK407", "fail", "error"),
    ]  # fmt: skip
    assert [each["ruleId"] for each in run["results"] if "suppressions" in each] == ["GK405"]
    uris = [
        each["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]
        for each in run["results"]
    ]
    assert uris[0] == "round/x"
    assert uris[1] == "round/x/data/plan.json"
    assert run["invocations"] == [{"executionSuccessful": True, "exitCode": 1}]
    prints = [each["partialFingerprints"]["finding/v1"] for each in run["results"]]
    assert len(set(prints)) == len(prints)


@pytest.mark.parametrize("judgement", sorted(EXIT_CODES))
def test_sarif_of_a_bundle_that_was_not_judged(judgement):
    log = json.loads(sarif_report([judged(verdict_of("x", judgement), Path("x"))]))
    SARIF.validate(log)
    (run,) = log["runs"]
    codes = {each["ruleId"] for each in run["results"]}
    assert (judgement in codes) == (judgement in {"refused", "undecided", "internal_error"})
    assert run["invocations"][0]["exitCode"] == EXIT_CODES[judgement]


def test_an_absolute_folder_is_a_file_uri(tmp_path):
    log = json.loads(sarif_report([judged(refused("x"), tmp_path / "a b")]))
    (result,) = log["runs"][0]["results"]
    uri = result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]
    assert urlsplit(uri).scheme == "file"
    assert unquote(urlsplit(uri).path) == str(tmp_path / "a b")


@settings(deadline=None)
@given(TEXTS)
def test_junit_follows_the_schema_that_jenkins_uses(text):
    document = junit_report(entries(text))
    assert document.isascii()
    JUNIT.validate(document)
    root = ET.fromstring(document)
    for element in root.iter():
        for value in (element.text or "", *element.attrib.values()):
            assert not acts(value.replace("\n", ""))
    assert len(root) == 2


def test_junit_counts_and_is_red_where_the_verdict_is():
    root = ET.fromstring(junit_report(entries("x")))
    judged_suite, refused_suite = root
    assert judged_suite.attrib == {
        "name": "x", "tests": "8", "failures": "2", "errors": "1", "skipped": "3"
    }  # fmt: skip
    cases = {case.get("name"): [child.tag for child in case] for case in judged_suite[1:]}
    assert cases == {
        "GK101 environment-incomplete": [],
        "GK404 power-limit-changed": ["failure"],
        "GK405 slowdown-in-window": ["skipped"],
        "GK105 kit-modified": ["system-out"],
        "GK312 cache-warm": ["skipped"],
        "GK502 faster-than-light": ["skipped"],
        "GK407 not-idle-after": ["error"],
        "verdict": ["failure"],
    }
    assert refused_suite.get("errors") == "1"
    assert (root.get("tests"), root.get("failures"), root.get("errors")) == ("9", "2", "2")


@pytest.mark.parametrize("judgement", sorted(EXIT_CODES))
def test_junit_is_green_only_where_the_exit_code_is_0(judgement):
    verdict = verdict_of("x", judgement)
    root = ET.fromstring(junit_report([judged(verdict, Path("x"))]))
    last = root[0][-1]
    assert last.get("name") == "verdict"
    assert (len(last) == 0) == (EXIT_CODES[judgement] == 0)


def command(line):
    """A workflow command as the runner reads it, or None: name, properties, data.

    By `ActionCommand.TryParseV2` of the runner and the escapes in GitHub's documentation
    (*Workflow commands*): the first `::` after the opening one ends the properties.
    """
    line = line.lstrip()
    if not line.startswith("::") or "::" not in line[2:]:
        return None
    head, data = line[2:].split("::", 1)
    name, _, properties = head.partition(" ")
    pairs = dict(pair.split("=", 1) for pair in properties.split(",") if "=" in pair)
    return name, {key: plain(value) for key, value in pairs.items()}, plain(data)


def plain(text):
    for token, character in (
        ("%0D", "\r"),
        ("%0A", "\n"),
        ("%3A", ":"),
        ("%2C", ","),
        ("%25", "%"),
    ):
        text = text.replace(token, character)
    return text


@settings(deadline=None)
@given(TEXTS)
def test_every_annotation_is_one_command_and_nothing_else_is(text):
    for line in github_report(entries(text)):
        assert not acts(line)
        assert "##[" not in line
        if line.startswith("bundle "):
            assert command(line) is None
            continue
        name, properties, data = command(line)
        assert name in {"error", "warning", "notice"}
        assert set(properties) == {"file", "title"}
        assert properties["file"].startswith("round/")
        assert not acts(data + properties["title"] + properties["file"])


def test_the_gravest_annotations_come_first_and_each_rule_has_one():
    found = [line for line in github_report(entries("x")) if line.startswith("::")]
    names = [command(line)[0] for line in found]
    assert names == sorted(names, key=["error", "warning", "notice"].index)
    titles = [command(line)[1]["title"] for line in found]
    assert titles == [
        "GK404 power-limit-changed", "GK407 not-idle-after", "refused", "GK105 kit-modified",
        "GK405 slowdown-in-window, waived", "GK312 cache-warm",
    ]  # fmt: skip
    assert command(found[0])[2] == "x: found x; required x (and 6 more)"


def test_documented_escapes():
    verdict = verdict_of("50 %, a:b")
    (line,) = [each for each in github_report([judged(verdict, Path("a,b:c"))]) if "GK404" in each]
    assert line.startswith("::error file=a%2Cb%3Ac,title=GK404 power-limit-changed::50 %25, a:b: ")


def cells(text):
    """Every cell that a spreadsheet could make of the table, whatever it takes for a separator."""
    for separator in ",;|\t":
        for row in csv.reader(io.StringIO(text), delimiter=separator):
            yield from row


@settings(deadline=None)
@given(TEXTS)
def test_no_cell_is_a_formula(text):
    table = summary_csv([verdict_of(text), refused(text)])
    for cell in cells(table):
        shown = cell.lstrip(" \"'")
        assert cell.lstrip().startswith("'") or not shown.startswith(FORMULA)
    assert not acts(table.replace("\n", ""))


def test_the_table_has_a_line_a_case_and_one_for_a_refused_bundle():
    verdict = verdict_of("plain")
    rows = list(csv.DictReader(io.StringIO(summary_csv([verdict, refused("why")]))))
    assert list(rows[0]) == list(COLUMNS)
    assert [row["Model"] for row in rows] == ["case-bf16-nn", "plain", "plain", ""]
    first, _, unmeasured, last = rows
    assert (first["Result"], first["Units"], first["runs"]) == ("689.0", "TFLOP/s", "3")
    assert (first["compliance"], first["errors"], first["version"]) == (
        "not_compliant", "2", "2026.1"
    )  # fmt: skip
    assert unmeasured["notes"] == "not measured: plain"
    assert (last["Location"], last["compliance"], last["notes"]) == ("why", "refused", "why")


def test_a_waived_verdict_does_not_read_as_a_clean_one_in_the_table():
    found = replace(verdict_of("x"), judgement="compliant", waivers=())
    waivers = (Waiver("GK404", "0" * 64, "why"), Waiver("GK405", "0" * 64, "why"))
    table = summary_csv(
        [found, replace(found, waivers=waivers[:1]), replace(found, waivers=waivers)]
    )
    said = [row["compliance"] for row in csv.DictReader(io.StringIO(table))]
    assert list(dict.fromkeys(said)) == [
        "compliant", "compliant, 1 rule waived", "compliant, 2 rules waived",
    ]  # fmt: skip


def test_numbers_stay_numbers():
    table = summary_csv([verdict_of("x")])
    first = next(csv.reader(io.StringIO(table.split("\n", 1)[1]), quoting=csv.QUOTE_NONNUMERIC))
    assert first[COLUMNS.index("Result")] == pytest.approx(689.0)
    assert first[COLUMNS.index("Organization")] == "x"


@pytest.mark.parametrize("form", sorted(FORMATS))
def test_the_same_verdicts_give_the_same_text(form):
    one, other = ("\n".join(FORMATS[form](entries("x"), verbose=False)) for _ in range(2))
    assert one == other


@pytest.mark.parametrize("place", [*ORDERS, "data/../../x: y", "/etc/passwd: y", "data//x"])
def test_a_finding_names_a_file_within_the_bundle_or_the_bundle(place):
    entry = judged(refused("x"), Path("round/x"))
    file = file_of(entry, Finding(place, "f", "r"))
    assert file == "round/x" or (file.startswith("round/x/") and ".." not in file)
