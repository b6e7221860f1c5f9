"""One edited digit in any file of a sealed bundle: never compliant, and the file is named."""

import json
import re
import shutil

import pytest

from bundles import honest_cpu, honest_gpu, write
from kit.bundle import layout
from kit.bundle.schema import validate
from kit.cli import main

HONEST = {"cpu": honest_cpu(), "gpu": honest_gpu()}


def files_of(bundle):
    """Every file of the bundle on disk."""
    documents = [layout.PLAN, layout.SYSTEM, layout.ENVIRONMENT, layout.JOURNAL, layout.RESULTS]
    for name, case in bundle.cases.items():
        documents.append(layout.case_file(name))
        documents.extend(layout.hlo_file(name, file) for file in case.hlo)
        for run in case.runs:
            documents.extend(
                f"{run.path}/{file}" for file in ("run.json", "trace.json", *run.tables)
            )
    return [*layout.BAG_FILES, *documents]


EVERY_FILE = [(name, file) for name, bundle in HONEST.items() for file in files_of(bundle)]


def edit_digit(path, share):
    """Change the digit that stands at this share of all digits of a file."""
    data = bytearray(path.read_bytes())
    digits = [match.start() for match in re.finditer(rb"[0-9]", data)]
    at = digits[int(share * (len(digits) - 1))]
    data[at] = ord("1") if data[at] == ord("0") else data[at] - 1
    path.write_bytes(bytes(data))


@pytest.fixture(scope="module")
def edited(tmp_path_factory):
    """Verdicts on copies of the honest bundles, each with one digit of one file edited."""
    whole = tmp_path_factory.mktemp("sealed")
    sealed = {name: write(bundle, whole / name) for name, bundle in HONEST.items()}
    tree = tmp_path_factory.mktemp("edited")
    for number, (name, file) in enumerate(EVERY_FILE):
        copy = shutil.copytree(sealed[name], tree / f"{number:03d}")
        edit_digit(copy / file, number / (len(EVERY_FILE) - 1))
    output = tree / "verdict.json"
    with output.open("w") as file, pytest.MonkeyPatch.context() as patch:
        patch.setattr("sys.stdout", file)
        code = main(["check", str(tree), "--format", "json"])
    return code, json.loads(output.read_text())


def test_edited_bundles_are_all_judged(edited):
    code, document = edited
    validate("verdict", document, "verdict")
    assert len(document["bundles"]) == len(EVERY_FILE)
    assert document["counts"]["compliant"] == 0
    assert document["counts"]["internal_error"] == 0
    assert code == max(bundle["exit_code"] for bundle in document["bundles"])


@pytest.mark.parametrize("number", range(len(EVERY_FILE)), ids=["-".join(e) for e in EVERY_FILE])
def test_an_edited_digit_names_its_file(edited, number):
    _, document = edited
    bundle = document["bundles"][number]
    _, file = EVERY_FILE[number]
    assert bundle["exit_code"] in (1, 3)
    found = [bundle["problem"] or ""]
    for rule in bundle["rules"]:
        if rule["code"] == "GK001":
            assert rule["outcome"] == "fail"
            found += [finding["place"] + finding["required"] for finding in rule["findings"]]
    assert any(file in text for text in found)
